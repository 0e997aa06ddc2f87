import { monitorEventLoopDelay } from 'node:perf_hooks'
import { CatalogError } from '../../base/errors.ts'
import { ByteBudget } from '../../base/scheduling/byte-budget.ts'
import { unrefTimer } from '../../base/scheduling/unref-timer.ts'
import { clearInterval, setInterval } from '../../base/time.ts'
import type { Limits } from '../options.ts'
import { Throttled } from './rate-limit.ts'

/** Times of transfers, in milliseconds. */
export interface TransferTimes {
  /** How long the body of a request may stall. */
  readonly upload: number
  /** For a body that is read whole, in total. */
  readonly request: number
  /** How long the client may stop reading a large answer. */
  readonly download: number
}

/** About the memory that rows take while they arrive and are written. */
export const arrivingBytes = 64 * 1024 * 1024

/** Counts the requests in flight, and refuses those above the limits. */
export class AdmissionControl {
  readonly limits: Limits
  /** The memory budget of all requests: bodies, as received and decoded, and answers in flight. */
  readonly memory: ByteBudget
  /** The room of rows that are written while they arrive. They may take long, and leave some to other requests. */
  readonly arriving: ByteBudget
  readonly times: TransferTimes
  readonly #eventLoop: Pick<EventLoopWatch, 'isLate'>
  #inFlight = 0
  #closing = false

  constructor(limits: Limits, times: TransferTimes, eventLoop: Pick<EventLoopWatch, 'isLate'>) {
    this.limits = limits
    this.times = times
    this.#eventLoop = eventLoop
    this.memory = new ByteBudget(limits.bodyBytes)
    this.arriving = new ByteBudget(Math.max(arrivingBytes, (limits.bodyBytes * 3) / 4))
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** Whether the server finishes the requests in flight and refuses new ones. */
  get closing(): boolean {
    return this.#closing
  }

  /** Admits a request. Fails with `Throttling` above a limit, and with `ServiceUnavailable` when closing. */
  enter(): void {
    if (this.#closing)
      throw new CatalogError('ServiceUnavailable', 'The server is shutting down. Try again in a moment.')
    if (this.#inFlight >= this.limits.inFlight)
      throw new Throttled('The server has as many requests as it takes at once')
    if (this.#eventLoop.isLate) throw new Throttled('The server is behind with its work')
    this.#inFlight++
  }

  leave(): void {
    this.#inFlight--
  }

  close(): void {
    this.#closing = true
  }
}

/** Measures the delay of the event loop. */
export interface EventLoopWatch {
  /** Whether the average delay of the last second was above the limit. */
  readonly isLate: boolean
  close(): void
}

/** The sampling interval of the histogram, in milliseconds. */
const resolution = 10
const sampleMillis = 1_000

/** Watches for average delays above `maxMillis` milliseconds; 0 disables the watch. */
export function watchEventLoop(maxMillis: number): EventLoopWatch {
  if (maxMillis <= 0) return { isLate: false, close: () => {} }
  const histogram = monitorEventLoopDelay({ resolution })
  histogram.enable()
  const timer = unrefTimer(
    setInterval(() => {
      const { mean } = histogram
      // Without a sample in a second, the loop was blocked for all of it.
      watch.isLate = Number.isNaN(mean) || mean / 1e6 - resolution > maxMillis
      histogram.reset()
    }, sampleMillis),
  )
  const watch = {
    isLate: false,
    close: () => {
      clearInterval(timer)
      histogram.disable()
    },
  }
  return watch
}
