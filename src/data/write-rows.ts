import type { Schema } from '@uwdata/flechette'
import type { AnyBatch, AnyColumn } from './arrow/batch.ts'
import type { Piece } from './arrow/take.ts'
import { assembleColumns } from './assemble-columns.ts'
import { bytesPerRow, writeFragment } from './fragment-write.ts'
import type { FragmentEntry } from './manifest.ts'
import type { Storage } from './objects.ts'
import { Pace } from './pace.ts'
import type { WorkOptions } from './table-engine.ts'

/** Bytes a fragment is meant to have at most. */
const fragmentBytes = 128 * 1024 * 1024

/**
 * Writes rows as fragments, in their order. However the rows were cut into batches, fragments are neither
 * tiny nor unbounded, and each is one record batch.
 */
export async function writeRows(
  storage: Storage,
  prefix: string,
  schema: Schema,
  columns: readonly AnyColumn[],
  mostRows: number,
  { signal, onProgress }: WorkOptions,
): Promise<FragmentEntry[]> {
  const pace = new Pace(signal)
  const rowsTotal = columns[0]!.length
  const batches = columns.map(({ data }) => data as readonly AnyBatch[])
  const perRow = bytesPerRow(batches, rowsTotal)
  const most = Math.max(64, Math.min(mostRows, Math.floor(fragmentBytes / Math.max(perRow, 1))) & ~63)
  const entries: FragmentEntry[] = []
  let rowsDone = 0
  for (let start = 0; start < rowsTotal; start += most) {
    const end = Math.min(start + most, rowsTotal)
    const pieces = batches.map((column) => piecesOf(column, start, end))
    for (const one of assembleColumns(schema.fields, pieces)) {
      entries.push(await writeFragment(storage, prefix, schema, one, pace))
      rowsDone += one[0]!.length
      onProgress?.({ rowsDone, rowsTotal })
      await pace.rest()
    }
  }
  return entries
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
