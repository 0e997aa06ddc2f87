import { transactionOf } from '../../base/errors.ts'
import { principalKey } from '../../catalog/index.ts'
import {
  type Catalog,
  CatalogError,
  type OperationName,
  type OperationOptions,
} from '../../tabularium/index.ts'

type Fields = Readonly<Record<string, unknown>>
type Method = (request: Fields, options: OperationOptions) => Promise<Fields>

/** A change that is not committed yet. */
interface Change {
  readonly operation: OperationName
  readonly request: Fields
  readonly bytes: number
}

/** The most of one connection that `undo` can repeat. */
const maxChanges = 1_000
const maxBytes = 16 * 1024 * 1024

/** How long a transaction waits for the next call, in seconds: the most that a catalog allows. */
const idleSeconds = 3_600

/**
 * The view that one connection has of the catalog. Its first change begins a transaction, which all later calls are
 * part of, until it is committed or rolled back. Calls must come one by one once there is a transaction.
 */
export class Workspace {
  readonly #catalog: Catalog
  readonly #context: Fields
  #transaction: string | undefined
  #size = 0
  /** The changes for `undo`; undefined when they are too many. */
  #changes: Change[] | undefined = []
  #bytes = 0
  #isClosed = false

  /** `owner` is the name of the caller, where callers have names. */
  constructor(catalog: Catalog, owner: string | undefined) {
    this.#catalog = catalog
    this.#context = owner === undefined ? {} : { context: { [principalKey]: owner } }
  }

  /** How many changes wait for a commit. */
  get size(): number {
    return this.#size
  }

  /** Calls with the handle of the catalog, and with options that name the transaction. */
  read<T>(
    options: OperationOptions,
    call: (catalog: Catalog, options: OperationOptions) => Promise<T>,
  ): Promise<T> {
    return this.#noticing(() => call(this.#catalog, { ...options, transaction: this.#transaction }))
  }

  /** Runs an operation that changes nothing. */
  run(operation: OperationName, request: Fields, options: OperationOptions): Promise<Fields> {
    return this.read(options, (_, inside) => this.#call(operation, request, inside))
  }

  /** Runs a change inside of the transaction, and begins one if there is none. `bytes` is about the size of the request. */
  async change(
    operation: OperationName,
    request: Fields,
    bytes: number,
    options: OperationOptions,
  ): Promise<Fields> {
    this.#transaction ??= await this.#begin(options)
    try {
      const answer = await this.run(operation, request, options)
      this.#note({ operation, request, bytes })
      return answer
    } finally {
      // Without changes, reads need no transaction, whose snapshot grows old.
      if (this.#size === 0) await this.#end()
    }
  }

  /** Commits all changes. Answers with how many there were. */
  async commit(): Promise<number> {
    const { size } = this
    if (this.#transaction === undefined) return 0
    await this.#noticing(() => this.#call('commitTransaction', { id: [this.#transaction] }, {}))
    this.#forget()
    return size
  }

  /** Takes all changes back. Answers with how many there were. */
  async rollBack(): Promise<number> {
    const { size } = this
    await this.#end()
    return size
  }

  /**
   * Takes the last change back: repeats those before it in a new transaction, which replaces the old one. When one of
   * them fails there, because others changed the catalog, everything stays as it is.
   */
  async undo(options: OperationOptions): Promise<string | undefined> {
    if (this.#changes === undefined) throw tooMuch()
    const last = this.#changes.at(-1)
    if (last === undefined) return undefined
    const kept = this.#changes.slice(0, -1)
    if (kept.length === 0) {
      await this.#end()
      return last.operation
    }
    const transaction = await this.#begin(options)
    try {
      for (const { operation, request } of kept)
        await this.#call(operation, request, { ...options, transaction })
    } catch (cause) {
      await this.#rollBack(transaction)
      throw cannotRepeat(cause)
    }
    await this.#rollBack(this.#transaction)
    this.#transaction = transaction
    this.#changes = kept
    this.#size = kept.length
    this.#bytes -= last.bytes
    return last.operation
  }

  /** Takes everything back that is not committed. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#end()
  }

  async #begin({ signal }: OperationOptions): Promise<string> {
    // Between two calls of a model there is time for others, whose changes must not take away its own.
    const request = { idle_timeout_seconds: idleSeconds, isolation: 'ReadCommitted' }
    const { transaction_id } = await this.#call('beginTransaction', request, { signal })
    const id = transaction_id as string
    if (!this.#isClosed) return id
    await this.#rollBack(id)
    throw new CatalogError('ServiceUnavailable', 'The connection has ended.')
  }

  async #end(): Promise<void> {
    const transaction = this.#transaction
    this.#forget()
    await this.#rollBack(transaction)
  }

  async #rollBack(transaction: string | undefined): Promise<void> {
    // One that cannot be rolled back expires, or ends with its process.
    if (transaction !== undefined)
      await this.#call('rollbackTransaction', { id: [transaction] }, {}).catch(() => {})
  }

  #note(change: Change): void {
    this.#size++
    this.#bytes += change.bytes
    if (this.#size > maxChanges || this.#bytes > maxBytes) this.#changes = undefined
    this.#changes?.push(change)
  }

  #forget(): void {
    this.#transaction = undefined
    this.#size = 0
    this.#changes = []
    this.#bytes = 0
  }

  #call(operation: OperationName, request: Fields, options: OperationOptions): Promise<Fields> {
    return (this.#catalog[operation] as unknown as Method)({ ...request, ...this.#context }, options)
  }

  /** Runs something in the transaction, and notices when the transaction has ended by itself. */
  async #noticing<T>(call: () => Promise<T>): Promise<T> {
    const transaction = this.#transaction
    try {
      return await call()
    } catch (error) {
      if (transaction === undefined || !isLost(error, transaction)) throw error
      const { size } = this
      if (this.#transaction === transaction) this.#forget()
      throw lost(error as CatalogError, size)
    }
  }
}

/** Whether an error means that nothing of the transaction was, or will be, committed. */
function isLost(error: unknown, transaction: string): boolean {
  if (!(error instanceof CatalogError)) return false
  const isOver = error.code === 'ConcurrentModification' || error.code === 'TransactionNotFound'
  return isOver && transactionOf(error) === transaction
}

function lost({ code, message, cause }: CatalogError, size: number): CatalogError {
  return new CatalogError(
    code,
    `${message} The ${size} uncommitted changes of this connection are gone. Look at what there is now, and make them again.`,
    { cause },
  )
}

function tooMuch(): CatalogError {
  return new CatalogError(
    'InvalidInput',
    `undo repeats all changes but the last, and there were more than ${maxChanges.toLocaleString('en')} of them, or ${maxBytes.toLocaleString('en')} bytes. Use rollback, which takes all of them back, or commit.`,
  )
}

function cannotRepeat(cause: unknown): unknown {
  if (!(cause instanceof CatalogError)) return cause
  return new CatalogError(
    cause.code,
    `undo repeats the changes before the last, and one of them fails now: ${cause.message} Nothing was taken back. Use rollback, which takes all of them back.`,
    { cause },
  )
}
