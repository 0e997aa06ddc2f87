import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Worker, type WorkerOptions } from 'node:worker_threads'
import type { Bitmap } from '../../arrow/bitmap.ts'
import type { ByteCache } from '../storage/cache.ts'
import { fromFailure, type Reply, type ScanRequest, type WorkerSettings } from './message.ts'

/** A worker thread is not there, or died: what it was asked has to be found out in another way. */
export class WorkerLost extends Error {}

type Question = Omit<ScanRequest, 'id'>

interface Waiting {
  readonly resolve: (result: number | Bitmap) => void
  readonly reject: (error: unknown) => void
}

/** The part of the cache's bytes that goes to the workers: what is scanned is read by them. */
const workersShare = 0.75

export interface PoolOptions {
  readonly threads: number
  /** Rows from which on a table is worth it. */
  readonly fewestRows: number
  /** Milliseconds of scans before workers are started; with 0 the first scan waits for them. */
  readonly startAfter: number
}

/**
 * Worker threads that ask fragments of files. They are started once scans have taken as long as that costs: two of
 * them take 330 ms of processor time, and ten million rows of a cold table were counted after 520 ms with them where
 * it takes 240 ms without. They keep the process alive only while they work, and end with `close`.
 */
export class ScanPool {
  readonly fewestRows: number
  readonly #threads: number
  readonly #startAfter: number
  readonly #cache: ByteCache
  #started: Promise<void> | undefined
  #workers: readonly ScanWorker[] = []
  #ready: readonly ScanWorker[] = []
  #spent = 0
  #isClosed = false

  /** `cache` is the one of the thread the pool belongs to: once workers run, it gives them most of its room. */
  constructor({ threads, fewestRows, startAfter }: PoolOptions, cache: ByteCache) {
    this.fewestRows = fewestRows
    this.#threads = threads
    this.#startAfter = startAfter
    this.#cache = cache
  }

  /** The workers, once they are there; none before, and where they cannot be started. */
  get ready(): readonly ScanWorker[] {
    return this.#ready
  }

  /** A scan begins that workers might take part in. */
  async enter(): Promise<void> {
    if (this.#startAfter === 0) await this.#start()
  }

  /** Says how long scans took without workers, in milliseconds. */
  spend(milliseconds: number): void {
    this.#spent += milliseconds
    if (this.#spent >= this.#startAfter) void this.#start()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#ready = []
    // Those that are only being started, too: nobody has to wait until they are there.
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
  /** Whether it could be started. */
  readonly ready: Promise<boolean>
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0
  #lost = false

  constructor(settings: WorkerSettings) {
    this.#worker = startWorker({ workerData: settings, name: 'tabularium scan' })
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

  /** Asks a fragment. Throws what asking it here would, the signal's reason, or `WorkerLost`. */
  ask(question: Question, signal: AbortSignal): Promise<number | Bitmap> {
    if (signal.aborted) return Promise.reject(signal.reason)
    if (this.#lost) return Promise.reject(new WorkerLost())
    const id = ++this.#lastId
    const { promise, resolve, reject } = withResolvers<number | Bitmap>()
    const cancel = () => {
      this.#worker.postMessage({ cancel: id })
      this.#settle(id)?.reject(signal.reason)
    }
    const forget = () => signal.removeEventListener('abort', cancel)
    signal.addEventListener('abort', cancel)
    if (this.#waiting.size === 0) this.#worker.ref()
    this.#waiting.set(id, { resolve, reject })
    this.#worker.postMessage({ ...question, id })
    promise.then(forget, forget)
    return promise
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }

  #answered(reply: Exclude<Reply, 'ready'>): void {
    const waiting = this.#settle(reply.id)
    if ('failure' in reply) waiting?.reject(fromFailure(reply.failure))
    else waiting?.resolve(reply.result)
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

/** Starts the thread that `worker.ts` is the beginning of. */
function startWorker(options: WorkerOptions): Worker {
  const { url } = import.meta
  if (!url.endsWith('.ts')) return new Worker(new URL('./table/scan/worker.js', url), options)
  // From sources, as in tests, a thread has to learn first how to read them.
  const tsx = pathToFileURL(createRequire(url).resolve('tsx/package.json'))
  const loader = new URL('dist/esm/api/index.mjs', tsx)
  const first = `import { register } from '${loader}'; register(); await import('${new URL('./worker.ts', url)}')`
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(first)}`), options)
}
