import { performance, sleep } from '../../base/time.ts'
import { isConflict, isLost } from './failure.ts'

/** How long an operation is tried again, in milliseconds, and the longest pause between two attempts. */
const retryMillis = 20_000
const mostPause = 250

/** The one loop of attempts: after a conflict with others, and after a connection was lost. */
export class Backoff {
  readonly #end: number
  readonly #mayPass: (error: unknown) => boolean
  #attempts = 0

  constructor(millis = retryMillis, mayPass = (error: unknown) => isConflict(error) || isLost(error)) {
    this.#end = performance.now() + millis
    this.#mayPass = mayPass
  }

  /** Waits before the next attempt. Throws the error when there is none, as another would fail as well or it is late. */
  async waitOrThrow(error: unknown): Promise<void> {
    if (!this.#mayPass(error)) throw error
    // A connection may have been silent for longer than all of that. Another one gets its chance.
    if (this.#attempts > 0 && performance.now() > this.#end) throw error
    // Random, so that those who met do not meet again.
    await sleep(Math.random() * Math.min(2 ** ++this.#attempts, mostPause))
  }
}
