import { IcebergError } from '../errors.ts'

/** How long answers are kept for a repeated request, in milliseconds, and as an ISO duration. */
const lifetime = 30 * 60_000
export const lifetimeShown = 'PT30M'

/** Most answers that are kept. */
const most = 10_000

interface Kept<Answer> {
  readonly answer: Promise<Answer>
  readonly until: number
}

/**
 * The answers to requests with an idempotency key. A request that comes again gets the answer of the first one, and is not
 * run again. Failures of the server are forgotten, so that a request with such an answer is run again.
 */
export class Repeats<Answer> {
  readonly #kept = new Map<string, Kept<Answer>>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** `key` is all that the answer follows from. `isKept` says whether an answer may be kept in memory. */
  async once(key: string, run: () => Promise<Answer>, isKept: (answer: Answer) => boolean): Promise<Answer> {
    for (;;) {
      const known = this.#kept.get(key)
      if (known === undefined || known.until <= this.#now()) return this.#first(key, run, isKept)
      try {
        return await known.answer
      } catch (error) {
        if (isFinal(error)) throw error
        // The first one was canceled, or met a fault of the server: this one does its work.
        if (this.#kept.get(key) === known) this.#kept.delete(key)
      }
    }
  }

  #first(key: string, run: () => Promise<Answer>, isKept: (answer: Answer) => boolean): Promise<Answer> {
    const answer = run()
    const now = this.#now()
    const kept = { answer, until: now + lifetime }
    this.#kept.delete(key)
    this.#kept.set(key, kept)
    const forget = () => {
      if (this.#kept.get(key) === kept) this.#kept.delete(key)
    }
    answer.then(
      (made) => {
        if (!isKept(made)) forget()
      },
      (error: unknown) => {
        if (!isFinal(error)) forget()
      },
    )
    for (const [oldest, { until }] of this.#kept) {
      if (this.#kept.size <= most && until > now) break
      this.#kept.delete(oldest)
    }
    return answer
  }
}

/** Whether a request that comes again fails with the same error. */
function isFinal(error: unknown): boolean {
  return error instanceof IcebergError && error.status < 500
}
