import { prefetch } from '../../../base/scheduling/prefetch.ts'
import { withMembers } from '../../../base/with-members.ts'
import { type Bitmap, countRows } from '../../arrow/bitmap.ts'
import type { Predicate } from '../../predicate/index.ts'
import { readLive } from '../format/deletions.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import { fragmentsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import { IndexLookup } from '../indexes/index-lookup.ts'
import { IndexedRows } from '../indexes/indexed-rows.ts'
import type { Job } from '../job.ts'
import { prune, readFragment, selectMatches } from '../scan/evaluate.ts'
import { minPrefetchDepth } from '../scan/prefetch-depth.ts'
import {
  type FragmentPosition,
  liveRowsOf,
  namedRows,
  readsOffsets,
  withPositions,
} from '../scan/row-columns.ts'
import { type PendingResult, startScan } from '../scan/scan.ts'
import { type RowSelection, selectAllRows, selectRows } from './row-selection.ts'

export interface Selecting {
  readonly predicate: Predicate | undefined
  readonly skip: number
  readonly limit: number
  /** The columns that the answer reads, perhaps `_rowoffset`. */
  readonly columns: readonly number[]
}

/** Rows of a fragment that a query selects. */
export interface SelectedRows {
  readonly entry: FragmentEntry & Required<FragmentPosition>
  readonly selection: RowSelection
}

/** The fragments with matching rows, and these rows, without the first `skip`, and at most `limit`. */
export async function* selectedRows(
  job: Job,
  snapshot: LoadedSnapshot,
  { predicate, skip, limit, columns }: Selecting,
): AsyncGenerator<SelectedRows> {
  let left = limit
  const passes = (rows: number) => {
    if (rows > skip) return false
    skip -= rows
    return true
  }
  const wanted = () => skip + left
  for await (const { entry, found } of matchingRows(job, snapshot, predicate, columns, { wanted, passes })) {
    const selection = found
      ? selectRows(found, entry.rows, skip, left)
      : selectAllRows(entry.rows, skip, left)
    skip -= selection.skipped
    left -= selection.rows
    if (selection.rows > 0) yield { entry, selection }
  }
}

/** Rows of a fragment that match. */
export interface MatchingRows {
  readonly entry: FragmentEntry & Required<FragmentPosition>
  /** Undefined for all rows. No words stand for no rows. */
  readonly found: Bitmap | undefined
}

/** How many rows are wanted, and whether a fragment with so many live rows is passed over, all of which match. */
interface WantedMatches {
  wanted(): number
  passes(rows: number): boolean
}

const all: WantedMatches = { wanted: () => Number.POSITIVE_INFINITY, passes: () => false }

/** The matching rows of each fragment, as far as statistics do not exclude it. Deleted rows do not match. */
export async function* matchingRows(
  job: Job,
  snapshot: LoadedSnapshot,
  predicate: Predicate | undefined,
  columns: readonly number[],
  { wanted, passes }: WantedMatches = all,
): AsyncGenerator<MatchingRows> {
  const { storage } = job
  const { prefix, schema } = snapshot
  const finder = predicate && (await finderOf(job, snapshot, predicate, wanted))
  const begin = async (entry: FragmentEntry) => {
    const verdict = predicate ? prune(predicate, schema, entry) : 'all'
    return { entry, verdict, matches: verdict === 'some' ? await finder!.begin(entry) : undefined }
  }
  let liveDone = 0
  const rowsTotal = snapshot.rows + snapshot.deletedRows
  // Without a filter the manifest has the number of rows, so a fragment is only read if one of its rows is needed.
  const plan = finder ?? { depth: 0 }
  const read = [...columns, ...(predicate?.columns ?? [])]
  const entries = fragmentsOf(storage, snapshot)
  try {
    for await (const { entry, verdict, matches } of prefetch(
      readsOffsets(schema, read) ? withPositions(entries) : entries,
      begin,
      plan,
    )) {
      if (wanted() <= 0) break
      const liveBefore = liveDone
      const inFragment = liveRowsOf(entry)
      liveDone += inFragment
      const isLeftOut = verdict === 'none' || (verdict === 'all' && passes(inFragment))
      if (!isLeftOut) {
        const found = matches ? await matches() : await readLive(storage, prefix, entry)
        yield { entry: withMembers(entry, { liveBefore }), found }
      }
      job.report(entry.rows, rowsTotal)
      if (job.due) await job.rest()
    }
  } finally {
    finder?.end()
  }
}

/** Finds the rows of fragments that match a predicate. */
interface MatchFinder {
  /** How many fragments to prefetch now. */
  readonly depth: number
  begin(entry: FragmentEntry): Promise<PendingResult<Bitmap>>
  end(): void
}

/** `wanted` returns how many rows are still wanted. */
async function finderOf(
  job: Job,
  snapshot: LoadedSnapshot,
  predicate: Predicate,
  wanted: () => number,
): Promise<MatchFinder> {
  const { storage } = job
  const { prefix, schema } = snapshot
  const plain = { depth: minPrefetchDepth, end: () => {} }
  const names = namedRows(schema, predicate.membership)
  if (names) {
    const begin = async (entry: FragmentEntry) => async () =>
      names.in(entry, await readLive(storage, prefix, entry))
    return { ...plain, begin }
  }
  if (wanted() === Infinity) {
    const scan = await startScan(job, snapshot, predicate)
    return {
      get depth() {
        return scan.depth
      },
      begin: (entry) => scan.begin(entry, 'rows'),
      end: () => scan.end(),
    }
  }
  // With a limit, the first fragments may have enough rows, so fragments are not scanned as a whole.
  const budget = predicate.budget()
  const lookup = IndexLookup.of(storage, snapshot, predicate)
  const indexed = lookup && new IndexedRows(job, snapshot, predicate, lookup, budget)
  return {
    ...plain,
    async begin(entry) {
      const enough = () => {
        let left = wanted()
        return (slice: Bitmap) => {
          left -= countRows(slice)
          return left <= 0
        }
      }
      const candidates = await indexed?.candidates(entry)
      if (candidates) return () => indexed!.select(entry, candidates, enough())
      const fragment = await readFragment(storage, snapshot, predicate, entry)
      return () => selectMatches(predicate, fragment, job, budget, enough())
    },
  }
}
