import { setImmediate } from 'node:timers/promises'

/** How long work may block the event loop, in milliseconds. */
const longest = 10

/** Lets long work yield to other work at intervals, and stops it when its signal aborts. */
export class TimeSlice {
  readonly signal: AbortSignal | undefined
  #since = performance.now()

  constructor(signal: AbortSignal | undefined) {
    this.signal = signal
    signal?.throwIfAborted()
  }

  /** Whether it is time to `rest`. Also true when the work was aborted: then `rest` throws. */
  get due(): boolean {
    return this.signal?.aborted === true || performance.now() - this.#since > longest
  }

  /** Yields to other work. Throws the signal's reason when the signal aborted. */
  async rest(): Promise<void> {
    this.signal?.throwIfAborted()
    await setImmediate()
    this.signal?.throwIfAborted()
    this.#since = performance.now()
  }
}
