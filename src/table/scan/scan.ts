import { setMaxListeners } from 'node:events'
import type { Bitmap } from '../../arrow/bitmap.ts'
import type { Content } from '../../content/content.ts'
import { pathIn } from '../../model/relative-path.ts'
import type { Predicate, WorkBudget } from '../../predicate/index.ts'
import type { TimeSlice } from '../../scheduling/time-slice.ts'
import { type FragmentEntry, layoutOfEntry } from '../format/manifest.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import { beginSearch, type FragmentNearest, type SearchTask } from '../search/search-fragment.ts'
import type { Storage } from '../storage/objects.ts'
import { evaluateFragment, readFragment } from './fragment.ts'
import type { ScanResult, ScanResultKind } from './message.ts'
import { type ScanPool, WorkerLost } from './pool.ts'
import { minPrefetchDepth, prefetchDepth } from './prefetch-depth.ts'

/** The result of a fragment whose scan has begun. Results are awaited in the order of the fragments, and so are errors. */
export type PendingResult<T> = () => Promise<T>

type Wanted = ScanResultKind | SearchTask

/** Evaluates a predicate on fragments of one snapshot, or searches them: in worker threads if that is worthwhile, else on this thread. */
export interface Scan {
  /** How many fragments to prefetch at the moment. */
  readonly depth: number
  /** Begins to scan a fragment. On this thread it is read at once, and evaluated when the result is awaited. */
  begin(entry: FragmentEntry, wanted: 'count'): Promise<PendingResult<number>>
  begin(entry: FragmentEntry, wanted: 'rows'): Promise<PendingResult<Bitmap>>
  /** Begins to search a fragment, among the rows that match unless all are wanted. */
  begin(
    entry: FragmentEntry,
    wanted: SearchTask,
    among: 'matches' | 'all',
  ): Promise<PendingResult<FragmentNearest>>
  /** Stops scans whose results nobody awaits. */
  end(): void
}

/** `work` tells how much a row takes, where one that a predicate is evaluated on takes 1. */
export async function startScan(
  storage: Storage,
  snapshot: LoadedSnapshot,
  predicate: Predicate | undefined,
  timeSlice: TimeSlice,
  work = 1,
): Promise<Scan> {
  const { pool, content } = storage
  const budget = predicate?.budget()
  const here = new LocalScan(storage, snapshot, predicate, timeSlice, budget)
  const isLarge = pool && (snapshot.rows + snapshot.deletedRows) * work >= pool.fewestRows
  if (!isLarge || content.url === undefined) return here
  await pool.enter()
  return new ThreadedScan(here, pool, content, content.url, snapshot, predicate, timeSlice, budget)
}

class LocalScan implements Scan {
  depth = minPrefetchDepth
  readonly #storage: Storage
  readonly #snapshot: LoadedSnapshot
  readonly #predicate: Predicate | undefined
  readonly #timeSlice: TimeSlice
  readonly #budget: WorkBudget | undefined

  constructor(
    storage: Storage,
    snapshot: LoadedSnapshot,
    predicate: Predicate | undefined,
    timeSlice: TimeSlice,
    budget: WorkBudget | undefined,
  ) {
    this.#storage = storage
    this.#snapshot = snapshot
    this.#predicate = predicate
    this.#timeSlice = timeSlice
    this.#budget = budget
  }

