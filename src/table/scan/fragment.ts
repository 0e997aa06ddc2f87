import type { Schema } from '@uwdata/flechette'
import { type Bitmap, noRows, wordsFor } from '../../arrow/bitmap.ts'
import type { Predicate } from '../../predicate/index.ts'
import type { Pace } from '../../scheduling/time-slice.ts'
import { readLive } from '../format/deletions.ts'
import type { FragmentEntry, FragmentPlace } from '../format/manifest.ts'
import { type FragmentRows, readColumns } from '../read/fragment-read.ts'
import { statisticsAt } from '../statistics/stored-statistics.ts'
import type { Storage } from '../storage/objects.ts'
import type { Wanted } from './message.ts'

/** Compiles a predicate for the time it is. The language is loaded when the first one is used. */
export async function compile(text: string, schema: Schema, now: number): Promise<Predicate> {
  const { compilePredicate } = await import('../../predicate/index.ts')
  return compilePredicate(text, schema, now)
}

/** What the statistics of a fragment say of a predicate. */
export function prune(predicate: Predicate, schema: Schema, entry: FragmentEntry): 'none' | 'some' | 'all' {
  return predicate.prune((path) => statisticsAt(entry.statistics, schema, path), entry.rows)
}

/** Rows looked at in one go: few enough that the event loop never waits long. */
const sliceRows = 65_536

/** A fragment in memory: what a predicate reads of it, and which of its rows are there; undefined for all. */
export interface LoadedFragment {
  readonly rows: FragmentRows
  readonly live: Bitmap | undefined
}

export async function readFragment(
  storage: Storage,
  prefix: string,
  schema: Schema,
  predicate: Predicate,
  entry: FragmentPlace,
): Promise<LoadedFragment> {
  const [rows, live] = await Promise.all([
    readColumns(storage, prefix, schema, entry, predicate.columns),
    readLive(storage, prefix, entry),
  ])
  return { rows, live }
}

/** How many of the live rows a predicate holds for, or which. */
export function evaluateFragment(
  predicate: Predicate,
  fragment: LoadedFragment,
  wanted: Wanted,
  pace: Pace,
): Promise<number | Bitmap> {
  return wanted === 'count'
    ? countMatches(predicate, fragment, pace)
    : selectMatches(predicate, fragment, pace)
}

export async function countMatches(
  predicate: Predicate,
  { rows, live }: LoadedFragment,
  pace: Pace,
): Promise<number> {
  let sum = 0
  for (let start = 0; start < rows.length; start += sliceRows) {
    const end = Math.min(start + sliceRows, rows.length)
    sum += predicate.count(rows, start, end, slice(live, start, end))
    if (pace.due) await pace.rest()
  }
  return sum
}

/** Which of the live rows the predicate holds for, up to the slice after which `enough` says so. */
export async function selectMatches(
  predicate: Predicate,
  { rows, live }: LoadedFragment,
  pace: Pace,
  enough: (found: Bitmap) => boolean = () => false,
): Promise<Bitmap> {
  const all = noRows(rows.length)
  for (let start = 0; start < rows.length; start += sliceRows) {
    const end = Math.min(start + sliceRows, rows.length)
    const found = predicate.select(rows, start, end, slice(live, start, end))
    all.set(found.subarray(0, wordsFor(end - start)), start >>> 5)
    if (enough(found)) break
    if (pace.due) await pace.rest()
  }
  return all
}

function slice(live: Bitmap | undefined, start: number, end: number): Bitmap | undefined {
  return live?.subarray(start >>> 5, wordsFor(end))
}
