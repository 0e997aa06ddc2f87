import { semaphore } from '../../base/scheduling/semaphore.ts'
import { unrefTimer } from '../../base/scheduling/unref-timer.ts'
import { clearTimeout, setTimeout, type Timer } from '../../base/time.ts'
import { Bridge } from './bridge.ts'
import { fromLance } from './errors.ts'
import { endedError, ProcessEnded } from './isolated/ended.ts'
import { type IsolationOptions, isolationOf } from './isolated/options.ts'
import { LanceProcess, type ProcessUse, sharedBy } from './isolated/process.ts'
import { inThisProcess, type LanceRuntime } from './runtime.ts'
import { LanceSession } from './session.ts'

/** How an engine may use memory and processes. */
export interface LanceOptions {
  /** Most bytes of indexes and of metadata that Lance keeps in memory. */
  readonly cacheBytes: number
  /** Runs Lance in a process of its own. Default: in this one. */
  readonly isolation?: IsolationOptions | undefined
  /** Is told what becomes of such processes. */
  readonly use: ProcessUse
}

/** What is asked of a dataset. */
export interface Asked {
  /** What errors call the dataset. */
  readonly shown: string
  readonly isChange: boolean
  readonly signal: AbortSignal | undefined
}

/**
 * The session that requests share, and that of requests whose process ended. These are done once more in a new process, one
 * after the other, so that only the one at fault fails.
 */
export class LanceSessions {
  readonly #cacheBytes: number
  readonly #start: () => LanceRuntime
  #bridge = new Bridge()
  #shared: LanceSession | undefined
  #users = 0
  #idle: Timer | undefined
  readonly #leaving = new Set<Promise<void>>()
  /** The process for requests that are done once more, one by one. */
  #alone: LanceSession | undefined
  readonly #again = semaphore(1)
  #waiting = 0

  constructor({ cacheBytes, isolation, use }: LanceOptions) {
    this.#cacheBytes = cacheBytes
    this.#start = starterOf(isolation, use)
  }

  /** Does something, once more where its process ended and that may be the fault of others. */
  async run<T>(asked: Asked, work: (session: LanceSession) => Promise<T>): Promise<T> {
    asked.signal?.throwIfAborted()
    try {
      const session = this.enter()
      try {
        return await work(session)
      } finally {
        this.leave()
      }
    } catch (error) {
      if (!(error instanceof ProcessEnded) || error.isAtFault) throw errorOf(error, asked)
    }
    return this.runAlone(asked, work)
  }

  /** Does something in a process that nothing else uses meanwhile. */
  async runAlone<T>(asked: Asked, work: (session: LanceSession) => Promise<T>): Promise<T> {
    this.#waiting++
    let isTaken = false
    let isDone = false
    try {
      await this.#again.acquire(asked.signal)
      isTaken = true
      this.#alone ??= this.#begin()
      const found = await work(this.#alone)
      isDone = true
      return found
    } catch (error) {
      throw errorOf(error, asked)
    } finally {
      this.#waiting--
      if (isTaken) await this.#leaveAlone(isDone)
    }
  }

  /** Leaves the process to the next one that waits for it. What failed may go on there, so that ends it. */
  async #leaveAlone(isDone: boolean): Promise<void> {
    const session = this.#alone!
    if (this.#waiting === 0 || !isDone || session.runtime.hasEnded || session.runtime.isWorn) {
      this.#alone = undefined
      await this.#end(session)
    }
    this.#again.release()
  }

  /** The session that is shared, until {@link leave}. */
  enter(): LanceSession {
    clearTimeout(this.#idle)
    if (this.#shared?.runtime.hasEnded) {
      void this.#end(this.#shared)
      this.#shared = undefined
    }
    this.#shared ??= this.#begin()
    this.#users++
    return this.#shared
  }

  leave(): void {
    this.#users--
    if (this.#users === 0 && this.#shared) this.#rest(this.#shared)
  }

  /** Ends all processes, and closes the listener. Later requests would begin anew. */
  async close(): Promise<void> {
    clearTimeout(this.#idle)
    if (this.#shared) void this.#end(this.#shared)
    this.#shared = undefined
    await Promise.all(this.#leaving)
    const bridge = this.#bridge
    this.#bridge = new Bridge()
    await bridge.close()
  }

  #begin(): LanceSession {
    return new LanceSession(this.#start(), this.#bridge, this.#cacheBytes)
  }

  #end(session: LanceSession): Promise<void> {
    const leaving = session.close().finally(() => this.#leaving.delete(leaving))
    this.#leaving.add(leaving)
    return leaving
  }

  /** Ends a process that nobody uses: at once when it took much memory, or else after a while. */
  #rest(session: LanceSession): void {
    const { idleMillis, isWorn } = session.runtime
    if (idleMillis === Number.POSITIVE_INFINITY) return
    const end = () => {
      this.#shared = undefined
      void this.#end(session)
    }
    if (isWorn) end()
    else this.#idle = unrefTimer(setTimeout(end, idleMillis))
  }
}

function starterOf(isolation: IsolationOptions | undefined, use: ProcessUse): () => LanceRuntime {
  if (isolation === undefined) return () => inThisProcess
  const shared = sharedBy(isolationOf(isolation), use)
  return () => new LanceProcess(shared)
}

/** The error of a request for one of Lance, or of its process. */
export function errorOf(error: unknown, { shown, isChange, signal }: Asked): unknown {
  if (signal?.aborted) return signal.reason
  return error instanceof ProcessEnded ? endedError(error, shown, isChange) : fromLance(error, shown)
}
