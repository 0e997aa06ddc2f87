import { Readable } from 'node:stream'
import { performance, wallClock } from '../../base/time.ts'
import { type Catalog, storeState, untoldState } from '../../catalog/handle/handle.ts'
import { operations } from '../../catalog/operations/index.ts'
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
 *
 * Where the store cannot tell its state, answers may be kept for a while instead, if the server was told for how long.
 */
export class ResponseCache {
  readonly #catalog: Catalog
  readonly #mostBytes: number
  readonly #answers = new Map<string, Answer>()
  readonly #staleMillis: number
  #state: number | string | undefined
  #bytes = 0
  /** Which of the times it is in which answers are given again, and when that began. */
  #time = 0
  #began = 0
  #beganByClock = 0

  constructor(catalog: Catalog, mostBytes: number, staleMillis = 0) {
    this.#catalog = catalog
    this.#mostBytes = mostBytes
    this.#staleMillis = staleMillis
  }

  /** Notes that this server has changed something, or may have: what it answers from now on shows it. */
  changed(): void {
    this.#time++
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
    // All that a request is made of, but for its context, which nothing here depends on. No header and no URL has a new
    // line, so the parts stay apart.
    const key = `${dialect!.name}\n${path}\n${query}\n${body.toString('latin1')}`
    const found = state === this.#state ? this.#answers.get(key) : undefined
    if (found !== undefined) return found
    const answer = await make()
    // What was read while the store changed may be of either state.
    if (this.#stateOf(operation) === state) this.#keep(state, key, answer)
    return answer
  }

  #stateOf(operation: keyof typeof operations): number | string | undefined {
    const state = this.#catalog[storeState]?.(this.#catalog[operation])
    return state === untoldState ? this.#currentTime() : state
  }

  /** What is made and given again within one of these times is no older than it may be. */
  #currentTime(): number | undefined {
    const most = this.#staleMillis
    if (most === 0) return undefined
    const age = performance.now() - this.#began
    // The steady clock may stand still while a machine sleeps, and the other one may be set.
    const ageByClock = wallClock() - this.#beganByClock
    if (age >= most || ageByClock >= most || ageByClock < 0) {
      this.#time++
      this.#began = performance.now()
      this.#beganByClock = wallClock()
    }
    return this.#time
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
