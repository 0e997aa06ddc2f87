import { performance, wallClock } from '../../base/time.ts'

/** How fast two clocks may drift apart, as a fraction: ten times what clocks of machines do. */
const drift = 1e-3

/**
 * The database's clock, as far as answers told it. Each answer tells the time between the moments at which the
 * statement was sent and answered, so quick answers tell it best. In between, the time goes on as the machine's
 * steady clock does: setting the machine's clock has no effect.
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

  /** Learns that it was `time` at some moment since `sent`, which is a time of the steady clock. */
  learn(time: number, sent: number): void {
    const received = this.#steady()
    const error = (received - sent) / 2
    if (error > this.#error + (received - this.#learned) * drift) return
    this.#offset = time - (sent + received) / 2
    this.#error = error
    this.#learned = received
  }

  /** A moment for {@link learn}. */
  sent(): number {
    return this.#steady()
  }
}
