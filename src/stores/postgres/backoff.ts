import { performance, sleep } from '../../base/time.ts'
import { isConflict, isLost } from './failure.ts'

/** How long an operation is retried, and the longest pause between two attempts, in milliseconds. */
const retryMillis = 20_000
const maxPause = 250

/** The waits between attempts: after a conflict, and after a connection was lost. */
export class Backoff {
  readonly #end: number
  readonly #mayPass: (error: unknown) => boolean
  #attempts = 0

  constructor(millis = retryMillis, mayPass = (error: unknown) => isConflict(error) || isLost(error)) {
    this.#end = performance.now() + millis
    this.#mayPass = mayPass
  }

  /** Waits before the next attempt. Throws the error when a retry cannot help, or the time is up. */
  async waitOrThrow(error: unknown): Promise<void> {
    if (!this.#mayPass(error)) throw error
    // The first attempt may have used up the time on a silent connection. One retry is always made.
    if (this.#attempts > 0 && performance.now() > this.#end) throw error
    // Random, so that conflicting operations do not meet again.
    await sleep(Math.random() * Math.min(2 ** ++this.#attempts, maxPause))
  }
}
