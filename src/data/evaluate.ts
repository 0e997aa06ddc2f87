import type { Schema } from '@uwdata/flechette'
import { type Bitmap, noRows, wordsFor } from './bitmap.ts'
import type { FragmentRows } from './fragment-read.ts'
import type { FragmentEntry } from './manifest.ts'
import type { Pace } from './pace.ts'
import type { Predicate } from './predicate/index.ts'
import { statisticsAt } from './stored-statistics.ts'

/** Rows looked at in one go: few enough that the event loop never waits long. */
const sliceRows = 65_536

/** Compiles a predicate. The language is loaded when the first one is used. */
export async function compile(text: string, schema: Schema): Promise<Predicate> {
  const { compilePredicate } = await import('./predicate/index.ts')
  return compilePredicate(text, schema)
}

/** What the statistics of a fragment say of a predicate. */
export function prune(predicate: Predicate, schema: Schema, entry: FragmentEntry): 'none' | 'some' | 'all' {
  return predicate.prune((path) => statisticsAt(entry.statistics, schema, path), entry.rows)
}

/** How many of the live rows the predicate holds for. */
export async function countMatches(
  predicate: Predicate,
  rows: FragmentRows,
  live: Bitmap | undefined,
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
  rows: FragmentRows,
  live: Bitmap | undefined,
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
