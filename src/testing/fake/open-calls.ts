import { beginsOrEnds, transactionNamed } from '../../catalog/operations/framework/inside.ts'
import type { AnyOperation, OperationOptions } from '../../catalog/operations/framework/operation.ts'

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
