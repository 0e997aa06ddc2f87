import type { Field, Schema } from '@uwdata/flechette'
import { prefetch } from '../../../base/scheduling/prefetch.ts'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch, AnyColumn } from '../../arrow/batch.ts'
import { bytesInUse } from '../../arrow/cast/cast-size.ts'
import { BodyReader } from '../../arrow/ipc/body.ts'
import { encodeArrow } from '../../arrow/ipc/encode.ts'
import { readFooter, readMessage } from '../../arrow/ipc/message.ts'
import { dictionaryTypesOf, prepareBatches } from '../../arrow/ipc/prepare.ts'
import { assembleColumns } from '../../arrow/take/assemble-columns.ts'
import type { Piece } from '../../arrow/take/take.ts'
import type { ColumnStatistics } from '../../predicate/prune/statistics.ts'
import { FileParts, withBlockSums } from '../format/file-parts.ts'
import type { EncodedFile } from '../format/manifest.ts'
import { type ColumnFile, type FragmentEntry, rangesOf } from '../format/manifest.ts'
import { addStatistics, storeStatistics } from '../format/statistics.ts'
import type { TableFiles, TableSchema } from '../format/table-schema.ts'
import type { Job } from '../job.ts'
import { endOfPath, type Range } from '../storage/objects.ts'
import type { Storage } from '../storage/storage.ts'

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
    if (job.due) await job.rest()
  }
  return entries
}

/** Most rows of a fragment: a multiple of 64, unless fewer rows already have the most bytes of a fragment. */
export function rowsOfFragment(bytesOfRow: number, maxRows: number, maxBytes = fragmentBytes): number {
  const most = Math.min(maxRows, Math.floor(maxBytes / Math.max(bytesOfRow, 1)))
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

/** Writes one batch for each column as a fragment. */
export async function writeFragment(
  job: Job,
  { prefix, schema }: TableFiles,
  batches: readonly AnyBatch[],
): Promise<ColumnFile> {
  const file = await encodeFile(schema, batches, job)
  if (job.due) await job.rest()
  return putFile(job.storage, prefix, file)
}

/** Makes the file of one batch for each column, with its checksums and statistics. */
export async function encodeFile(
  schema: TableSchema,
  batches: readonly AnyBatch[],
  timeSlice: TimeSlice,
): Promise<EncodedFile> {
  const statistics = new Map<string, ColumnStatistics>()
  const columns: (readonly AnyBatch[])[] = []
  for (const [i, batch] of batches.entries()) {
    // The file has each dictionary as a whole, so the statistics must use it in that form.
    const prepared = prepareBatches(schema.fields[i]!.type, [batch]).batches
    addStatistics(prepared[0]!, [i], statistics)
    columns.push(prepared)
    if (timeSlice.due) await timeSlice.rest()
  }
  const { file, ...blocks } = await withBlockSums(new FileParts(encodeArrow(schema, columns)), timeSlice)
  const layout = await layoutOfFile(file, schema.fields, timeSlice)
  const key = schema.columns?.stored.layout ?? ''
  return {
    parts: file.parts,
    size: file.size,
    rows: batches[0]!.length,
    ...layout,
    ...blocks,
    statistics: storeStatistics(statistics),
    ...(key !== '' && { layout: key }),
  }
}

/** Writes a file under a new name. */
export async function putFile(
  storage: Storage,
  prefix: string,
  { parts, ...file }: EncodedFile,
): Promise<ColumnFile> {
  const path = `data/${endOfPath(storage, 'arrow', file.size)}`
  await storage.writer.put(prefix + path, parts)
  return { path, ...file }
}

/** About how many bytes a row of these batches takes. */
function bytesPerRow(columns: readonly (readonly AnyBatch[])[], rows: number): number {
  let sum = 0
  for (const batches of columns) for (const batch of batches) sum += bytesInUse(batch)
  return rows === 0 ? 0 : sum / rows
}

/** The layout of the file, read from its own footer and messages as readers do: manifest and file cannot differ. */
async function layoutOfFile(
  file: FileParts,
  fields: readonly Field[],
  timeSlice: TimeSlice,
): Promise<Pick<ColumnFile, 'batch' | 'columns' | 'dictionaries' | 'rest'>> {
  const footer = readFooter(file.tail())
  const [records] = footer.records
  // The metadata of a message is without its continuation marker and length.
  const batch = file.range(records!.offset + 8, records!.metadataLength - 8)
  const columns = await columnRanges(file, batch, fields, timeSlice)
  const byId = new Map<number, readonly [Range, Range]>()
  for (const block of footer.dictionaries) {
    const metadata = file.range(block.offset + 8, block.metadataLength - 8)
    const message = readMessage(file.bytes(metadata[0], metadata[1]))
    if (message.kind !== 'dictionary') throw new TypeError('a dictionary block holds no dictionary')
    byId.set(message.id, [metadata, file.range(metadata[0] + metadata[1], block.bodyLength)])
  }
  // The encoder numbers dictionaries in this order, as readers of a fragment do.
  const dictionaries = dictionaryTypesOf(fields).map((_, id) => {
    const ranges = byId.get(id)
    if (ranges === undefined) throw new TypeError(`the file holds no dictionary ${id}`)
    return ranges
  })
  const layout = { batch, columns, ...(dictionaries.length > 0 ? { dictionaries } : {}) }
  return { ...layout, rest: file.restOf(rangesOf(layout)) }
}

async function columnRanges(
  file: FileParts,
  batch: Range,
  fields: readonly Field[],
  timeSlice: TimeSlice,
): Promise<Range[]> {
  const message = readMessage(file.bytes(batch[0], batch[1]))
  if (message.kind !== 'records') throw new TypeError('a record block holds no records')
  const body = batch[0] + batch[1]
  const reader = new BodyReader(message.header, new Uint8Array(0), { dictionary: () => undefined })
  const ranges: Range[] = []
  for (const { type } of fields) {
    const { start, end } = reader.skip(type)
    ranges.push(await file.longRange(body + start, end - start, timeSlice))
  }
  return ranges
}
