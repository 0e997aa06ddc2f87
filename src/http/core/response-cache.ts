import { type Keeper, Kept } from '../../operations/framework/run-cached.ts'
import { operations } from '../../operations/index.ts'
import type { Fields } from '../dialects/dialect.ts'
import type { Answer } from './answer.ts'
import type { Exchange } from './exchange.ts'

/** Longer bodies are not worth looking for. */
const longestBody = 4 * 1024

/** What an entry takes besides its text. */
const overhead = 512

/**
 * Answers kept as they travel, while the store stays in the state they were made in: at most so many bytes of
 * them, the oldest going first. Only what an operation does is saved; all that is checked of a request is
 * checked before.
 */
export class KeptAnswers {
  readonly #most: number
  readonly #answers = new Map<string, Kept<Answer>>()
  #state: number | string | undefined
  #bytes = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Bytes held, as counted against the bound. */
  get bytes(): number {
    return this.#bytes
  }

  /** The keeper of the answer to one request; undefined where none is kept. */
  keeper(
    { match, dialect, path, query }: Exchange,
    body: Buffer,
    answerOf: (response: Fields) => Answer,
  ): Keeper | undefined {
    const { definition } = operations[match!.operation]
    if (this.#most === 0 || definition.isFromStore === undefined || body.length > longestBody)
      return undefined
    // All that a request is made of, but for its context, which nothing here depends on.
    const key = `${dialect!.name} ${path} ${query} ${body.toString('latin1')}`
    return {
      find: (state) => (state === this.#state ? this.#answers.get(key) : undefined),
      keep: (state, response) => this.#keep(state, key, answerOf(response as Fields)),
    }
  }

  #keep(state: number | string, key: string, answer: Answer): Kept<Answer> {
    if (state !== this.#state) this.#begin(state)
    const kept = new Kept(answer)
    const bytes = bytesOf(key, kept)
    if (bytes > this.#most || this.#answers.has(key)) return kept
    this.#answers.set(key, kept)
    this.#bytes += bytes
    for (const [oldest, { value }] of this.#answers) {
      if (this.#bytes <= this.#most) break
      this.#answers.delete(oldest)
      this.#bytes -= bytesOf(oldest, { value })
    }
    return kept
  }

  #begin(state: number | string): void {
    this.#answers.clear()
    this.#bytes = 0
    this.#state = state
  }
}

/** A character takes up to two bytes. */
function bytesOf(key: string, { value }: Kept<Answer>): number {
  return overhead + 2 * (key.length + value.body.length)
}
