import { prefetch } from '../../../base/scheduling/prefetch.ts'
import { withMembers } from '../../../base/with-members.ts'
import type { Values } from '../../arrow/batch.ts'
import type { Predicate } from '../../predicate/index.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import { fragmentsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import type { Job } from '../job.ts'
import { prune } from '../scan/evaluate.ts'
import type { FragmentNearest, SearchTask } from '../scan/message.ts'
import { liveRowsOf, withPositions } from '../scan/row-columns.ts'
import { startScan } from '../scan/scan.ts'
import { AllCandidates } from './candidates.ts'
import { type FoundFragment, fragmentPlaces } from './fetch-rows.ts'
import { type Nearest, NearestRows } from './nearest.ts'
import { searchesOf } from './search-fragment.ts'

/** The nearest rows of a table for each search, and where to find them. */
export interface Found {
  readonly nearest: readonly Nearest[]
  readonly fragments: readonly FoundFragment[]
  /** The vectors of rows by their positions, if they were wanted. */
  readonly vectors: ReadonlyMap<number, Values>
}

/** Components of vectors that take as long as evaluating a predicate on a row. */
const componentsPerRow = 8

/** Assumed vectors of a row that is a list of them. Their number is known only after reading. */
const vectorsPerRow = 32

/**
 * Searches each fragment, on worker threads if worthwhile, and keeps the nearest rows of all. With `hasOffsets`
 * fragments have their positions in the version.
 */
export async function findNearest(
  job: Job,
  snapshot: LoadedSnapshot,
  task: SearchTask,
  predicate: Predicate | undefined,
  hasOffsets: boolean,
): Promise<Found> {
  const { queries, limit, column } = task
  const perRow = column.isList ? vectorsPerRow : 1
  const work = (column.dimension * queries.length * perRow) / componentsPerRow
  const scan = await startScan(job, snapshot, predicate, work)
  const entries = fragmentsOf(job.storage, snapshot)
  const begin = async (entry: FragmentEntry) => {
    const verdict = predicate ? prune(predicate, snapshot.schema, entry) : 'all'
    const among = verdict === 'some' ? 'matches' : 'all'
    return {
      entry,
      nearest: verdict === 'none' ? undefined : await scan.begin(entry, task, among),
    }
  }
  const found = Array.from({ length: searchesOf(task) }, () => new NearestRows(limit))
  const fragments: FoundFragment[] = []
  const vectors = new KeptVectors(column.dimension, found)
  const candidates = new AllCandidates(job, snapshot, task, found)
  const rowsTotal = snapshot.rows + snapshot.deletedRows
  let liveBefore = 0
  try {
    for await (const { entry, nearest } of prefetch(
      hasOffsets ? withPositions(entries) : entries,
      begin,
      scan,
    )) {
      if (nearest) {
        const first = fragments.push(withMembers(entry, { liveBefore })) - 1
        const result = await nearest()
        merge(result, first * fragmentPlaces, found)
        vectors.add(result, first * fragmentPlaces)
        if (result.candidates) await candidates.add(result.candidates, fragments)
      }
      liveBefore += liveRowsOf(entry)
      job.report(entry.rows, rowsTotal)
      if (job.due) await job.rest()
    }
  } finally {
    scan.end()
  }
  await candidates.compare(fragments)
  return {
    nearest: found.map((rows) => rows.sorted()),
    fragments,
    vectors: vectors.kept,
  }
}

function merge({ nearest }: FragmentNearest, base: number, found: readonly NearestRows[]): void {
  for (const [q, { distances, positions }] of nearest.entries()) {
    for (let i = 0; i < positions.length; i++) found[q]!.add(distances[i]!, base + positions[i]!)
  }
}

/** Vectors of the nearest rows of fragments. Those that are not among the nearest of all are dropped. */
class KeptVectors {
  readonly #dimension: number
  readonly #found: readonly NearestRows[]
  /** By the positions of the rows. */
  kept = new Map<number, Values>()
  #maxKept = 64

  constructor(dimension: number, found: readonly NearestRows[]) {
    this.#dimension = dimension
    this.#found = found
  }

  add({ nearest, vectors }: FragmentNearest, base: number): void {
    if (vectors === undefined) return
    let at = 0
    for (const { positions } of nearest) {
      for (const position of positions) {
        this.kept.set(base + position, vectors.slice(at, at + this.#dimension))
        at += this.#dimension
      }
    }
    if (this.kept.size <= this.#maxKept) return
    const still = new Map<number, Values>()
    for (const rows of this.#found) {
      for (const position of rows.positions) {
        const vector = this.kept.get(position)
        if (vector) still.set(position, vector)
      }
    }
    this.kept = still
    this.#maxKept = 64 + 2 * still.size
  }
}
