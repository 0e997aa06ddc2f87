import { clearTimeout, performance, setTimeout, type Timer } from '../time.ts'
import { alone } from './alone.ts'

/** Most questions at once that have no answer yet: who never answers is not asked more often. */
const mostUnanswered = 4

/** Asks what may fail to answer, and waits for a time only. */
export class BoundedQuestion<T> {
  readonly #ask: (signal: AbortSignal) => Promise<T>
  readonly #millis: number
  #unanswered = 0

  /** `ask` has so many milliseconds for its answer. Its signal is aborted after them, and once it has answered. */
  constructor(ask: (signal: AbortSignal) => Promise<T>, millis: number) {
    this.#ask = ask
    this.#millis = millis
  }

  /** The answer. Fails with {@link Unanswered} where it does not come in time. */
  async answer(): Promise<T> {
    if (this.#unanswered >= mostUnanswered) throw new Unanswered()
    this.#unanswered++
    const over = new AbortController()
    let timer: Timer | undefined
    const late = new Promise<never>((_, reject) => {
      timer = alone(setTimeout(() => reject(new Unanswered()), this.#millis))
    })
    const answer = this.#ask(over.signal).finally(() => this.#unanswered--)
    return Promise.race([answer, late]).finally(() => {
      clearTimeout(timer)
      over.abort()
    })
  }
}

/** Nobody answered in time. */
export class Unanswered extends Error {
  constructor() {
    super('The store gave no answer in time.')
  }
}

/** An answer that many want: those who ask at once share one question, and others are told its answer for a while. */
export class SharedAnswer<T> {
  readonly #find: () => Promise<T>
  readonly #keptMillis: number
  #latest: Promise<T> | undefined
  #freshUntil = Number.POSITIVE_INFINITY

  constructor(find: () => Promise<T>, keptMillis: number) {
    this.#find = find
    this.#keptMillis = keptMillis
  }

  get(): Promise<T> {
    if (this.#latest === undefined || performance.now() >= this.#freshUntil) {
      this.#freshUntil = Number.POSITIVE_INFINITY
      this.#latest = this.#find().finally(() => {
        this.#freshUntil = performance.now() + this.#keptMillis
      })
    }
    return this.#latest
  }
}
