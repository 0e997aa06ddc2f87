import { setImmediate } from 'node:timers/promises'

/** How long work may hold the event loop, in milliseconds. */
const longest = 10

/** Lets long work make room for other work now and then, and stop when its signal says so. */
export class Pace {
  readonly signal: AbortSignal | undefined
  #since = performance.now()

  constructor(signal: AbortSignal | undefined) {
    this.signal = signal
    signal?.throwIfAborted()
  }

  /** Whether it is time to `rest`: which it also is, and then throws, when the work was aborted. */
  get due(): boolean {
    return this.signal?.aborted === true || performance.now() - this.#since > longest
  }

  /** Lets others go first. Throws the signal's reason once it was aborted. */
  async rest(): Promise<void> {
    this.signal?.throwIfAborted()
    await setImmediate()
    this.signal?.throwIfAborted()
    this.#since = performance.now()
  }
}
