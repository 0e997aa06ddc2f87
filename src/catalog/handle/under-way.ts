import { setMaxListeners } from 'node:events'
import { anySignal } from '../../base/scheduling/signals.ts'
import type { OperationOptions } from '../operations/framework/operation.ts'

/** The operations of a transaction that are under way. */
export class UnderWay {
  /** How many there are, by the names of their operations. */
  readonly #running = new Map<string, number>()
  #count = 0
  readonly #onIdle: (() => void)[] = []
  readonly #stop = new AbortController()
  readonly #signal: AbortSignal

  /** `signal` stops the transaction as a whole. */
  constructor(signal: AbortSignal) {
    this.#signal = anySignal(signal, this.#stop.signal)
    // All operations share it: a signal for each takes ten microseconds.
    setMaxListeners(0, this.#signal)
  }

  get names(): readonly string[] {
    return [...this.#running].flatMap(([name, count]) => (count > 0 ? name : []))
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** Runs an operation that is stopped with the transaction. */
  run<T>(name: string, given: OperationOptions, work: (options: OperationOptions) => Promise<T>): Promise<T> {
    const { signal } = given
    const result = work({
      ...given,
      signal: signal ? anySignal(signal, this.#signal) : this.#signal,
    })
    this.#add(name, 1)
    const gone = () => {
      this.#add(name, -1)
      if (this.#count === 0) for (const idle of this.#onIdle.splice(0)) idle()
    }
    result.then(gone, gone)
    return result
  }

  /** Stops what is under way with a reason, and waits until it has stopped. */
  async stop(reason: Error): Promise<void> {
    if (this.#count === 0) return
    this.#stop.abort(reason)
    await new Promise<void>((resolve) => {
      this.#onIdle.push(resolve)
    })
  }

  #add(name: string, count: number): void {
    this.#running.set(name, (this.#running.get(name) ?? 0) + count)
    this.#count += count
  }
}
