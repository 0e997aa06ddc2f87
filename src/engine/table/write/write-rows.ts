import type { Schema } from '@uwdata/flechette'
import { prefetch } from '../../../base/scheduling/prefetch.ts'
import type { AnyBatch, AnyColumn } from '../../arrow/batch.ts'
import { assembleColumns } from '../../arrow/take/assemble-columns.ts'
import type { Piece } from '../../arrow/take/take.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import type { TableFiles } from '../format/table-schema.ts'
import type { Job } from '../job.ts'
import { bytesPerRow, writeFragment } from './fragment-write.ts'

/** Most bytes of a fragment, as estimated before it is written. */
export const fragmentBytes = 128 * 1024 * 1024

/**
 * Fragments that are written while the next one is made. Most of the time is waiting for the disk, and several syncs at
 * once take about as long as one.
 */
const concurrentWrites = 3

/** Writes rows as fragments of one record batch each, in order. Their size does not depend on the given batches. */
export async function writeRows(
  job: Job,
  table: TableFiles,
  columns: readonly AnyColumn[],
): Promise<FragmentEntry[]> {
  const rowsTotal = columns[0]!.length
  const batches = columns.map(({ data }) => data as readonly AnyBatch[])
  const perRow = bytesPerRow(batches, rowsTotal)
  const most = rowsOfFragment(perRow, job.storage.fragmentRows)
  const entries: FragmentEntry[] = []
  const write = (one: readonly AnyBatch[]) => writeFragment(job, table, one)
  for await (const entry of prefetch(splitIntoFragments(table.schema, batches, rowsTotal, most), write, {
    depth: concurrentWrites,
  })) {
    entries.push(entry)
    job.report(entry.rows, rowsTotal)
    await job.rest()
  }
  return entries
}

/** Most rows of a fragment: a multiple of 64, unless fewer rows already have the most bytes of a fragment. */
export function rowsOfFragment(bytesOfRow: number, mostRows: number, mostBytes = fragmentBytes): number {
  const most = Math.min(mostRows, Math.floor(mostBytes / Math.max(bytesOfRow, 1)))
  return most >= 64 ? most & ~63 : Math.max(1, most)
}

/** The rows of each fragment, in order. */
function* splitIntoFragments(
  { fields }: Schema,
  batches: readonly (readonly AnyBatch[])[],
  rows: number,
  most: number,
): Generator<readonly AnyBatch[]> {
  for (let start = 0; start < rows; start += most) {
    const end = Math.min(start + most, rows)
    yield* assembleColumns(
      fields,
      batches.map((column) => piecesOf(column, start, end)),
    )
  }
}

function piecesOf(batches: readonly AnyBatch[], start: number, end: number): Piece[] {
  const pieces: Piece[] = []
  let at = 0
  for (const batch of batches) {
    const from = Math.max(0, start - at)
    const to = Math.min(batch.length, end - at)
    if (from < to) pieces.push({ batch, runs: [from, to] })
    at += batch.length
    if (at >= end) break
  }
  return pieces
}
