import { invalid } from '../../../base/errors.ts'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import {
  addRow,
  allRows,
  type Bitmap,
  forEachRow,
  hasRow,
  noRows,
  subtract,
  union,
} from '../../arrow/bitmap.ts'
import type { Predicate, WorkBudget } from '../../predicate/index.ts'
import type { FragmentRows } from '../read/fragment-read.ts'
import { type LoadedFragment, selectMatches } from '../scan/evaluate.ts'
import type { PairCondition } from './condition.ts'
import { keyValues } from './key-values.ts'
import { keyBatches, type MergeSource } from './source.ts'

/** The actions of a merge on rows. */
export interface MergePlan {
  readonly source: MergeSource
  readonly matched: 'update' | 'delete' | undefined
  readonly condition: PairCondition | undefined
  /** The action on rows whose key the source does not have. */
  readonly orphans: 'keep' | 'delete'
  readonly orphanPredicate: Predicate | undefined
  readonly orphanBudget: WorkBudget | undefined
}

/** The result of a merge for a fragment. */
export interface FragmentMatch {
  /** The rows whose key the source has. */
  readonly hits: Bitmap
  /** For each hit in order, the first row of the source with its key. */
  readonly firsts: Int32Array
  /** Rows that are updated, and the source row for each. */
  readonly updated: Bitmap
  readonly sources: Int32Array
  /** Rows that are updated or deleted. */
  readonly removed: Bitmap
}

/** Rows between two checks of the clock while keys are looked up. */
const sliceRows = 16_384

/** Pairs of rows whose condition is evaluated at once. */
const maxPairs = 65_536

/** Determines the action on each row of a fragment, of which `found` have a key of the source. */
export async function matchFragment(
  plan: MergePlan,
  { rows, live }: LoadedFragment,
  found: Hits,
  timeSlice: TimeSlice,
): Promise<FragmentMatch> {
  const none = { updated: noRows(0), sources: noHits.firsts }
  const updates = plan.matched === 'update' ? await updatesOf(plan, found, rows, timeSlice) : none
  const changed = plan.matched === 'delete' ? found.hits : updates.updated
  if (plan.orphans === 'keep') return { ...found, ...updates, removed: changed }
  const removed = noRows(rows.length)
  removed.set(changed)
  const orphans = noRows(rows.length)
  const words = orphans.length
  subtract(live ?? allRows(rows.length), found.hits, orphans, words)
  const { orphanPredicate: predicate, orphanBudget: budget } = plan
  // The predicate does not apply to rows that match.
  const chosen =
    predicate && budget ? await selectMatches(predicate, { rows, live: orphans }, timeSlice, budget) : orphans
  union(removed, chosen, removed, chosen.length)
  return { ...found, ...updates, removed }
}

/** The rows of a fragment whose key the source has. */
export type Hits = Pick<FragmentMatch, 'hits' | 'firsts'>

/** No row of a fragment. */
export const noHits: Hits = { hits: noRows(0), firsts: new Int32Array(0) }

/** Looks up the keys of all rows of a fragment. */
export async function lookUp(
  source: MergeSource,
  { rows: { columns, length }, live }: LoadedFragment,
  timeSlice: TimeSlice,
): Promise<Hits> {
  const keys = await Promise.all(keyBatches(source.keys, columns).map((batch) => keyValues(batch, timeSlice)))
  const hits = noRows(length)
  const firsts = new Numbers()
  const found = new Int32Array(Math.min(length, sliceRows))
  for (let start = 0; start < length; start += sliceRows) {
    const end = Math.min(start + sliceRows, length)
    source.index.find(keys, start, end, found)
    addHits(found.subarray(0, end - start), start, live, hits, firsts)
    if (timeSlice.due) await timeSlice.rest()
  }
  return { hits, firsts: firsts.done() }
}

/** Looks up the keys of some rows of a fragment. `keys` has the columns of the keys, of these rows alone. */
export async function lookUpAmong(
  source: MergeSource,
  candidates: Bitmap,
  keys: FragmentRows,
  timeSlice: TimeSlice,
): Promise<Hits> {
  const { hits: matching, firsts } = await lookUp(source, { rows: keys, live: undefined }, timeSlice)
  const hits = noRows(candidates.length * 32)
  let position = 0
  forEachRow(candidates, (row) => {
    if (hasRow(matching, position++)) addRow(hits, row)
  })
  return { hits, firsts }
}

/** A separate function, since V8 does not optimize the loop as well within an async function. */
function addHits(
  found: Int32Array,
  start: number,
  live: Bitmap | undefined,
  hits: Bitmap,
  firsts: Numbers,
): void {
  for (let i = 0; i < found.length; i++) {
    const first = found[i]!
    if (first < 0 || (live !== undefined && !hasRow(live, start + i))) continue
    addRow(hits, start + i)
    firsts.push(first)
  }
}

/** The rows that are updated. Refuses a row that several rows of the source would update. */
async function updatesOf(
  { source, condition }: MergePlan,
  { hits, firsts }: Hits,
  rows: FragmentRows,
  timeSlice: TimeSlice,
): Promise<Pick<FragmentMatch, 'updated' | 'sources'>> {
  const { index } = source
  if (condition === undefined) {
    for (const first of firsts) if (index.nextOf(first) >= 0) throw ambiguousUpdate(source, first)
    return { updated: hits, sources: firsts }
  }
  const updated = noRows(rows.length)
  const sources = new Numbers()
  let target: number[] = []
  let from: number[] = []
  const ask = async () => {
    for (const index of await condition.select({ target, source: from }, rows.columns, timeSlice)) {
      const row = target[index]!
      if (hasRow(updated, row)) throw ambiguousUpdate(source, from[index]!)
      addRow(updated, row)
      sources.push(from[index]!)
    }
    target = []
    from = []
    if (timeSlice.due) await timeSlice.rest()
  }
  let hit = 0
  for (let row = 0; row < rows.length; row++) {
    if (!hasRow(hits, row)) continue
    for (let given = firsts[hit++]!; given >= 0; given = index.nextOf(given)) {
      target.push(row)
      from.push(given)
      if (target.length >= maxPairs) await ask()
    }
  }
  if (target.length > 0) await ask()
  return { updated, sources: sources.done() }
}

function ambiguousUpdate(source: MergeSource, row: number) {
  return invalid(
    `Several of the rows to merge would update one row of the table (${source.describe(row)}). Send one row for each key, or a condition that only one of them meets.`,
  )
}

/** A growing list of numbers. */
class Numbers {
  #values = new Int32Array(64)
  #length = 0

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const grown = new Int32Array(this.#length * 2)
      grown.set(this.#values)
      this.#values = grown
    }
    this.#values[this.#length++] = value
  }

  done(): Int32Array {
    return this.#values.slice(0, this.#length)
  }
}
