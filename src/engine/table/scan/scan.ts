import { performance } from '../../../base/time.ts'
import type { Bitmap } from '../../arrow/bitmap.ts'
import type { Predicate, WorkBudget } from '../../predicate/index.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import { IndexLookup } from '../indexes/index-lookup.ts'
import { type Candidates, IndexedRows, lookupDepth } from '../indexes/indexed-rows.ts'
import type { Job } from '../job.ts'
import { beginOrder, noneBest } from '../read/order-fragment.ts'
import { beginSearch } from '../search/begin-search.ts'
import { evaluateFragment, readFragment } from './evaluate.ts'
import type {
  FragmentBest,
  FragmentNearest,
  OrderTask,
  ScanResult,
  ScanResultKind,
  SearchTask,
} from './message.ts'
import { WorkerLost } from './pool.ts'
import { minPrefetchDepth, prefetchDepth } from './prefetch-depth.ts'
import { type FragmentThreads, threadsFor } from './threads.ts'

/** The result of a fragment whose scan has begun. Results, and so errors, are awaited in fragment order. */
export type PendingResult<T> = () => Promise<T>

type ScanTask = ScanResultKind | SearchTask | OrderTask

/** Evaluates a predicate on fragments of a snapshot, or searches or orders them, on worker threads if worthwhile. */
export interface Scan {
  /** How many fragments to prefetch now. */
  readonly depth: number
  /** Begins to scan a fragment. This thread reads it at once, and evaluates it when the result is awaited. */
  begin(entry: FragmentEntry, wanted: 'count'): Promise<PendingResult<number>>
  begin(entry: FragmentEntry, wanted: 'rows'): Promise<PendingResult<Bitmap>>
  /** Begins to search a fragment, among the rows that match unless all are wanted. */
  begin(
    entry: FragmentEntry,
    wanted: SearchTask,
    among: 'matches' | 'all',
  ): Promise<PendingResult<FragmentNearest>>
  /** Begins to find the first rows of a fragment, among the rows that match unless all are wanted. */
  begin(
    entry: FragmentEntry,
    wanted: OrderTask,
    among: 'matches' | 'all',
  ): Promise<PendingResult<FragmentBest>>
  /** Stops scans whose results are not needed any more. */
  end(): void
}

/** `work` is the cost of a row, relative to evaluating a predicate on it. */
export async function startScan(
  job: Job,
  snapshot: LoadedSnapshot,
  predicate: Predicate | undefined,
  work = 1,
): Promise<Scan> {
  const here = new LocalScan(job, snapshot, predicate)
  const start = async () => {
    const threads = await threadsFor(job, snapshot, work)
    return threads ? new ThreadedScan(here, threads) : here
  }
  const lookup = predicate && IndexLookup.of(job.storage, snapshot, predicate)
  if (predicate === undefined || lookup === undefined) return start()
  return new IndexedScan(new IndexedRows(job, snapshot, predicate, lookup, here.budget!), here, start)
}

/** Looks for rows in the indexes of fragments. Scans the fragments whose indexes do not help. */
class IndexedScan implements Scan {
  readonly #indexed: IndexedRows
  readonly #whole: LocalScan
  readonly #start: () => Promise<Scan>
  #starting: Promise<Scan> | undefined
  #started: Scan | undefined
  #depth = minPrefetchDepth

  /** `start` starts the scan of other fragments, of which `whole` tells what is read. */
  constructor(indexed: IndexedRows, whole: LocalScan, start: () => Promise<Scan>) {
    this.#indexed = indexed
    this.#whole = whole
    this.#start = start
  }

  get depth(): number {
    return this.#started?.depth ?? this.#depth
  }

  async begin<T extends ScanResult>(
    entry: FragmentEntry,
    wanted: ScanTask,
    among?: 'matches' | 'all',
  ): Promise<PendingResult<T>> {
    // A fragment may have to be scanned after all, so no more are begun at once than in a scan.
    this.#depth = Math.min(lookupDepth, this.#whole.depthFor(entry, wanted))
    const isServed = typeof wanted !== 'object' || ('keys' in wanted && among !== 'all')
    const found = isServed ? await this.#indexed.candidates(entry) : undefined
    if (found) return () => this.#finish(entry, wanted, found) as Promise<T>
    this.#starting ??= this.#start()
    this.#started = await this.#starting
    return (await this.#started.begin(entry, wanted as SearchTask, among!)) as unknown as PendingResult<T>
  }

  async #finish(entry: FragmentEntry, wanted: ScanTask, found: Candidates): Promise<ScanResult> {
    if (wanted === 'count') return this.#indexed.count(found)
    const rows = await this.#indexed.select(entry, found)
    if (typeof wanted !== 'object') return rows
    if (rows.length === 0) return noneBest
    const { job, snapshot } = this.#whole
    const order = await beginOrder(job.storage, snapshot, undefined, entry, wanted as OrderTask, rows)
    return order(job, undefined)
  }

