import { Readable } from 'node:stream'
import { type Catalog, storeState } from '../../catalog/handle.ts'
import { operations } from '../../operations/index.ts'
import type { Fields } from '../dialects/dialect.ts'
import type { Answer, StreamableAnswer } from './answer.ts'
import type { Exchange } from './exchange.ts'

/** Longer bodies are not worth looking for. */
const longestBody = 4 * 1024

/** What an entry takes besides its text. */
const overhead = 512

/**
 * Answers in the form in which they travel, kept while the catalog's store stays in the state they were made in. They
 * take at most so many bytes; the oldest go first. Only the operation is saved: all that is checked of a request is
 * checked before.
 */
export class ResponseCache {
  readonly #catalog: Catalog
  readonly #mostBytes: number
  readonly #answers = new Map<string, Answer>()
  #state: number | string | undefined
  #bytes = 0

  constructor(catalog: Catalog, mostBytes: number) {
    this.#catalog = catalog
    this.#mostBytes = mostBytes
  }

  /** Bytes held, as counted against the bound. */
  get bytes(): number {
    return this.#bytes
  }

  /** The answer to a request, which has `body` as it came: a kept one, or else what `make` gives. */
  async answer(
    { match, dialect, path, query }: Exchange,
    body: Buffer,
    request: Fields,
    make: () => Promise<StreamableAnswer>,
  ): Promise<StreamableAnswer> {
    const { operation } = match!
    if (this.#mostBytes === 0 || body.length > longestBody) return make()
    if (!operations[operation].definition.isFromStore?.(request)) return make()
    const state = this.#stateOf(operation)
    if (state === undefined) return make()
    // All that a request is made of, but for its context, which nothing here depends on.
    const key = `${dialect!.name} ${path} ${query} ${body.toString('latin1')}`
    const found = state === this.#state ? this.#answers.get(key) : undefined
    if (found !== undefined) return found
    const answer = await make()
    // What was read while the store changed may be of either state.
    if (this.#stateOf(operation) === state) this.#keep(state, key, answer)
    return answer
  }

  #stateOf(operation: keyof typeof operations): number | string | undefined {
    return this.#catalog[storeState]?.(this.#catalog[operation])
  }

  #keep(state: number | string, key: string, answer: StreamableAnswer): void {
    if (!isWhole(answer)) return
    if (state !== this.#state) this.#begin(state)
    const bytes = bytesOf(key, answer)
    if (bytes > this.#mostBytes || this.#answers.has(key)) return
    this.#answers.set(key, answer)
    this.#bytes += bytes
    for (const [oldest, { body }] of this.#answers) {
      if (this.#bytes <= this.#mostBytes) break
      this.#answers.delete(oldest)
      this.#bytes -= bytesOf(oldest, { body })
    }
  }

  #begin(state: number | string): void {
    this.#answers.clear()
    this.#bytes = 0
    this.#state = state
  }
}

function isWhole(answer: StreamableAnswer): answer is Answer {
  return !(answer.body instanceof Readable)
}

/** A character takes up to two bytes. */
function bytesOf(key: string, { body }: Pick<Answer, 'body'>): number {
  return overhead + 2 * (key.length + body.length)
}
