import { performance, wallClock } from '../../base/time.ts'

/** The assumed drift between two clocks, as a fraction: ten times that of machines. */
const drift = 1e-3

/**
 * An estimate of the database's clock. Each answer has a time between the sending of the statement and the arrival of
 * the answer, so quick answers are the most exact. In between, the estimate follows the machine's monotonic clock.
 * Setting the machine's clock has no effect.
 */
export class Clock {
  readonly #steady: () => number
  #offset: number
  #error = Number.POSITIVE_INFINITY
  #learned = 0

  constructor(steady: () => number = () => performance.now()) {
    this.#steady = steady
    this.#offset = wallClock() - steady()
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return Math.floor(this.#steady() + this.#offset)
  }

  /** Adds an observation: the database's time was `time` at some moment since `sent`, a time of the monotonic clock. */
  learn(time: number, sent: number): void {
    const received = this.#steady()
    const error = (received - sent) / 2
    if (error > this.#error + (received - this.#learned) * drift) return
    this.#offset = time - (sent + received) / 2
    this.#error = error
    this.#learned = received
  }

  /** The current time, as `sent` for {@link learn}. */
  sent(): number {
    return this.#steady()
  }
}
