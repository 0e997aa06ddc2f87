import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import type { Bitmap } from '../../arrow/bitmap.ts'
import type { FragmentLayout } from '../format/manifest.ts'
import type { TableSchema } from '../format/table-schema.ts'
import type { FragmentRows } from '../read/fragment-read.ts'
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

/**
 * Makes the file of a fragment's new columns from the columns `from` that the source reads; undefined if the rows were
 * only checked. The file may share memory with these columns. Deleted rows get any values.
 */
export async function makeColumns(
  from: FragmentRows,
  source: ColumnSource,
  file: TableSchema,
  { entry, live, firstRow }: PendingFragment,
  timeSlice: TimeSlice,
): Promise<EncodedFile | undefined> {
  const computed = await source.compute(compactRows(from, live), firstRow, timeSlice)
  if (file.fields.length === 0) return undefined
  const batches = computed.map((batch, i) => expandRows(batch, file.fields[i]!.type, live, entry.rows))
  return encodeFile(file, batches, timeSlice)
}
