import { clearTimeout, setTimeout } from '../../base/time.ts'
import type { Limits } from '../options.ts'
import { Throttled } from './rate-limit.ts'

/** Counts the open event streams, in total and for each caller. */
export class EventStreams {
  readonly #limits: Pick<Limits, 'streams' | 'streamsPerCaller'>
  readonly #byCaller = new Map<string, number>()
  /** Callbacks that end the waits of streams. An `AbortSignal` would warn about so many listeners. */
  readonly #endWaits = new Set<() => void>()
  #isStopping = false
  #open = 0

  constructor(limits: Pick<Limits, 'streams' | 'streamsPerCaller'>) {
    this.#limits = limits
  }

  /** Whether the server stops. Streams then end. */
  get isStopping(): boolean {
    return this.#isStopping
  }

  /** The result of a promise; undefined after `millis` milliseconds, or when the server stops. */
  withTimeout<T>(promise: Promise<T>, millis: number): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const cleanUp = () => {
        clearTimeout(timer)
        this.#endWaits.delete(end)
      }
      const end = () => {
        cleanUp()
        resolve(undefined)
      }
      const timer = setTimeout(end, millis)
      this.#endWaits.add(end)
      promise.then(resolve, reject).finally(cleanUp)
      if (this.#isStopping) end()
    })
  }

  /** Registers a stream, and returns the function that removes it. Fails with `Throttling` above a limit. */
  enter(caller: string): () => void {
    const { streams, streamsPerCaller } = this.#limits
    const own = this.#byCaller.get(caller) ?? 0
    if (this.#open >= streams) throw new Throttled('The server has as many streams of changes as it takes')
    if (own >= streamsPerCaller)
      throw new Throttled(`One caller has at most ${streamsPerCaller} streams of changes at once`)
    this.#open++
    this.#byCaller.set(caller, own + 1)
    let isRemoved = false
    return () => {
      if (isRemoved) return
      isRemoved = true
      this.#open--
      const left = this.#byCaller.get(caller)! - 1
      if (left > 0) this.#byCaller.set(caller, left)
      else this.#byCaller.delete(caller)
    }
  }

  stop(): void {
    this.#isStopping = true
    for (const end of this.#endWaits) end()
  }
}
