import type { Worker } from 'node:worker_threads'
import { startWorker } from '../../../base/scheduling/start-worker.ts'
import type { WorkBudget } from '../../predicate/index.ts'
import type { EncodedFile } from '../format/manifest.ts'
import type { ByteCache } from '../storage/cache.ts'
import {
  fromFailure,
  type GivenBack,
  type Reply,
  type ScanRequest,
  type ScanResult,
  type WorkerSettings,
} from './message.ts'
import { sharedMemoryOf } from './shared-blocks.ts'

/** The error for a request whose worker thread is gone. The caller then scans the fragment itself. */
export class WorkerLost extends Error {}

export type ScanTask = Omit<ScanRequest, 'id' | 'steps'>

interface Waiting {
  readonly resolve: (result: ScanResult) => void
  readonly reject: (error: unknown) => void
  readonly budgets: readonly WorkBudget[]
}

/** The share of the cache for the workers, since they read what is scanned. */
const workersShare = 0.75

export interface PoolOptions {
  readonly threads: number
  /** Rows from which on workers scan a table. */
  readonly minRows: number
  /** Milliseconds of scans before workers are started; with 0 the first scan waits for them. */
  readonly startAfter: number
}

/**
 * Worker threads that scan fragments. The pool starts them after scans have taken as long as starting costs. Two
 * workers take 330 ms of processor time to start: a first count of ten million rows took 520 ms with them and 240 ms
 * without. Workers keep the process alive only while they work, and end with `close`.
 */
export class ScanPool {
  readonly minRows: number
  readonly #threads: number
  readonly #startAfter: number
  readonly #cache: ByteCache
  #started: Promise<void> | undefined
  #workers: readonly ScanWorker[] = []
  #ready: readonly ScanWorker[] = []
  #spent = 0
  #isClosed = false

  /** `cache` belongs to the thread of the pool. Once workers run, it gives most of its bytes to them. */
  constructor({ threads, minRows, startAfter }: PoolOptions, cache: ByteCache) {
    this.minRows = minRows
    this.#threads = threads
    this.#startAfter = startAfter
    this.#cache = cache
  }

  /** The bytes of all caches of those threads that scan: of the workers once they have started. */
  get cacheBytes(): number {
    return this.#ready.length === 0
      ? this.#cache.limit
      : (this.#cache.limit * workersShare) / (1 - workersShare)
  }

  /** The started workers; empty before, and if workers cannot start. */
  get ready(): readonly ScanWorker[] {
    return this.#ready
  }

  /** Announces a scan that workers might take part in. */
  async enter(): Promise<void> {
    if (this.#startAfter === 0) await this.#start()
  }

  /** Adds the milliseconds that a scan took without workers. */
  spend(milliseconds: number): void {
    this.#spent += milliseconds
    if (this.#spent >= this.#startAfter) void this.#start()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#ready = []
    // Workers that are still starting are closed, too, so that nothing waits for them.
    await Promise.all(this.#workers.map((worker) => worker.close()))
    await this.#started
  }

  #start(): Promise<void> {
    this.#started ??= this.#startWorkers().then(
      (workers) => {
        if (!this.#isClosed) this.#ready = workers
      },
      () => {},
    )
    return this.#started
  }

  async #startWorkers(): Promise<readonly ScanWorker[]> {
    if (this.#isClosed) return []
    const share = this.#cache.limit * workersShare
    const settings = { cacheBytes: Math.floor(share / this.#threads) }
    const workers = Array.from({ length: this.#threads }, () => new ScanWorker(settings))
    this.#workers = workers
    const ready = await Promise.all(workers.map((worker) => worker.ready))
    if (ready.every((is) => is)) {
      this.#cache.limit -= share
      return workers
    }
    await Promise.all(workers.map((worker) => worker.close()))
    return []
  }
}

export class ScanWorker {
  /** Whether the worker could be started. */
  readonly ready: Promise<boolean>
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0
  #lost = false

  constructor(settings: WorkerSettings) {
    this.#worker = startWorker('engine/table/scan/worker', { workerData: settings, name: 'tabularium scan' })
    this.ready = new Promise((resolve) => {
      this.#worker.on('message', (reply: Reply) => {
        if (reply === 'ready') resolve(true)
        else this.#answered(reply)
      })
      // An error is followed by the exit.
      this.#worker.on('error', () => {})
      this.#worker.on('exit', () => {
        resolve(false)
        this.#end()
      })
    }).then((is) => {
      if (this.#waiting.size === 0) this.#worker.unref()
      return is as boolean
    })
  }

  /**
   * Scans a fragment, and subtracts its work from the budgets. Throws a scan's errors, the signal's reason, or
   * `WorkerLost`.
   */
  scan(task: ScanTask, signal: AbortSignal, budgets: readonly WorkBudget[]): Promise<ScanResult> {
    if (signal.aborted) return Promise.reject(signal.reason)
    if (this.#lost) return Promise.reject(new WorkerLost())
    const id = ++this.#lastId
    const { promise, resolve, reject } = withResolvers<ScanResult>()
    const cancel = () => {
      this.#worker.postMessage({ cancel: id })
      this.#settle(id)?.reject(signal.reason)
    }
    const forget = () => signal.removeEventListener('abort', cancel)
    signal.addEventListener('abort', cancel)
    if (this.#waiting.size === 0) this.#worker.ref()
    this.#waiting.set(id, { resolve, reject, budgets })
    const steps = budgets.map(({ left }) => left)
    this.#worker.postMessage({ ...task, id, steps } satisfies ScanRequest)
    promise.then(forget, forget)
    return promise
  }

  /** Returns the shared memory of a file, which must not be used any more. */
  giveBack({ parts }: EncodedFile): void {
    const givenBack = sharedMemoryOf(parts)
    if (givenBack.size > 0 && !this.#lost) this.#worker.postMessage({ givenBack } satisfies GivenBack)
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }

  #answered(reply: Exclude<Reply, 'ready'>): void {
    const waiting = this.#settle(reply.id)
    if (waiting === undefined) {
      if ('result' in reply && typeof reply.result === 'object' && 'parts' in reply.result)
        this.giveBack(reply.result)
      return
    }
    if ('failure' in reply) waiting.reject(fromFailure(reply.failure))
    else {
      try {
        for (const [i, budget] of waiting.budgets.entries()) budget.take(reply.steps[i]!)
        waiting.resolve(reply.result)
      } catch (error) {
        waiting.reject(error)
      }
    }
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (this.#waiting.size === 0) this.#worker.unref()
    return waiting
  }

  #end(): void {
    this.#lost = true
    for (const { reject } of this.#waiting.values()) reject(new WorkerLost())
    this.#waiting.clear()
  }
}

function withResolvers<T>() {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
