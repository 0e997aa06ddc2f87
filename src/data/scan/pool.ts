import type { Worker } from 'node:worker_threads'
import type { Bitmap } from '../bitmap.ts'
import type { ByteCache } from '../cache.ts'
import { fromFailure, type Reply, type ScanRequest, type WorkerSettings } from './message.ts'
import { startWorker } from './start-worker.ts'

/** A worker thread is not there, or died: what it was asked has to be found out in another way. */
export class WorkerLost extends Error {}

type Question = Omit<ScanRequest, 'id'>

interface Waiting {
  readonly resolve: (result: number | Bitmap) => void
  readonly reject: (error: unknown) => void
}

/** The part of the cache's bytes that goes to the workers: what is scanned is read by them. */
const workersShare = 0.75

/**
 * Worker threads that ask fragments of files. They are started by the first scan that is worth it, keep the
 * process alive only while they work, and end with `close`.
 */
export class ScanPool {
  /** Rows from which on a table is worth it. */
  readonly fewestRows: number
  readonly #threads: number
  readonly #cache: ByteCache
  #workers: Promise<readonly ScanWorker[]> | undefined

  /** `cache` is the one of the thread the pool belongs to: once workers run, it gives them most of its room. */
  constructor(threads: number, cache: ByteCache, fewestRows: number) {
    this.fewestRows = fewestRows
    this.#threads = threads
    this.#cache = cache
  }

  /** The workers, started if need be; none where they cannot be. */
  workers(): Promise<readonly ScanWorker[]> {
    this.#workers ??= this.#start()
    return this.#workers
  }

  async close(): Promise<void> {
    const workers = this.#workers
    this.#workers = Promise.resolve([])
    await Promise.all((await workers)?.map((worker) => worker.close()) ?? [])
  }

  async #start(): Promise<readonly ScanWorker[]> {
    const share = this.#cache.limit * workersShare
    const settings = { cacheBytes: Math.floor(share / this.#threads) }
    const workers = Array.from({ length: this.#threads }, () => new ScanWorker(settings))
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
