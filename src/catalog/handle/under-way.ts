import { setMaxListeners } from 'node:events'
import { anySignal } from '../../base/scheduling/signals.ts'
import type { OperationOptions } from '../operations/framework/operation.ts'

/** The operations of a transaction that are under way. */
export class UnderWay {
  readonly #running = new Map<Promise<unknown>, string>()
  readonly #stop = new AbortController()
  readonly #signal: AbortSignal

  /** `signal` stops the transaction as a whole. */
  constructor(signal: AbortSignal) {
    this.#signal = anySignal(signal, this.#stop.signal)
    // All operations share it: a signal for each takes ten microseconds.
    setMaxListeners(0, this.#signal)
  }

  get names(): readonly string[] {
    return [...new Set(this.#running.values())]
  }

  get isEmpty(): boolean {
    return this.#running.size === 0
  }

  /** Runs an operation that is stopped with the transaction. */
  run<T>(name: string, given: OperationOptions, work: (options: OperationOptions) => Promise<T>): Promise<T> {
    const { signal } = given
    const result = work({
      ...given,
      signal: signal ? anySignal(signal, this.#signal) : this.#signal,
    })
    this.#running.set(result, name)
    const gone = () => {
      this.#running.delete(result)
    }
    result.then(gone, gone)
    return result
  }

  /** Stops what is under way with a reason, and waits until it has stopped. */
  async stop(reason: Error): Promise<void> {
    if (this.#running.size === 0) return
    this.#stop.abort(reason)
    await Promise.allSettled(this.#running.keys())
  }
}
