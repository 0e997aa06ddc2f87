import { invalid } from '../../base/errors.ts'
import { inspected } from '../../base/inspected.ts'
import { quote } from '../../base/model/identifier.ts'
import { didYouMean } from '../../base/model/nearest.ts'
import type { AnyOperation, OperationOptions, TransactionOptions } from '../../catalog/index.ts'
import { beginsOrEnds, transactionNamed } from '../../catalog/index.ts'
import { type OperationName, operations } from '../../catalog/operations/index.ts'

/** What may be called: an operation, or `transaction`, which runs a function of operations. */
export type CallName = OperationName | 'transaction'

/** One recorded call of an operation, or of `transaction`. */
export interface Call<Name extends CallName = CallName> {
  /** The number of the call, counted from 1 since the fake was opened or reset. */
  readonly n: number
  readonly operation: Name
  /** The caller's request object, not a copy. For a transaction, its options. */
  readonly request: Name extends OperationName
    ? Parameters<(typeof operations)[Name]>[1]
    : TransactionOptions | undefined
  readonly outcome: 'pending' | 'succeeded' | 'failed'
  /** The response. For a transaction, the result of its function. */
  readonly response: Name extends OperationName
    ? Awaited<ReturnType<(typeof operations)[Name]>> | undefined
    : unknown
  /** The `n` of the `transaction` or `beginTransaction` call that this call is inside of; undefined outside of any. */
  readonly transaction: number | undefined
  /** The error that the caller got, from the catalog or from a fault. */
  readonly error: unknown
  /** When the call began, by the fake's clock. */
  readonly startedAt: number
  /** When the call settled, by the fake's clock. */
  readonly endedAt: number | undefined
  /** The ids of the faults that affected the call. */
  readonly faults: readonly string[]
}

/** The recorded calls of a fake, oldest first. */
export interface Calls extends Iterable<Call> {
  /** How many calls are kept. */
  readonly length: number
  /** How many of the oldest calls were dropped to bound memory. */
  readonly dropped: number
  /** The latest call. */
  readonly last: Call | undefined
  /** The calls of these operations; all of them when none is named. Throws `InvalidInput` for a name of none. */
  of<Name extends CallName = CallName>(...names: readonly Name[]): Call<Name>[]
  /** Forgets all calls. */
  clear(): void
}

type Kept = { -readonly [Member in keyof Call]: Call[Member] }

const none: readonly string[] = []
const callNames: readonly string[] = ['transaction', ...Object.keys(operations)]

/** The most bytes of row data that the recorded requests may retain. */
const maxBytes = 64 * 1024 * 1024

/** The approximate size of a row object, in bytes. */
const rowBytes = 100

export class CallLog implements Calls {
  readonly #most: number
  #kept: Kept[] = []
  /** The index of the oldest kept call. Entries before it are removed in batches. */
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
    // Else a test that counts none of these calls would pass for a misspelt name.
    const unknown = names.find((name) => !callNames.includes(name))
    if (unknown !== undefined) {
      const hint = didYouMean(unknown, callNames)
      throw invalid(`There is no operation ${quote(unknown)}. ${hint}Write it as in createTable.`)
    }
    const kept = this.#kept.slice(this.#first) as unknown as Call<Name>[]
    return names.length === 0 ? kept : kept.filter(({ operation }) => names.includes(operation))
  }

  /** A line for each call. Requests hold rows, and perhaps credentials. */
  [inspected](): readonly string[] {
    return this.of().map(({ n, operation, request, outcome }) => {
      const id = (request as { readonly id?: unknown } | undefined)?.id
      return `${n} ${operation}${Array.isArray(id) ? ` ${JSON.stringify(id)}` : ''}: ${outcome}`
    })
  }

  clear(): void {
    this.#kept = []
    this.#first = 0
    this.#bytes = 0
    this.#cleared = this.#count
  }

  /** Forgets all calls and restarts the count. */
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
    if (this.length > this.#most || this.#bytes > maxBytes) this.#drop()
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
    while (this.length > 1 && (this.length > this.#most || this.#bytes > maxBytes)) {
      this.#bytes -= bytesOf(this.#kept[this.#first]!.request)
      this.#kept[this.#first++] = undefined!
    }
    if (this.#first < 1_000 || this.#first * 2 < this.#kept.length) return
    this.#kept = this.#kept.slice(this.#first)
    this.#first = 0
  }
}

/** The approximate size of the rows in a request, in bytes. */
function bytesOf(request: unknown): number {
  const data = (request as { data?: unknown } | null | undefined)?.data
  if (data === undefined) return 0
  if (Array.isArray(data)) return data.length * rowBytes
  const { byteLength, numRows } = data as { byteLength?: number; numRows?: number }
  return byteLength ?? (numRows ?? 0) * rowBytes
}

/** The most open transactions that are remembered. */
const most = 10_000

/** Maps open transactions to the calls that began them. */
export class OpenCalls {
  readonly #calls = new Map<string, number>()

  /** Records the response of `beginTransaction`, which was the n-th call. */
  begun(answer: unknown, n: number): void {
    this.#calls.set((answer as { transaction_id: string }).transaction_id, n)
    if (this.#calls.size > most) this.#calls.delete(this.#calls.keys().next().value!)
  }

  /** The transaction that a call is part of, or ends, with the call that began it. */
  of(
    operation: AnyOperation,
    request: unknown,
    options: OperationOptions,
  ): { readonly id: string; readonly call: number; readonly isPart: boolean } | undefined {
    if (this.#calls.size === 0) return undefined
    const isEnd = beginsOrEnds(operation.name)
    const id = isEnd ? lastOf((request as { id?: unknown } | undefined)?.id) : named(request, options)
    const call = id === undefined ? undefined : this.#calls.get(id)
    return call === undefined ? undefined : { id: id!, call, isPart: !isEnd }
  }

  clear(): void {
    this.#calls.clear()
  }
}

function lastOf(id: unknown): string | undefined {
  return Array.isArray(id) && typeof id.at(-1) === 'string' ? id.at(-1) : undefined
}

/** The id of the transaction in a request. Undefined for an invalid id, which the operation refuses later. */
function named(request: unknown, options: OperationOptions): string | undefined {
  try {
    return transactionNamed(request, options)
  } catch {
    return undefined
  }
}
