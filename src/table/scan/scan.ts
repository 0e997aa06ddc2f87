import { setMaxListeners } from 'node:events'
import type { Bitmap } from '../../arrow/bitmap.ts'
import type { Predicate, WorkBudget } from '../../predicate/index.ts'
import type { TimeSlice } from '../../scheduling/time-slice.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import type { Storage } from '../storage/objects.ts'
import { evaluateFragment, readFragment } from './fragment.ts'
import type { ScanResultKind } from './message.ts'
import { type ScanPool, WorkerLost } from './pool.ts'
import { bytesOf, minPrefetchDepth, prefetchDepth } from './prefetch-depth.ts'

/** The result of a fragment whose scan has begun. Results are awaited in the order of the fragments, and so are errors. */
export type PendingResult<T> = () => Promise<T>

/** Evaluates a predicate on fragments of one snapshot: in worker threads if that is worthwhile, else on this thread. */
export interface Scan {
  /** How many fragments to prefetch at the moment. */
  readonly depth: number
  /** Begins to scan a fragment. On this thread it is read at once, and evaluated when the result is awaited. */
  begin(entry: FragmentEntry, wanted: 'count'): Promise<PendingResult<number>>
  begin(entry: FragmentEntry, wanted: 'rows'): Promise<PendingResult<Bitmap>>
  /** Stops scans whose results nobody awaits. */
  end(): void
}

export async function startScan(
  storage: Storage,
  snapshot: LoadedSnapshot,
  predicate: Predicate,
  timeSlice: TimeSlice,
): Promise<Scan> {
  const { pool, content } = storage
  const budget = predicate.budget()
  const here = new LocalScan(storage, snapshot, predicate, timeSlice, budget)
  const isLarge = pool && snapshot.rows + snapshot.deletedRows >= pool.fewestRows
  if (!isLarge || content.url === undefined) return here
  await pool.enter()
  return new ThreadedScan(here, pool, content.url, snapshot, predicate, timeSlice, budget)
}

class LocalScan implements Scan {
  depth = minPrefetchDepth
  readonly #storage: Storage
  readonly #snapshot: LoadedSnapshot
  readonly #predicate: Predicate
  readonly #timeSlice: TimeSlice
  readonly #budget: WorkBudget

  constructor(
    storage: Storage,
    snapshot: LoadedSnapshot,
    predicate: Predicate,
    timeSlice: TimeSlice,
    budget: WorkBudget,
  ) {
    this.#storage = storage
    this.#snapshot = snapshot
    this.#predicate = predicate
    this.#timeSlice = timeSlice
    this.#budget = budget
  }

  async begin<T extends number | Bitmap>(
    entry: FragmentEntry,
    wanted: ScanResultKind,
  ): Promise<PendingResult<T>> {
    const { prefix, schema } = this.#snapshot
    this.depth = prefetchDepth(bytesOf(entry, this.#predicate.columns))
    const fragment = await readFragment(this.#storage, prefix, schema, this.#predicate, entry)
    return () =>
      evaluateFragment(this.#predicate, fragment, wanted, this.#timeSlice, this.#budget) as Promise<T>
  }

  end(): void {}
}

/** The worker that has read a fragment before and has it in its cache. */
const owners = new WeakMap<ScanPool, Map<string, number>>()
const mostOwned = 100_000

/** Scans fragments in workers as soon as they have started, and on this thread until then. */
class ThreadedScan implements Scan {
  readonly #here: Scan
  readonly #pool: ScanPool
  readonly #content: string
  readonly #snapshot: LoadedSnapshot
  readonly #predicate: Predicate
  readonly #budget: WorkBudget
  readonly #abort = new AbortController()
  readonly #signal: AbortSignal
  /** Rows given to each worker in this scan. */
  readonly #given: number[] = []
  readonly #owner: Map<string, number>

  constructor(
    here: Scan,
    pool: ScanPool,
    content: string,
    snapshot: LoadedSnapshot,
    predicate: Predicate,
    timeSlice: TimeSlice,
    budget: WorkBudget,
  ) {
    this.#here = here
    this.#budget = budget
    this.#pool = pool
    this.#content = content
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
    return length === 0 ? this.#here.depth : length * this.#here.depth * 2
  }

  async begin<T extends number | Bitmap>(
    entry: FragmentEntry,
    wanted: ScanResultKind,
  ): Promise<PendingResult<T>> {
    const workers = this.#pool.ready
    if (workers.length === 0) return this.#beginHere(entry, wanted)
    const { prefix, body } = this.#snapshot
    const { statistics: _, ...place } = entry
    const worker = workers[this.#choose(workers.length, prefix + entry.path, entry.rows)]!
    const answer = worker.scan(
      {
        content: this.#content,
        prefix,
        schema: body.schema,
        predicate: this.#predicate.text,
        now: this.#predicate.now,
        entry: place,
        wanted,
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
        const begun = await this.#here.begin(entry, wanted as 'rows')
        return (await begun()) as T
      }
    }
  }

  end(): void {
    this.#abort.abort()
  }

  async #beginHere<T extends number | Bitmap>(
    entry: FragmentEntry,
    wanted: ScanResultKind,
  ): Promise<PendingResult<T>> {
    const begun = await this.#here.begin(entry, wanted as 'rows')
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
