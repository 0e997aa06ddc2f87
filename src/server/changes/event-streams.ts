import { clearTimeout, setTimeout } from '../../base/time.ts'
import { Throttled } from '../limits/admission-control.ts'
import type { Limits } from '../options.ts'

/** The streams of events that are open, of each caller and in all. */
export class EventStreams {
  readonly #limits: Pick<Limits, 'streams' | 'streamsPerCaller'>
  readonly #byCaller = new Map<string, number>()
  /** What ends the waits of streams. A signal would warn of so many listeners. */
  readonly #waits = new Set<() => void>()
  #isStopping = false
  #open = 0

  constructor(limits: Pick<Limits, 'streams' | 'streamsPerCaller'>) {
    this.#limits = limits
  }

  /** Whether the server stops: then streams end. */
  get isStopping(): boolean {
    return this.#isStopping
  }

  /** What a promise resolves to; undefined when that takes too long or the server stops. */
  within<T>(promise: Promise<T>, millis: number): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const over = () => {
        clearTimeout(timer)
        this.#waits.delete(end)
      }
      const end = () => {
        over()
        resolve(undefined)
      }
      const timer = setTimeout(end, millis)
      this.#waits.add(end)
      promise.then(resolve, reject).finally(over)
      if (this.#isStopping) end()
    })
  }

  /** Counts a stream in, and returns what counts it out. Fails with `Throttling` when it would be one too many. */
  enter(caller: string): () => void {
    const { streams, streamsPerCaller } = this.#limits
    const own = this.#byCaller.get(caller) ?? 0
    if (this.#open >= streams) throw new Throttled('The server has as many streams of changes as it takes')
    if (own >= streamsPerCaller)
      throw new Throttled(`One caller has at most ${streamsPerCaller} streams of changes at once`)
    this.#open++
    this.#byCaller.set(caller, own + 1)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#open--
      const left = this.#byCaller.get(caller)! - 1
      if (left > 0) this.#byCaller.set(caller, left)
      else this.#byCaller.delete(caller)
    }
  }

  stop(): void {
    this.#isStopping = true
    for (const end of this.#waits) end()
  }
}
