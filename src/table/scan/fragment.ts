import type { Schema } from '@uwdata/flechette'
import { type Bitmap, noRows, wordsFor } from '../../arrow/bitmap.ts'
import type { Predicate } from '../../predicate/index.ts'
import type { TimeSlice } from '../../scheduling/time-slice.ts'
import { readLive } from '../format/deletions.ts'
import type { FragmentEntry, FragmentLayout } from '../format/manifest.ts'
import { type FragmentRows, readColumns } from '../read/fragment-read.ts'
import { statisticsAt } from '../statistics/stored-statistics.ts'
import type { Storage } from '../storage/objects.ts'
import type { ScanResultKind } from './message.ts'

/** Compiles a predicate for the given time. The predicate language is loaded with the first predicate. */
export async function compile(text: string, schema: Schema, now: number): Promise<Predicate> {
  const { compilePredicate } = await import('../../predicate/index.ts')
  return compilePredicate(text, schema, now)
}

/** Which rows of a fragment may match, by its statistics alone. */
export function prune(predicate: Predicate, schema: Schema, entry: FragmentEntry): 'none' | 'some' | 'all' {
  return predicate.prune((path) => statisticsAt(entry.statistics, schema, path), entry.rows)
}

/** Rows evaluated at once: few enough that the event loop never waits long. */
const sliceRows = 65_536

/** The columns that a predicate reads of a fragment, and its live rows; undefined for all rows. */
export interface LoadedFragment {
  readonly rows: FragmentRows
  readonly live: Bitmap | undefined
}

export async function readFragment(
  storage: Storage,
  prefix: string,
  schema: Schema,
  predicate: Predicate,
  entry: FragmentLayout,
): Promise<LoadedFragment> {
  const [rows, live] = await Promise.all([
    readColumns(storage, prefix, schema, entry, predicate.columns),
    readLive(storage, prefix, entry),
  ])
  return { rows, live }
}

/** Counts or selects the live rows that match. */
export function evaluateFragment(
  predicate: Predicate,
  fragment: LoadedFragment,
  wanted: ScanResultKind,
  timeSlice: TimeSlice,
): Promise<number | Bitmap> {
  return wanted === 'count'
    ? countMatches(predicate, fragment, timeSlice)
    : selectMatches(predicate, fragment, timeSlice)
}

export async function countMatches(
  predicate: Predicate,
  { rows, live }: LoadedFragment,
  timeSlice: TimeSlice,
): Promise<number> {
  let sum = 0
  for (let start = 0; start < rows.length; start += sliceRows) {
    const end = Math.min(start + sliceRows, rows.length)
    sum += predicate.count(rows, start, end, slice(live, start, end))
    if (timeSlice.due) await timeSlice.rest()
  }
  return sum
}

/** Selects the live rows that match, slice by slice, until `enough` returns true. */
export async function selectMatches(
  predicate: Predicate,
  { rows, live }: LoadedFragment,
  timeSlice: TimeSlice,
  enough: (found: Bitmap) => boolean = () => false,
): Promise<Bitmap> {
  const all = noRows(rows.length)
  for (let start = 0; start < rows.length; start += sliceRows) {
    const end = Math.min(start + sliceRows, rows.length)
    const found = predicate.select(rows, start, end, slice(live, start, end))
    all.set(found.subarray(0, wordsFor(end - start)), start >>> 5)
    if (enough(found)) break
    if (timeSlice.due) await timeSlice.rest()
  }
  return all
}

function slice(live: Bitmap | undefined, start: number, end: number): Bitmap | undefined {
  return live?.subarray(start >>> 5, wordsFor(end))
}
