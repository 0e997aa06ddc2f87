import { performance, setImmediate } from '../time.ts'
import { isLoopShared } from './shared-loop.ts'

/*
 * Long work of several callers shares the event loop. All of it together blocks the loop for some milliseconds in one
 * turn. Callers that rest wait in a queue, and each turn resumes one of them.
 */

/** How long long-running work may block one turn of the event loop, in milliseconds. */
const longest = 5

/** The turns of the event loop that callers share. */
class Turns {
  /** The resting callers, in the order in which they began to rest. */
  readonly #resting: (() => void)[] = []
  #isOpen = false
  #began = 0

  /** Whether this turn took long enough. Begins to measure one where none is. */
  get areDue(): boolean {
    if (this.#isOpen) return performance.now() - this.#began > longest
    this.#open()
    return false
  }

  rest(): Promise<void> {
    return new Promise<void>((resume) => {
      this.#resting.push(resume)
      if (!this.#isOpen) this.#open()
    })
  }

  /** Begins to measure a turn of the event loop. It ends at the next `setImmediate` callback. */
  #open(): void {
    this.#isOpen = true
    this.#began = performance.now()
    setImmediate(this.#end)
  }

  /** The event loop has handled its other events since the turn began. */
  readonly #end = (): void => {
    this.#isOpen = false
    const resume = this.#resting.shift()
    if (resume === undefined) return
    this.#open()
    resume()
  }
}

const ofAll = new Turns()

/** Lets long work yield to other work at intervals, and stops it when its signal aborts. */
export class TimeSlice {
  readonly signal: AbortSignal | undefined
  readonly #turns = isLoopShared ? ofAll : new Turns()

  constructor(signal: AbortSignal | undefined) {
    this.signal = signal
    signal?.throwIfAborted()
  }

  /**
   * Whether it is time to `rest`: this turn of the event loop took long enough, perhaps with the work of other callers.
   * Also true after the signal aborted: then `rest` throws.
   */
  get due(): boolean {
    return this.signal?.aborted === true || this.#turns.areDue
  }

  /** Yields to other work. Throws the signal's reason when the signal aborted. */
  async rest(): Promise<void> {
    this.signal?.throwIfAborted()
    await this.#turns.rest()
    this.signal?.throwIfAborted()
  }
}

/** Work that yields wherever it may rest. */
export type Steps<Result> = Generator<void, Result, void>

/** The result of work, without rests. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** The result of work, with rests for other work. Throws the signal's reason when the signal aborts. */
export async function inSlices<Result>(
  steps: Steps<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  const timeSlice = new TimeSlice(signal)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    if (timeSlice.due) await timeSlice.rest()
  }
}

/** Maps items one after the other, with rests between them. */
export async function mapInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item, index: number) => Result | Promise<Result>,
): Promise<Result[]> {
  const timeSlice = new TimeSlice(undefined)
  const results = new Array<Result>(items.length)
  for (let i = 0; i < items.length; i++) {
    const result = map(items[i]!, i)
    results[i] = result instanceof Promise ? await result : result
    // After the last item, there is nothing to rest for.
    if (i + 1 < items.length && timeSlice.due) await timeSlice.rest()
  }
  return results
}
