import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import { allRows, type Bitmap, isEmpty, noRows, wordsFor } from '../../arrow/bitmap.ts'
import type { Predicate, ValueExpression, ValueOptions, WorkBudget } from '../../predicate/index.ts'
import { readLive } from '../format/deletions.ts'
import type { FragmentEntry, FragmentLayout } from '../format/manifest.ts'
import { statisticsIn } from '../format/statistics.ts'
import type { TableFiles, TableSchema } from '../format/table-schema.ts'
import { type FragmentRows, readColumns } from '../read/fragment-read.ts'
import type { ReadStorage } from '../storage/objects.ts'
import type { ScanResultKind } from './message.ts'
import { type FragmentPosition, rowStatistics } from './row-columns.ts'

/** Which rows of a fragment may match, by statistics alone. */
export function prune(
  predicate: Predicate,
  schema: TableSchema,
  entry: FragmentEntry & FragmentPosition,
): 'none' | 'some' | 'all' {
  const { length } = schema.fields
  return predicate.prune(
    (path) =>
      path[0]! < length ? statisticsIn(entry, schema, path) : rowStatistics(entry, path[0]! - length),
    entry.rows,
  )
}

/** Rows whose matches are returned together. */
export const sliceRows = 65_536

/** The columns that a predicate reads of a fragment, and its live rows; undefined for all rows. */
export interface LoadedFragment {
  readonly rows: FragmentRows
  readonly live: Bitmap | undefined
}

export async function readFragment(
  storage: ReadStorage,
  table: TableFiles,
  predicate: Predicate,
  entry: FragmentLayout,
): Promise<LoadedFragment> {
  const [rows, live] = await Promise.all([
    readColumns(storage, table, entry, predicate.columns),
    readLive(storage, table.prefix, entry),
  ])
  return { rows, live }
}

/** Counts or selects the live rows that match. */
export function evaluateFragment(
  predicate: Predicate,
  fragment: LoadedFragment,
  wanted: ScanResultKind,
  timeSlice: TimeSlice,
  budget: WorkBudget,
): Promise<number | Bitmap> {
  if (wanted === 'rows') return selectMatches(predicate, fragment, timeSlice, budget)
  const { rows, live } = fragment
  return walk(predicate.countSteps(rows, 0, rows.length, live, budget), timeSlice)
}

/**
 * Selects the live rows that match, slice by slice, until `enough` returns true. A bitmap of no rows has no words: a
 * change of one row keeps one for each fragment, and worker threads send them.
 */
export async function selectMatches(
  predicate: Predicate,
  { rows, live }: LoadedFragment,
  timeSlice: TimeSlice,
  budget: WorkBudget,
  enough: (found: Bitmap) => boolean = () => false,
): Promise<Bitmap> {
  let all = noRows(0)
  for (let start = 0; start < rows.length; start += sliceRows) {
    const end = Math.min(start + sliceRows, rows.length)
    const liveSlice = live?.subarray(start >>> 5, wordsFor(end))
    const found = await walk(predicate.steps(rows, start, end, liveSlice, budget), timeSlice)
    if (!isEmpty(found)) {
      if (all.length === 0) all = noRows(rows.length)
      all.set(found, start >>> 5)
    }
    if (enough(found)) break
  }
  return all
}

/** Runs the steps of planning or evaluation, and yields when it is due. */
export async function walk<T>(steps: Generator<void, T>, timeSlice: TimeSlice): Promise<T> {
  for (;;) {
    // Before a step, as other work may have run in this turn of the event loop.
    if (timeSlice.due) await timeSlice.rest()
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Bytes of texts and lists that are computed at a time. */
const partBytes = 16 << 20

/** The values of an expression for all rows, some megabytes at a time; at least one batch, which may be empty. */
export async function* valueParts(
  expression: ValueExpression,
  rows: FragmentRows,
  timeSlice: TimeSlice,
  options: ValueOptions,
): AsyncGenerator<AnyBatch> {
  for (let start = 0, isFirst = true; start < rows.length || isFirst; isFirst = false) {
    const bounded = { ...options, mostBytes: partBytes }
    // Evaluation begins at a multiple of 32.
    const first = start & ~31
    const live = start === 0 ? undefined : allRows(rows.length - first)
    if (live) live[0]! &= -1 << (start & 31)
    const steps = expression.steps(rows, first, rows.length, { ...bounded, ...(live && { live }) })
    const part = await walk(steps, timeSlice)
    start += part.length
    yield part
    if (timeSlice.due) await timeSlice.rest()
  }
}
