import { pathIn } from '../../../base/model/relative-path.ts'
import type { Steps } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import type { Bitmap } from '../../arrow/bitmap.ts'
import type { Predicate } from '../../predicate/index.ts'
import { loadedLive } from '../format/deletions.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import { type LoadedSnapshot, loadedFragments } from '../format/snapshot.ts'
import type { Job } from '../job.ts'
import { type LoadedFragment, prune, sliceRows, walk } from '../scan/evaluate.ts'
import { liveRowsOf } from '../scan/row-columns.ts'
import { columnKey } from './few-rows.ts'
import { type RowSelection, selectAllRows, selectRows } from './row-selection.ts'

/*
 * Small versions whose columns lie in the cache. A scan waits some thirty times for one fragment, as reads may take
 * long and workers may help. Here nothing is read, and the waits took most of the time.
 */

/** Most fragments of such a version, and most bytes of their files. */
const mostFragments = 64
const mostBytes = 1 << 20

/** The fragments of a version, if it is small and they are known. */
function fewFragments({ storage }: Job, snapshot: LoadedSnapshot): readonly FragmentEntry[] | undefined {
  const { rows, deletedRows, fragments, bytes } = snapshot
  const isSmall = rows + deletedRows <= sliceRows && fragments <= mostFragments && bytes <= mostBytes
  return isSmall ? loadedFragments(storage, snapshot) : undefined
}

/** Some columns of the table in a fragment, and its live rows, if all of them are in the cache. */
function loadedFragment(
  { storage }: Job,
  { prefix, schema }: LoadedSnapshot,
  entry: FragmentEntry,
  indices: Iterable<number>,
): LoadedFragment | undefined {
  const { deletions } = entry
  if (schema.columns !== undefined && !schema.columns.fits(entry)) return undefined
  const live = deletions && loadedLive(storage, prefix, deletions)
  if (deletions && live === undefined) return undefined
  const path = pathIn(prefix, entry.path)
  const columns: (AnyBatch | undefined)[] = schema.fields.map(() => undefined)
  for (const index of indices) {
    // Row columns are in no file.
    columns[index] = storage.cache.loaded<AnyBatch>(columnKey(path, index))
    if (columns[index] === undefined) return undefined
  }
  return { rows: { length: entry.rows, columns }, live }
}

/** The result of work: at once, unless it has to rest. */
function resultOf<T>(steps: Steps<T>, job: Job): T | Promise<T> {
  const { done, value } = steps.next()
  return done ? value : walk(steps, job)
}

function reportAll(job: Job, { rows, deletedRows }: LoadedSnapshot, done: Iterable<FragmentEntry>): void {
  for (const entry of done) job.report(entry.rows, rows + deletedRows)
}

/** How many rows of a small version match. Undefined if it is not small, or is not in the cache. */
export async function countLoaded(
  job: Job,
  snapshot: LoadedSnapshot,
  predicate: Predicate,
): Promise<number | undefined> {
  const entries = fewFragments(job, snapshot)
  if (entries === undefined) return undefined
  const budget = predicate.budget()
  let sum = 0
  for (const entry of entries) {
    const verdict = prune(predicate, snapshot.schema, entry)
    if (verdict === 'all') sum += liveRowsOf(entry)
    if (verdict !== 'some') continue
    const fragment = loadedFragment(job, snapshot, entry, predicate.columns)
    if (fragment === undefined) return undefined
    const { rows, live } = fragment
    const counted = resultOf(predicate.countSteps(rows, 0, rows.length, live, budget), job)
    sum += typeof counted === 'number' ? counted : await counted
    if (job.due) await job.rest()
  }
  reportAll(job, snapshot, entries)
  return sum
}

/** Selected rows of a fragment, and the columns that were asked for. */
export interface LoadedRows {
  readonly entry: FragmentEntry
  readonly selection: RowSelection
  readonly columns: readonly (AnyBatch | undefined)[]
}

interface Selecting {
  readonly predicate: Predicate | undefined
  readonly skip: number
  readonly limit: number
  readonly columns: Iterable<number>
}

/**
 * The matching rows of a small version, without the first `skip`, and at most `limit`. Undefined if it is not small, or is
 * not in the cache.
 */
export async function selectLoaded(
  job: Job,
  snapshot: LoadedSnapshot,
  { predicate, skip, limit, columns }: Selecting,
): Promise<readonly LoadedRows[] | undefined> {
  const entries = fewFragments(job, snapshot)
  if (entries === undefined) return undefined
  const wanted = predicate ? [...columns, ...predicate.columns] : columns
  const budget = predicate?.budget()
  const selected: LoadedRows[] = []
  let at = 0
  for (; at < entries.length && limit > 0; at++) {
    const entry = entries[at]!
    const verdict = predicate ? prune(predicate, snapshot.schema, entry) : 'all'
    const inFragment = liveRowsOf(entry)
    if (verdict === 'all' && inFragment <= skip) skip -= inFragment
    else if (verdict !== 'none') {
      const fragment = loadedFragment(job, snapshot, entry, wanted)
      if (fragment === undefined) return undefined
      const { rows, live } = fragment
      let found: Bitmap | undefined = live
      if (verdict === 'some') {
        const result = resultOf(predicate!.steps(rows, 0, rows.length, live, budget!), job)
        found = result instanceof Promise ? await result : result
      }
      const selection = found
        ? selectRows(found, entry.rows, skip, limit)
        : selectAllRows(entry.rows, skip, limit)
      skip -= selection.skipped
      limit -= selection.rows
      if (selection.rows > 0) selected.push({ entry, selection, columns: rows.columns })
    }
    if (job.due) await job.rest()
  }
  reportAll(job, snapshot, entries.slice(0, at))
  return selected
}
