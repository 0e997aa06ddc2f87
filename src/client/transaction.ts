import { CatalogError, noteTransaction } from '../base/errors.ts'
import { anySignal } from '../base/scheduling/signals.ts'
import { performance, sleep } from '../base/time.ts'
import type {
  AnyOperation,
  Catalog,
  FunctionRun,
  OperationOptions,
  Transact,
  TransactionOptions,
} from '../catalog/index.ts'
import { checkFunction, invoke, runFunction } from '../catalog/index.ts'
import type { BeginTransactionRequest, BeginTransactionResponse } from '../catalog/operations/index.ts'
import { retryDelay } from './exchange.ts'
import type { Settings } from './options.ts'

/** How long a commit is retried, in milliseconds, after its answer was lost. */
const outcomeMillis = 60_000

/** Runs a function as a transaction on the server. */
export async function transactOver(
  settings: Settings,
  catalog: Catalog,
  work: Parameters<Transact>[0],
  options: TransactionOptions = {},
): Promise<unknown> {
  const { attempts, isolation } = checkFunction(work, options)
  const { onProgress } = options
  const signal = anySignal(options.signal)
  signal.throwIfAborted()
  let previousId: string | undefined
  return runFunction(work, attempts, signal, async () => {
    const { transaction_id } = await begin(catalog, { isolation, retry_of: previousId }, signal)
    previousId = transaction_id
    onProgress?.({ transaction_id, rows: 0, total: 0 })
    return new RemoteRun(settings, catalog, transaction_id, signal)
  })
}

/**
 * Begins a transaction. With `retry_of`, one that lost races gets turns, and the answer may take seconds. A server may
 * no longer have the former transaction, or may not know the field. So after an error it begins without `retry_of`.
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
      // The former transaction is committed, so the function must not run again.
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
  /** The conflict that ended the whole transaction. */
  #conflict: CatalogError | undefined

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
      if (this.#isOfTransaction(error)) this.#conflict ??= error
      throw error
    }
  }

  async lostBy(): Promise<unknown> {
    if (this.#conflict && (await this.#isCanceled())) throw this.#conflict
    return this.#conflict
  }

  async commit(): Promise<unknown> {
    try {
      this.#signal.throwIfAborted()
      await this.#commitWithRetries()
      return undefined
    } catch (error) {
      const isConflict = error instanceof CatalogError && error.code === 'ConcurrentModification'
      if (!isConflict || (await this.#isCanceled())) throw error
      return error
    }
  }

  /** Commits, and retries while no server answers, because only the server knows whether the commit happened. */
  async #commitWithRetries(): Promise<void> {
    const until = performance.now() + outcomeMillis
    for (let attempt = 0; ; attempt++) {
      try {
        // Without the signal, because a commit that was sent cannot be canceled.
        await this.#catalog.commitTransaction({ id: [this.transactionId] })
        return
      } catch (error) {
        const isTransient =
          error instanceof CatalogError &&
          (error.code === 'ServiceUnavailable' || error.code === 'Throttling')
        const isFinal = this.#settings.retries === 0 || this.#signal.aborted || performance.now() > until
        if (!isTransient || isFinal) throw error
        await sleep(retryDelay(attempt, null))
      }
    }
  }

  async giveUp(error: unknown): Promise<void> {
    const isAborted = this.#signal.aborted && error === this.#signal.reason
    if (!isAborted) noteTransaction(error, this.transactionId)
    const id = [this.transactionId]
    const request = isAborted ? { id } : { id, ...failureOf(error) }
    // An error is ignored: the server rolls back an idle transaction by itself.
    await this.#catalog.rollbackTransaction(request).catch(() => {})
  }

  /** Whether an error is about the whole transaction. An operation inside has an id of its own. */
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
