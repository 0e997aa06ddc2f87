import { Throttled } from '../limits/admission-control.ts'
import type { Limits } from '../options.ts'

/** The streams of events that are open, of each caller and in all. */
export class EventStreams {
  readonly #limits: Pick<Limits, 'streams' | 'streamsPerCaller'>
  readonly #byCaller = new Map<string, number>()
  readonly #stopping = new AbortController()
  #open = 0

  constructor(limits: Pick<Limits, 'streams' | 'streamsPerCaller'>) {
    this.#limits = limits
  }

  /** Aborted when the server stops: then streams end. */
  get stopping(): AbortSignal {
    return this.#stopping.signal
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
    this.#stopping.abort()
  }
}
