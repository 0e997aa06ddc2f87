import { setMaxListeners } from 'node:events'
import type { Bitmap } from '../../arrow/bitmap.ts'
import type { Predicate } from '../../predicate/index.ts'
import type { Pace } from '../../scheduling/time-slice.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import type { Storage } from '../storage/objects.ts'
import { evaluateFragment, readFragment } from './fragment.ts'
import type { Wanted } from './message.ts'
import { type ScanPool, WorkerLost } from './pool.ts'
import { bytesOf, fewestAhead, fragmentsAhead } from './prefetch-depth.ts'

/** What became of a fragment that was begun: awaited in the order of the fragments, so that errors are, too. */
export type Begun<T> = () => Promise<T>

/** Asks fragments of one snapshot a predicate: in worker threads when that is worth it, else here. */
export interface Scan {
  /** How many fragments to have begun at once, at the moment. */
  readonly depth: number
  /** Begins with a fragment. Here that means to read it; it is evaluated when it is awaited. */
  begin(entry: FragmentEntry, wanted: 'count'): Promise<Begun<number>>
  begin(entry: FragmentEntry, wanted: 'rows'): Promise<Begun<Bitmap>>
  /** Stops what was begun and is not wanted any more. */
  end(): void
}

export async function startScan(
  storage: Storage,
  snapshot: LoadedSnapshot,
  predicate: Predicate,
  pace: Pace,
): Promise<Scan> {
  const { pool, content } = storage
  const here = new LocalScan(storage, snapshot, predicate, pace)
  const isLarge = pool && snapshot.rows + snapshot.deletedRows >= pool.fewestRows
  if (!isLarge || content.directory === undefined) return here
  await pool.enter()
  return new ThreadedScan(here, pool, content.directory, snapshot, predicate, pace)
}

class LocalScan implements Scan {
  depth = fewestAhead
  readonly #storage: Storage
  readonly #snapshot: LoadedSnapshot
  readonly #predicate: Predicate
  readonly #pace: Pace

  constructor(storage: Storage, snapshot: LoadedSnapshot, predicate: Predicate, pace: Pace) {
    this.#storage = storage
    this.#snapshot = snapshot
    this.#predicate = predicate
    this.#pace = pace
  }

  async begin<T extends number | Bitmap>(entry: FragmentEntry, wanted: Wanted): Promise<Begun<T>> {
    const { prefix, schema } = this.#snapshot
    this.depth = fragmentsAhead(bytesOf(entry, this.#predicate.columns))
    const fragment = await readFragment(this.#storage, prefix, schema, this.#predicate, entry)
    return () => evaluateFragment(this.#predicate, fragment, wanted, this.#pace) as Promise<T>
  }

  end(): void {}
}

/** Which worker has read a fragment before, and thus keeps it. */
const owners = new WeakMap<ScanPool, Map<string, number>>()
const mostOwned = 100_000

/** Asks workers as soon as there are any; until then fragments are asked here. */
class ThreadedScan implements Scan {
  readonly #here: Scan
  readonly #pool: ScanPool
  readonly #directory: string
  readonly #snapshot: LoadedSnapshot
  readonly #predicate: Predicate
  readonly #abort = new AbortController()
  readonly #signal: AbortSignal
  /** Rows given to each worker in this scan. */
  readonly #given: number[] = []
  readonly #owner: Map<string, number>

  constructor(
    here: Scan,
    pool: ScanPool,
    directory: string,
    snapshot: LoadedSnapshot,
    predicate: Predicate,
    pace: Pace,
  ) {
    this.#here = here
    this.#pool = pool
    this.#directory = directory
    this.#snapshot = snapshot
    this.#predicate = predicate
    this.#signal = pace.signal ? AbortSignal.any([pace.signal, this.#abort.signal]) : this.#abort.signal
    // Each question to a worker listens.
    setMaxListeners(0, this.#signal)
    const owner = owners.get(pool) ?? new Map<string, number>()
    owners.set(pool, owner)
    this.#owner = owner
  }

  get depth(): number {
    const { length } = this.#pool.ready
    // As many again are on their way to each worker.
    return length === 0 ? this.#here.depth : length * this.#here.depth * 2
  }

  async begin<T extends number | Bitmap>(entry: FragmentEntry, wanted: Wanted): Promise<Begun<T>> {
    const workers = this.#pool.ready
    if (workers.length === 0) return this.#beginHere(entry, wanted)
    const { prefix, body } = this.#snapshot
    const { statistics: _, ...place } = entry
    const worker = workers[this.#choose(workers.length, prefix + entry.path, entry.rows)]!
    const answer = worker.ask(
      {
        directory: this.#directory,
        prefix,
        schema: body.schema,
        predicate: this.#predicate.text,
        now: this.#predicate.now,
        entry: place,
        wanted,
      },
      this.#signal,
    )
    // It is awaited in its turn; should the scan end before, its failure is nobody's.
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

  async #beginHere<T extends number | Bitmap>(entry: FragmentEntry, wanted: Wanted): Promise<Begun<T>> {
    const begun = await this.#here.begin(entry, wanted as 'rows')
    return async () => {
      const start = performance.now()
      const result = (await begun()) as T
      this.#pool.spend(performance.now() - start)
      return result
    }
  }

  /** The worker that keeps the fragment, unless that leaves others idle. */
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
