import { Readable } from 'node:stream'
import { performance, setImmediate, wallClock } from '../../base/time.ts'
import type { Catalog } from '../../catalog/index.ts'
import { storeState, unknownState } from '../../catalog/index.ts'
import { type OperationName, operations } from '../../catalog/operations/index.ts'
import type { Fields } from '../dialects/dialect.ts'
import type { Answer, StreamableAnswer } from './answer.ts'
import type { Exchange } from './exchange.ts'

type State = number | string | undefined

/** The states at the end of a turn of the event loop, as far as they were needed. */
type StatesAtEnd = Map<OperationName, State>

/** Requests with longer bodies are not cached. */
const maxBody = 4 * 1024

/** The memory of an entry besides its text, in bytes. */
const overhead = 512

/**
 * Caches serialized answers while the state of the catalog's store stays the same. The size is bounded, and the oldest
 * entries are evicted first. A hit saves only the operation: authentication, limits and authorization run before.
 *
 * For a store that does not report its state, answers are cached for `staleMillis` instead; 0 disables that.
 */
export class ResponseCache {
  readonly #catalog: Catalog
  readonly #maxBytes: number
  readonly #answers = new Map<string, Answer>()
  readonly #staleMillis: number
  #state: State
  #end: Promise<StatesAtEnd> | undefined
  #bytes = 0
  /** The number of the current period of `staleMillis`, and its start by both clocks. */
  #period = 0
  #periodStart = 0
  #periodStartByClock = 0

  constructor(catalog: Catalog, maxBytes: number, staleMillis = 0) {
    this.#catalog = catalog
    this.#maxBytes = maxBytes
    this.#staleMillis = staleMillis
  }

  /** Call it after a change of this server, or an attempt: later answers must show the change. */
  invalidate(): void {
    this.#period++
  }

  /** The counted size of all entries. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether the answer to a request with the raw `body` may be cached. */
  mayHave({ match }: Exchange, body: Buffer): boolean {
    const { isFromStore } = operations[match!.operation].definition
    return isFromStore !== undefined && body.length <= maxBody && this.#answers.size > 0
  }

  /**
   * Resolves at the end of this turn of the event loop, when all requests of the turn have come: their answers need the
   * state of the store at that time or later, so one look at it is enough for all of them.
   */
  endOfTurn(): Promise<StatesAtEnd> {
    this.#end ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#end = undefined
        resolve(new Map())
      })
    })
    return this.#end
  }

  /**
   * The cached answer to a request with the raw `body`. An equal request was parsed and checked before, so a hit needs
   * neither. Call it right after {@link endOfTurn}, with what that resolved to.
   */
  find(exchange: Exchange, body: Buffer, states: StatesAtEnd): Answer | undefined {
    const { operation } = exchange.match!
    if (!states.has(operation)) states.set(operation, this.#stateOf(operation))
    const state = states.get(operation)
    return state !== undefined && state === this.#state ? this.#answers.get(keyOf(exchange, body)) : undefined
  }

  /** The cached answer to a request with the raw `body`, or the result of `make`. */
  async answer(
    exchange: Exchange,
    body: Buffer,
    request: Fields,
    make: () => Promise<StreamableAnswer>,
  ): Promise<StreamableAnswer> {
    const { operation } = exchange.match!
    if (body.length > maxBody || !operations[operation].definition.isFromStore?.(request)) return make()
    return this.#kept(operation, keyOf(exchange, body), make)
  }

  /**
   * The cached answer to a request of another protocol without a body, or the result of `make`, which depends on what the
   * answer of `operation` depends on.
   */
  mounted(
    exchange: Exchange,
    operation: OperationName,
    make: () => Promise<StreamableAnswer>,
  ): Promise<StreamableAnswer> {
    return this.#kept(operation, keyOf(exchange), make)
  }

  async #kept(
    operation: OperationName,
    key: string,
    make: () => Promise<StreamableAnswer>,
  ): Promise<StreamableAnswer> {
    const state = this.#maxBytes === 0 ? undefined : this.#stateOf(operation)
    if (state === undefined) return make()
    const found = state === this.#state ? this.#answers.get(key) : undefined
    if (found !== undefined) return found
    const answer = await make()
    // An answer that was made during a change may be of either state.
    if (this.#stateOf(operation) === state) this.#add(state, key, answer)
    return answer
  }

  #stateOf(operation: OperationName): State {
    const state = this.#catalog[storeState]?.(this.#catalog[operation])
    return state === unknownState ? this.#currentPeriod() : state
  }

  /** The current period, or a new one after `staleMillis`. So no cached answer is older than that. */
  #currentPeriod(): number | undefined {
    const most = this.#staleMillis
    if (most === 0) return undefined
    const age = performance.now() - this.#periodStart
    // The monotonic clock may stop while a machine sleeps, and the wall clock may be set.
    const ageByClock = wallClock() - this.#periodStartByClock
    if (age >= most || ageByClock >= most || ageByClock < 0) {
      this.#period++
      this.#periodStart = performance.now()
      this.#periodStartByClock = wallClock()
    }
    return this.#period
  }

  #add(state: number | string, key: string, answer: StreamableAnswer): void {
    if (!isComplete(answer)) return
    if (state !== this.#state) this.#reset(state)
    const bytes = bytesOf(key, answer)
    if (bytes > this.#maxBytes || this.#answers.has(key)) return
    this.#answers.set(key, answer)
    this.#bytes += bytes
    for (const [oldest, { body }] of this.#answers) {
      if (this.#bytes <= this.#maxBytes) break
      this.#answers.delete(oldest)
      this.#bytes -= bytesOf(oldest, { body })
    }
  }

  #reset(state: number | string): void {
    this.#answers.clear()
    this.#bytes = 0
    this.#state = state
  }
}

/**
 * The whole request except its context, on which no cached operation depends. Headers and URLs have no newline, so the
 * key is unambiguous.
 */
function keyOf({ method, dialect, path, query }: Exchange, body?: Buffer): string {
  return `${method}\n${dialect?.name}\n${path}\n${query}\n${body?.toString('latin1')}`
}

function isComplete(answer: StreamableAnswer): answer is Answer {
  return !(answer.body instanceof Readable)
}

/** The size of an entry, at up to two bytes a character. */
function bytesOf(key: string, { body }: Pick<Answer, 'body'>): number {
  return overhead + 2 * (key.length + body.length)
}
