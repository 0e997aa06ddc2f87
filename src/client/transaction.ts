import { CatalogError, noteTransaction } from '../base/errors.ts'
import { performance, sleep } from '../base/time.ts'
import type { Catalog, Transact, TransactionOptions } from '../catalog/handle/handle.ts'
import { checkFunction, type FunctionRun, runFunction } from '../catalog/handle/transaction-function.ts'
import {
  type AnyOperation,
  invoke,
  type OperationOptions,
} from '../catalog/operations/framework/operation.ts'
import type {
  BeginTransactionRequest,
  BeginTransactionResponse,
} from '../catalog/operations/types/methods.ts'
import { waitBefore } from './exchange.ts'
import type { Settings } from './options.ts'

/** How long the outcome of a commit is asked for, in milliseconds, once its answer was lost. */
const outcomeMillis = 60_000

/** Runs a function as a transaction of the server that a handle leads to. */
export async function transactOver(
  settings: Settings,
  catalog: Catalog,
  work: Parameters<Transact>[0],
  options: TransactionOptions = {},
): Promise<unknown> {
  const { attempts, isolation } = checkFunction(work, options)
  const { signal = new AbortController().signal, onProgress } = options
  signal.throwIfAborted()
  let former: string | undefined
  return runFunction(work, attempts, signal, async () => {
    const { transaction_id } = await begin(catalog, { isolation, retry_of: former }, signal)
    former = transaction_id
    onProgress?.({ transaction_id, rows: 0, total: 0 })
    return new RemoteRun(settings, catalog, transaction_id, signal)
  })
}

/**
 * Begins a transaction. What it does again earns it turns. That takes time, and a server may have forgotten of it or not
 * know the field. So without an answer, it begins without them.
 */
async function begin(
  catalog: Catalog,
  { retry_of, ...request }: BeginTransactionRequest,
  signal: AbortSignal,
): Promise<BeginTransactionResponse> {
  if (retry_of !== undefined) {
    try {
      return await catalog.beginTransaction({ ...request, retry_of }, { signal })
    } catch (error) {
      signal.throwIfAborted()
      // It is committed, so nothing may be done again.
      if (error instanceof CatalogError && error.code === 'ConcurrentModification') throw error
    }
  }
  return catalog.beginTransaction(request, { signal })
}

/** One run of the function: a transaction that was begun at the server. */
class RemoteRun implements FunctionRun {
  readonly transactionId: string
  readonly #settings: Settings
  readonly #catalog: Catalog
  readonly #signal: AbortSignal
  /** The error that told that the transaction as a whole has ended. */
  #lost: CatalogError | undefined

  constructor(settings: Settings, catalog: Catalog, transactionId: string, signal: AbortSignal) {
    this.#settings = settings
    this.#catalog = catalog
    this.transactionId = transactionId
    this.#signal = signal
  }

  async run(operation: AnyOperation, request: unknown, options: OperationOptions): Promise<unknown> {
    try {
      return await this.#catalog[invoke](operation, request, { ...options, transaction: this.transactionId })
    } catch (error) {
      if (this.#isOfTransaction(error)) this.#lost ??= error
      throw error
    }
  }

  async lostBy(): Promise<unknown> {
    if (this.#lost && (await this.#isCanceled())) throw this.#lost
    return this.#lost
  }

  async commit(): Promise<unknown> {
    try {
      this.#signal.throwIfAborted()
      await this.#commitPatiently()
      return undefined
    } catch (error) {
      const isLost = error instanceof CatalogError && error.code === 'ConcurrentModification'
      if (!isLost || (await this.#isCanceled())) throw error
      return error
    }
  }

  /**
   * Commits, and asks again while no server answers: nobody but the server knows the outcome, and the function must not
   * run again after a commit.
   */
  async #commitPatiently(): Promise<void> {
    const until = performance.now() + outcomeMillis
    for (let attempt = 0; ; attempt++) {
      try {
        // No signal: a commit that was sent cannot be called back.
        await this.#catalog.commitTransaction({ id: [this.transactionId] })
        return
      } catch (error) {
        const isPassing =
          error instanceof CatalogError &&
          (error.code === 'ServiceUnavailable' || error.code === 'Throttling')
        const isOver = this.#settings.retries === 0 || this.#signal.aborted || performance.now() > until
        if (!isPassing || isOver) throw error
        await sleep(waitBefore(attempt, null))
      }
    }
  }

  async giveUp(error: unknown): Promise<void> {
    const isStopped = this.#signal.aborted && error === this.#signal.reason
    if (!isStopped) noteTransaction(error, this.transactionId)
    const id = [this.transactionId]
    const request = isStopped ? { id } : { id, ...failureOf(error) }
    // The server does it by itself after a while.
    await this.#catalog.rollbackTransaction(request).catch(() => {})
  }

  /** Whether an error is about the transaction, and not about one operation inside, which has an id of its own. */
  #isOfTransaction(error: unknown): error is CatalogError {
    return (
      error instanceof CatalogError &&
      error.code === 'ConcurrentModification' &&
      error.transaction_id === this.transactionId
    )
  }

  async #isCanceled(): Promise<boolean> {
    const { status } = await this.#catalog.describeTransaction({ id: [this.transactionId] })
    return status === 'Canceled'
  }
}

function failureOf(error: unknown): { failure: string; failure_code: CatalogError['code'] } {
  if (error instanceof CatalogError)
    return { failure: error.message.slice(0, 2_000), failure_code: error.code }
  return { failure: 'An unexpected error.', failure_code: 'Internal' }
}
