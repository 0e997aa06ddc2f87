import { prefetch } from '../../../base/scheduling/prefetch.ts'
import { type Bitmap, clearTrailing, countRows, isEmpty, noRows } from '../../arrow/bitmap.ts'
import { covers, type Deleted, readLive, writeDeletions } from '../format/deletions.ts'
import { contentKey, type DeletionEntry, type FragmentEntry, type SegmentEntry } from '../format/manifest.ts'
import { groupsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import type { Job } from '../job.ts'
import type { PendingResult } from '../scan/scan.ts'
import type { Storage } from '../storage/storage.ts'
import { writeSegment } from './write-manifest.ts'

/** Finds the rows of fragments that a change removes. The result for a fragment depends on its rows alone. */
export interface RowFinder {
  /** How many fragments to prefetch now. */
  readonly depth: number
  /** Which rows match, by statistics alone. */
  verdict(entry: FragmentEntry): 'none' | 'some' | 'all'
  /** Begins to search for the rows among those that are live. */
  begin(entry: FragmentEntry, live: Bitmap | undefined): Promise<PendingResult<Bitmap>>
  /**
   * Called for each searched fragment, in order. If it was searched for an earlier base, some of its rows may be
   * deleted.
   */
  onFound?(entry: FragmentEntry, live: Bitmap | undefined): Promise<void>
  /**
   * Called once all rows are found, before anything is written. May throw to refuse the change, or write rows of its
   * own.
   */
  onAllFound?(): Promise<void>
  /** Stops work whose results are not needed any more. */
  end(): void
}

/** A version without the removed rows. */
export interface RemainingRows {
  readonly segments: readonly SegmentEntry[]
  readonly tail: readonly FragmentEntry[]
  readonly removed: number
}

/** The result for a fragment: its new entry, or undefined if no row of the fragment is left. */
interface Outcome {
  readonly entry: FragmentEntry | undefined
  readonly removed: number
}

/** The rows found in a fragment. With them, a newer base only costs the difference to it. */
interface Evaluation {
  /** Live rows at that time; undefined for all rows. */
  readonly live: Bitmap | undefined
  readonly matches: Bitmap
}

/** A fragment whose rows are found, or are being searched. */
interface Prepared {
  readonly entry: FragmentEntry
  readonly outcome?: Outcome
  readonly live?: Bitmap | undefined
  readonly matches?: PendingResult<Bitmap>
}

/** The result for the rows found: an outcome, or deletions to write. */
type OutcomeOrDeletions = Outcome | Deleted

/** The result for a fragment. */
interface FragmentResult {
  readonly entry: FragmentEntry
  readonly result: OutcomeOrDeletions
}

/** Fragments of a segment, or those after all segments. */
interface Group {
  readonly segment: SegmentEntry | undefined
  readonly entries: readonly FragmentEntry[]
  readonly results: readonly FragmentResult[]
}

/** Removes rows from one base after the other, until the result is committed. Slow work is done once. */
export class Removal {
  readonly #evaluations = new Map<string, Evaluation>()
  readonly #outcomes = new Map<string, Outcome>()

  /** Finds the rows in all fragments, writes the deletions, and passes the remaining rows to `finish` meanwhile. */
  async from<T>(
    job: Job,
    snapshot: LoadedSnapshot,
    finder: RowFinder,
    finish: (left: RemainingRows) => Promise<T>,
  ): Promise<T> {
    const segments: SegmentEntry[] = []
    let tail: readonly FragmentEntry[] = []
    // Deletions are written while the search continues. All of them are awaited before the result is returned.
    const writes: Promise<void>[] = []
    let removed = 0
    const write = async ({ segment, entries, results }: Group) => {
      const outcomes = this.#outcomesOf(job.storage, snapshot.prefix, results, writes)
      const kept = outcomes.flatMap(({ entry }) => entry ?? [])
      for (const one of outcomes) removed += one.removed
      if (segment === undefined) tail = kept
      else if (outcomes.every(({ entry }, i) => entry === entries[i])) segments.push(segment)
      else if (kept.length > 0) segments.push(await writeSegment(job.storage, snapshot.prefix, kept))
    }
    const waiting: Group[] = []
    try {
      for await (const { segment, entries } of groupsOf(job.storage, snapshot)) {
        const group = { segment, entries, results: await this.#find(job, snapshot, entries, finder) }
        if (finder.onAllFound) waiting.push(group)
        else await write(group)
      }
      await finder.onAllFound?.()
      for (const group of waiting) await write(group)
      job.signal?.throwIfAborted()
      const result = await finish({ segments, tail, removed })
      await Promise.all(writes)
      return result
    } finally {
      finder.end()
      await Promise.allSettled(writes)
    }
  }

  /** Finds the rows in some fragments. */
  async #find(
    job: Job,
    snapshot: LoadedSnapshot,
    entries: readonly FragmentEntry[],
    finder: RowFinder,
  ): Promise<readonly FragmentResult[]> {
    const results: FragmentResult[] = []
    const rowsTotal = snapshot.rows + snapshot.deletedRows
    const prepare = (entry: FragmentEntry) => this.#prepare(job.storage, snapshot.prefix, entry, finder)
    for await (const prepared of prefetch(entries, prepare, finder)) {
      const { entry } = prepared
      results.push({ entry, result: await findResult(prepared, finder) })
      job.report(entry.rows, rowsTotal)
      if (job.due) await job.rest()
    }
    return results
  }

  /** Determines the result for a fragment from what is known, or begins to search for its rows. */
  async #prepare(
    storage: Storage,
    prefix: string,
    entry: FragmentEntry,
    finder: RowFinder,
  ): Promise<Prepared> {
    const known = this.#outcomes.get(keyOf(entry))
    const hasListener = finder.onFound !== undefined
    if (known && !hasListener) return { entry, outcome: known }
    const verdict = finder.verdict(entry)
    if (verdict === 'none') return { entry, outcome: { entry, removed: 0 } }
    if (verdict === 'all') {
      return { entry, outcome: { entry: undefined, removed: entry.rows - (entry.deletions?.count ?? 0) } }
    }
    const live = await readLive(storage, prefix, entry)
    const earlier = this.#evaluations.get(contentKey(entry))
    if (earlier && covers(earlier.live, live, entry.rows)) {
      return { entry, live, matches: async () => earlier.matches, ...(known && { outcome: known }) }
    }
    const found = await finder.begin(entry, live)
    const matches = async () => {
      const matches = await found()
      this.#evaluations.set(contentKey(entry), { live, matches })
      return matches
    }
    return { entry, live, matches }
  }

  /** Begins to write the deletions of a group of fragments. Once they are written, the outcomes are remembered. */
  #outcomesOf(
    storage: Storage,
    prefix: string,
    results: readonly FragmentResult[],
    writes: Promise<void>[],
  ): Outcome[] {
    const fresh = results.flatMap(({ result }) => ('rows' in result ? result : []))
    const { entries, written } = writeDeletions(storage, prefix, fresh)
    const next = entries.values()
    const outcomes = results.map(({ entry, result }) =>
      'rows' in result ? withDeletions(entry, next.next().value!) : result,
    )
    const remembered = written.then(() => {
      for (const [i, { entry }] of results.entries()) this.#outcomes.set(keyOf(entry), outcomes[i]!)
    })
    // It is awaited later, so a failure must not be an unhandled rejection.
    remembered.catch(() => {})
    writes.push(remembered)
    return outcomes
  }
}

