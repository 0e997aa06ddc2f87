import type { TransactionOptions } from '../../catalog/handle/handle.ts'
import type { OperationName, operations } from '../../catalog/operations/index.ts'

/** What may be called: an operation, or `transaction`, which runs a function of operations. */
export type CallName = OperationName | 'transaction'

/** One call of an operation, or of `transaction`, as it was made. */
export interface Call<Name extends CallName = CallName> {
  /** Which one it was, counted from 1 since the fake was opened or reset. */
  readonly n: number
  readonly operation: Name
  /** The request as it was given: not a copy. For a transaction, its options. */
  readonly request: Name extends OperationName
    ? Parameters<(typeof operations)[Name]>[1]
    : TransactionOptions | undefined
  readonly outcome: 'pending' | 'succeeded' | 'failed'
  /** The answer. For a transaction, what its function answered. */
  readonly response: Name extends OperationName
    ? Awaited<ReturnType<(typeof operations)[Name]>> | undefined
    : unknown
  /** The `n` of the transaction, or of the `beginTransaction`, that the call was made in; undefined when in none. */
  readonly transaction: number | undefined
  /** What the caller was told, whether it came of the catalog or of a fault. */
  readonly error: unknown
  /** When it came, by the fake's clock. */
  readonly startedAt: number
  /** When it was answered, by the fake's clock. */
  readonly endedAt: number | undefined
  /** The ids of the faults that touched it. */
  readonly faults: readonly string[]
}

/** The calls that a fake got, oldest first. */
export interface Calls extends Iterable<Call> {
  /** How many are kept. */
  readonly length: number
  /** How many of the oldest were let go, to keep memory bounded. */
  readonly dropped: number
  /** The latest one. */
  readonly last: Call | undefined
  /** The calls of these operations; all of them when none is named. */
  of<Name extends CallName = CallName>(...names: readonly Name[]): Call<Name>[]
  /** Forgets all calls. */
  clear(): void
}

type Kept = { -readonly [Member in keyof Call]: Call[Member] }

const none: readonly string[] = []

/** Bytes of rows that the calls may hold on to. */
const mostBytes = 64 * 1024 * 1024

/** What a row object takes, about. */
const rowBytes = 100

export class CallLog implements Calls {
  readonly #most: number
  #kept: Kept[] = []
  /** Where the oldest call is that is still kept: those before it are cut off now and then. */
  #first = 0
  #bytes = 0
  #count = 0
  #cleared = 0

  constructor(most: number) {
    this.#most = most
  }

  get length(): number {
    return this.#kept.length - this.#first
  }

  get dropped(): number {
    return this.#count - this.#cleared - this.length
  }

  get last(): Call | undefined {
    return this.#kept.at(-1)
  }

  [Symbol.iterator](): Iterator<Call> {
    return this.of()[Symbol.iterator]()
  }

  of<Name extends CallName = CallName>(...names: readonly Name[]): Call<Name>[] {
    const kept = this.#kept.slice(this.#first) as unknown as Call<Name>[]
    return names.length === 0 ? kept : kept.filter(({ operation }) => names.includes(operation))
  }

  clear(): void {
    this.#kept = []
    this.#first = 0
    this.#bytes = 0
    this.#cleared = this.#count
  }

  /** Forgets all calls, and counts anew. */
  reset(): void {
    this.clear()
    this.#count = this.#cleared = 0
  }

  begin(operation: string, request: unknown, now: number, transaction?: number): Kept {
    const call = {
      n: ++this.#count,
      operation,
      request,
      outcome: 'pending',
      response: undefined,
      transaction,
      error: undefined,
      startedAt: now,
      endedAt: undefined,
      faults: none,
    } as Kept
    this.#kept.push(call)
    this.#bytes += bytesOf(request)
    if (this.length > this.#most || this.#bytes > mostBytes) this.#drop()
    return call
  }

  succeed(call: Kept, response: unknown, now: number): void {
    call.outcome = 'succeeded'
    call.response = response as Kept['response']
    call.endedAt = now
  }

  fail(call: Kept, error: unknown, now: number): void {
    call.outcome = 'failed'
    call.error = error
    call.endedAt = now
  }

  #drop(): void {
    while (this.length > 1 && (this.length > this.#most || this.#bytes > mostBytes)) {
      this.#bytes -= bytesOf(this.#kept[this.#first]!.request)
      this.#kept[this.#first++] = undefined!
    }
    if (this.#first < 1_000 || this.#first * 2 < this.#kept.length) return
    this.#kept = this.#kept.slice(this.#first)
    this.#first = 0
  }
}

/** The bytes of rows that a request holds, about. */
function bytesOf(request: unknown): number {
  const data = (request as { data?: unknown } | null | undefined)?.data
  if (data === undefined) return 0
  if (Array.isArray(data)) return data.length * rowBytes
  const { byteLength, numRows } = data as { byteLength?: number; numRows?: number }
  return byteLength ?? (numRows ?? 0) * rowBytes
}