  end(): void {
    this.#started?.end()
  }
}

class LocalScan implements Scan {
  depth = minPrefetchDepth
  readonly job: Job
  readonly snapshot: LoadedSnapshot
  readonly predicate: Predicate | undefined
  readonly budget: WorkBudget | undefined

  constructor(job: Job, snapshot: LoadedSnapshot, predicate: Predicate | undefined) {
    this.job = job
    this.snapshot = snapshot
    this.predicate = predicate
    this.budget = predicate?.budget()
  }

  async begin<T extends ScanResult>(
    entry: FragmentEntry,
    wanted: ScanTask,
    among?: 'matches' | 'all',
  ): Promise<PendingResult<T>> {
    const { job, snapshot, budget } = this
    const { storage } = job
    const predicate = among === 'all' ? undefined : this.predicate
    this.depth = this.depthFor(entry, wanted, among)
    if (typeof wanted === 'object') {
      const work = await ('keys' in wanted
        ? beginOrder(storage, snapshot, predicate, entry, wanted)
        : beginSearch(storage, snapshot, predicate, entry, wanted))
      return () => work(job, budget) as Promise<T>
    }
    const fragment = await readFragment(storage, snapshot, predicate!, entry)
    return () => evaluateFragment(predicate!, fragment, wanted, job, budget!) as Promise<T>
  }

  /** How many fragments like this one to prefetch. */
  depthFor(entry: FragmentEntry, wanted: ScanTask, among?: 'matches' | 'all'): number {
    const columns = columnsRead(among === 'all' ? undefined : this.predicate, wanted)
    return prefetchDepth(this.job.storage.content, this.snapshot.schema, entry, columns)
  }

  end(): void {}
}

/** The columns that a scan reads of a fragment. */
function columnsRead(predicate: Predicate | undefined, wanted: ScanTask): readonly number[] {
  const columns = predicate?.columns ?? []
  if (typeof wanted !== 'object') return columns
  const others = 'keys' in wanted ? wanted.keys : [wanted.column]
  return [...new Set([...columns, ...others.map(({ path }) => path[0]!)])]
}

/** Scans fragments in workers as soon as they have started, and on this thread until then. */
class ThreadedScan implements Scan {
  readonly #here: LocalScan
  readonly #threads: FragmentThreads
  readonly #budgets: readonly WorkBudget[]
  #workerDepth = minPrefetchDepth

  constructor(here: LocalScan, threads: FragmentThreads) {
    this.#here = here
    this.#threads = threads
    this.#budgets = here.budget === undefined ? [] : [here.budget]
  }

  get depth(): number {
    const { workers } = this.#threads
    // Each worker has one request waiting for each one in progress.
    return workers === 0 ? this.#here.depth : workers * this.#workerDepth * 2
  }

  async begin<T extends ScanResult>(
    entry: FragmentEntry,
    wanted: ScanTask,
    among?: 'matches' | 'all',
  ): Promise<PendingResult<T>> {
    const { job, snapshot } = this.#here
    const predicate = among === 'all' ? undefined : this.#here.predicate
    const { content } = job.storage
    const depth = prefetchDepth(content, snapshot.schema, entry, columnsRead(predicate, wanted))
    const task = { predicate: predicate?.text, now: predicate?.now, wanted, depth }
    const sent = this.#threads.send<T>(entry, task, this.#budgets)
    if (sent === undefined) return this.#beginHere(entry, wanted, among)
    this.#workerDepth = depth
    return async () => {
      try {
        return await sent.answer
      } catch (error) {
        if (!(error instanceof WorkerLost)) throw error
        const begun = await this.#here.begin(entry, wanted as SearchTask, among!)
        return (await begun()) as T
      }
    }
  }

  end(): void {
    this.#threads.end()
  }

  async #beginHere<T extends ScanResult>(
    entry: FragmentEntry,
    wanted: ScanTask,
    among: 'matches' | 'all' | undefined,
  ): Promise<PendingResult<T>> {
    const begun = await this.#here.begin(entry, wanted as SearchTask, among!)
    return async () => {
      const start = performance.now()
      const result = (await begun()) as T
      this.#threads.spend(performance.now() - start)
      return result
    }
  }
}
