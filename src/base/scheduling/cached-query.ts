import { clearTimeout, performance, setTimeout, type Timer } from '../time.ts'
import { unrefTimer } from './unref-timer.ts'

/** The most unanswered questions at once: a silent service gets no more. */
const maxUnanswered = 4

/** Asks a question that may get no answer, with a timeout. */
export class QueryWithTimeout<T> {
  readonly #ask: (signal: AbortSignal) => Promise<T>
  readonly #millis: number
  #unanswered = 0

  /** `ask` must answer within `millis` milliseconds. Its signal aborts after them, and after the answer. */
  constructor(ask: (signal: AbortSignal) => Promise<T>, millis: number) {
    this.#ask = ask
    this.#millis = millis
  }

  /** The answer. Fails with {@link QueryTimeout} at the timeout. */
  async answer(): Promise<T> {
    if (this.#unanswered >= maxUnanswered) throw new QueryTimeout()
    this.#unanswered++
    const over = new AbortController()
    let timer: Timer | undefined
    const late = new Promise<never>((_, reject) => {
      timer = unrefTimer(setTimeout(() => reject(new QueryTimeout()), this.#millis))
    })
    const answer = this.#ask(over.signal).finally(() => this.#unanswered--)
    return Promise.race([answer, late]).finally(() => {
      clearTimeout(timer)
      over.abort()
    })
  }
}

/** There was no answer in time. */
export class QueryTimeout extends Error {
  constructor() {
    super('The store gave no answer in time.')
  }
}

/** An answer for many callers: concurrent ones share one question, and later ones get its answer until it expires. */
export class CachedQuery<T> {
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
