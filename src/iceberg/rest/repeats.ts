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

  /** `what` is all that the answer follows from. `isKept` says whether an answer may be kept in memory. */
  once(key: string, run: () => Promise<Answer>, isKept: (answer: Answer) => boolean): Promise<Answer> {
    const now = this.#now()
    const known = this.#kept.get(key)
    if (known !== undefined && known.until > now) return known.answer
    const answer = run()
    this.#kept.delete(key)
    this.#kept.set(key, { answer, until: now + lifetime })
    const forget = () => {
      if (this.#kept.get(key)?.answer === answer) this.#kept.delete(key)
    }
    answer.then(
      (made) => {
        if (!isKept(made)) forget()
      },
      (error: unknown) => {
        if (!(error instanceof IcebergError && error.status < 500)) forget()
      },
    )
    for (const [oldest, { until }] of this.#kept) {
      if (this.#kept.size <= most && until > now) break
      this.#kept.delete(oldest)
    }
    return answer
  }
}