  async begin<T extends ScanResult>(
    entry: FragmentEntry,
    wanted: Wanted,
    among?: 'matches' | 'all',
  ): Promise<PendingResult<T>> {
    const { prefix, schema } = this.#snapshot
    const predicate = among === 'all' ? undefined : this.#predicate
    this.depth = prefetchDepth(this.#storage.content, schema, entry, columnsRead(predicate, wanted))
    if (typeof wanted === 'object') {
      const search = await beginSearch(this.#storage, prefix, schema, predicate, entry, wanted)
      return () => search(this.#timeSlice, this.#budget) as Promise<T>
    }
    const fragment = await readFragment(this.#storage, prefix, schema, predicate!, entry)
    return () => evaluateFragment(predicate!, fragment, wanted, this.#timeSlice, this.#budget!) as Promise<T>
  }

  end(): void {}
}

/** The columns that a scan reads of a fragment. */
function columnsRead(predicate: Predicate | undefined, wanted: Wanted): readonly number[] {
  const columns = predicate?.columns ?? []
  if (typeof wanted !== 'object' || columns.includes(wanted.column.path[0]!)) return columns
  return [...columns, wanted.column.path[0]!]
}

/** The worker that has read a fragment before and has it in its cache. */
const owners = new WeakMap<ScanPool, Map<string, number>>()
const mostOwned = 100_000

/** Scans fragments in workers as soon as they have started, and on this thread until then. */
class ThreadedScan implements Scan {
  readonly #here: Scan
  readonly #pool: ScanPool
  readonly #content: Content
  readonly #url: string
  readonly #snapshot: LoadedSnapshot
  readonly #predicate: Predicate | undefined
  readonly #budget: WorkBudget | undefined
  readonly #abort = new AbortController()
  readonly #signal: AbortSignal
  /** Rows given to each worker in this scan. */
  readonly #given: number[] = []
  readonly #owner: Map<string, number>
  #workerDepth = minPrefetchDepth

  constructor(
    here: Scan,
    pool: ScanPool,
    content: Content,
    url: string,
    snapshot: LoadedSnapshot,
    predicate: Predicate | undefined,
    timeSlice: TimeSlice,
    budget: WorkBudget | undefined,
  ) {
    this.#here = here
    this.#budget = budget
    this.#pool = pool
    this.#content = content
    this.#url = url
    this.#snapshot = snapshot
    this.#predicate = predicate
    this.#signal = timeSlice.signal
      ? AbortSignal.any([timeSlice.signal, this.#abort.signal])
      : this.#abort.signal
    // Each request to a worker adds a listener.
    setMaxListeners(0, this.#signal)
    const owner = owners.get(pool) ?? new Map<string, number>()
    owners.set(pool, owner)
    this.#owner = owner
  }

  get depth(): number {
    const { length } = this.#pool.ready
    // Each worker has as many requests waiting as it works on.
    return length === 0 ? this.#here.depth : length * this.#workerDepth * 2
  }

  async begin<T extends ScanResult>(
    entry: FragmentEntry,
    wanted: Wanted,
    among?: 'matches' | 'all',
  ): Promise<PendingResult<T>> {
    const workers = this.#pool.ready
    if (workers.length === 0) return this.#beginHere(entry, wanted, among)
    const predicate = among === 'all' ? undefined : this.#predicate
    const { prefix, schema, body } = this.#snapshot
    this.#workerDepth = prefetchDepth(this.#content, schema, entry, columnsRead(predicate, wanted))
    const worker = workers[this.#choose(workers.length, pathIn(prefix, entry.path), entry.rows)]!
    const answer = worker.scan(
      {
        content: this.#url,
        prefix,
        schema: body.schema,
        columns: body.columns,
        predicate: predicate?.text,
        now: predicate?.now,
        entry: layoutOfEntry(entry),
        wanted,
        depth: this.#workerDepth,
      },
      this.#signal,
      this.#budget,
    )
    // The answer is awaited in its turn. If the scan ends before, nobody hears of a failure.
    answer.catch(() => {})
    return async () => {
      try {
        return (await answer) as T
      } catch (error) {
        if (!(error instanceof WorkerLost)) throw error
        const begun = await this.#here.begin(entry, wanted as SearchTask, among!)
        return (await begun()) as T
      }
    }
  }

  end(): void {
    this.#abort.abort()
  }

  async #beginHere<T extends ScanResult>(
    entry: FragmentEntry,
    wanted: Wanted,
    among: 'matches' | 'all' | undefined,
  ): Promise<PendingResult<T>> {
    const begun = await this.#here.begin(entry, wanted as SearchTask, among!)
    return async () => {
      const start = performance.now()
      const result = (await begun()) as T
      this.#pool.spend(performance.now() - start)
      return result
    }
  }

  /** The worker that has the fragment in its cache, unless that would leave others idle. */
  #choose(workers: number, path: string, rows: number): number {
    const given = this.#given
    while (given.length < workers) given.push(0)
    const least = given.indexOf(Math.min(...given))
    const known = this.#owner.get(path)
    const chosen = known === undefined || given[known]! > given[least]! + 2 * rows ? least : known
    given[chosen]! += rows
    if (chosen !== known) {
      if (this.#owner.size >= mostOwned) this.#owner.clear()
      this.#owner.set(path, chosen)
    }
    return chosen
  }
}
