import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import type { Bitmap } from '../../arrow/bitmap.ts'
import type { FragmentLayout } from '../format/manifest.ts'
import type { TableSchema } from '../format/table-schema.ts'
import { type FragmentRows, readColumns } from '../read/fragment-read.ts'
import type { Storage } from '../storage/objects.ts'
import { type EncodedFile, encodeFile } from '../write/fragment-write.ts'
import { compactRows, expandRows } from './live-rows.ts'

/** New columns to compute for a fragment. Sent to worker threads in this form. */
export interface ColumnTask {
  /** The texts of the expressions, and the times that they are compiled for. */
  readonly expressions: readonly { readonly text: string; readonly now: number | undefined }[]
  /** The schema of their file, in the form of manifests. */
  readonly file: string
  /** The number of the fragment's first live row, for errors. */
  readonly firstRow: number
}

/** Where new columns come from. */
export interface ColumnSource {
  /** The columns that are read, by their index. */
  readonly reads: readonly number[]
  /** The new columns for the live rows of a fragment. `firstRow` is the number of the first one. */
  readonly compute: (
    rows: FragmentRows,
    firstRow: number,
    timeSlice: TimeSlice,
  ) => Promise<readonly AnyBatch[]>
}

/** A fragment that gets new columns. */
export interface PendingFragment<Entry = FragmentLayout> {
  readonly entry: Entry
  readonly live: Bitmap | undefined
  /** The number of its first live row, counted over all fragments. */
  readonly firstRow: number
}

/** The file of new columns, and the rows that they were computed from, with which it may share memory. */
export interface MadeColumns {
  readonly file: EncodedFile
  readonly from: FragmentRows
}

/** Makes the file of a fragment's new columns; undefined if the rows were only checked. Deleted rows get any values. */
export async function makeColumns(
  storage: Storage,
  prefix: string,
  schema: TableSchema,
  { reads, compute }: ColumnSource,
  file: TableSchema,
  { entry, live, firstRow }: PendingFragment,
  timeSlice: TimeSlice,
): Promise<MadeColumns | undefined> {
  const from = await readColumns(storage, prefix, schema, entry, reads)
  const computed = await compute(compactRows(from, live), firstRow, timeSlice)
  if (file.fields.length === 0) return undefined
  const batches = computed.map((batch, i) => expandRows(batch, file.fields[i]!.type, live, entry.rows))
  return { file: await encodeFile(file, batches, timeSlice), from }
}
