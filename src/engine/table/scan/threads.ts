import { setMaxListeners } from 'node:events'
import { isInline } from '../../../base/content/path.ts'
import { pathIn } from '../../../base/model/relative-path.ts'
import { anySignal } from '../../../base/scheduling/signals.ts'
import type { WorkBudget } from '../../predicate/index.ts'
import type { EncodedFile } from '../format/manifest.ts'
import { type FragmentEntry, layoutOfEntry, pathsOf } from '../format/manifest.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import type { Job } from '../job.ts'
import type { ScanResult } from './message.ts'
import type { ScanPool, ScanTask } from './pool.ts'

/** The worker that has a fragment in its cache, since it read the fragment before. */
const owners = new WeakMap<ScanPool, Map<string, number>>()
const maxOwned = 100_000

/** A fragment that a worker processes. */
export interface Sent<T> {
  /** Throws the errors of this thread, or `WorkerLost`: then this thread must do the work. */
  readonly answer: Promise<T>
  /** Returns the memory of an answer that is a file. It must not be used afterwards. */
  giveBack(file: EncodedFile): void
}

/** A worker's task for a fragment. */
type FragmentTask = Pick<ScanTask, 'predicate' | 'now' | 'wanted' | 'depth'>

/**
 * The worker threads for some work on fragments of a snapshot; undefined if that is not worthwhile. `work` is the cost
 * of a row, relative to evaluating a predicate on it.
 */
export async function threadsFor(
  job: Job,
  snapshot: LoadedSnapshot,
  work: number,
): Promise<FragmentThreads | undefined> {
  const { pool, content } = job.storage
  const isLarge = pool && (snapshot.rows + snapshot.deletedRows) * work >= pool.minRows
  if (!isLarge || content.url === undefined) return undefined
  await pool.enter()
  return new FragmentThreads(pool, content.url, snapshot, job.signal)
}

/** Sends fragments of a snapshot to worker threads as soon as these have started. */
export class FragmentThreads {
  readonly #pool: ScanPool
  readonly #url: string
  readonly #snapshot: LoadedSnapshot
  readonly #abort = new AbortController()
  readonly #signal: AbortSignal
  /** Rows given to each worker. */
  readonly #given: number[] = []
  readonly #owner: Map<string, number>

  constructor(pool: ScanPool, url: string, snapshot: LoadedSnapshot, signal: AbortSignal | undefined) {
    this.#pool = pool
    this.#url = url
    this.#snapshot = snapshot
    this.#signal = anySignal(signal, this.#abort.signal)
    // Each request to a worker adds a listener.
    setMaxListeners(0, this.#signal)
    this.#owner = owners.get(pool) ?? new Map<string, number>()
    owners.set(pool, this.#owner)
  }

  /** How many workers have started. */
  get workers(): number {
    return this.#pool.ready.length
  }

  /** Sends a task for a fragment to a worker. Undefined if none has started, or none can read the fragment. */
  send<T extends ScanResult>(
    entry: FragmentEntry,
    task: FragmentTask,
    budgets: readonly WorkBudget[],
  ): Sent<T> | undefined {
    const workers = this.#pool.ready
    // Inline objects are out of reach of the workers.
    if (workers.length === 0 || pathsOf(entry).some(isInline)) return undefined
    const { prefix, body } = this.#snapshot
    const worker = workers[this.#choose(workers.length, pathIn(prefix, entry.path), entry.rows)]!
    const { schema, columns } = body
    const request = { ...task, content: this.#url, prefix, schema, columns, entry: layoutOfEntry(entry) }
    const answer = worker.scan(request, this.#signal, budgets)
    // It may be awaited later. If the work ends before, a failure must not be an unhandled rejection.
    answer.catch(() => {})
    return { answer: answer as Promise<T>, giveBack: (file) => worker.giveBack(file) }
  }

  /** Adds the milliseconds that this thread took. */
  spend(milliseconds: number): void {
    this.#pool.spend(milliseconds)
  }

  /** Stops work whose results are not needed any more. */
  end(): void {
    this.#abort.abort()
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
      if (this.#owner.size >= maxOwned) this.#owner.clear()
      this.#owner.set(path, chosen)
    }
    return chosen
  }
}