/** Waits for the rows of a fragment. */
async function findResult(
  { entry, outcome, live, matches }: Prepared,
  finder: RowFinder,
): Promise<OutcomeOrDeletions> {
  if (matches === undefined) return outcome!
  const found = await matches()
  await finder.onFound?.(entry, live)
  return outcome ?? resultOf(entry, live, found)
}

function resultOf(entry: FragmentEntry, live: Bitmap | undefined, matches: Bitmap): OutcomeOrDeletions {
  if (isEmpty(matches)) return { entry, removed: 0 }
  const { rows } = entry
  const before = entry.deletions?.count ?? 0
  // Without earlier deletions, the matching rows are the deleted ones.
  const deleted = live ? deletedOrMatching(live, matches, rows) : matches
  const count = countRows(deleted)
  if (count === before) return { entry, removed: 0 }
  if (count === rows) return { entry: undefined, removed: rows - before }
  return { rows, deleted, count }
}

function deletedOrMatching(live: Bitmap, matches: Bitmap, rows: number): Bitmap {
  const deleted = noRows(rows)
  for (let q = 0; q < deleted.length; q++) deleted[q] = ~live[q]! | matches[q]!
  clearTrailing(deleted, rows)
  return deleted
}

function withDeletions(entry: FragmentEntry, deletions: DeletionEntry): Outcome {
  return { entry: { ...entry, deletions }, removed: deletions.count - (entry.deletions?.count ?? 0) }
}

/** Identifies a fragment together with its deletions so far. */
function keyOf(entry: FragmentEntry): string {
  return `${contentKey(entry)} ${entry.deletions?.path ?? ''}`
}
