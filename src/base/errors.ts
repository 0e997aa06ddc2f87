/**
 * The number of every error code, as the Lance Namespace protocol numbers them.
 * Source: `ErrorResponse.code` of the protocol's OpenAPI file.
 */
export const errorNumbers = {
  Unsupported: 0,
  NamespaceNotFound: 1,
  NamespaceAlreadyExists: 2,
  NamespaceNotEmpty: 3,
  TableNotFound: 4,
  TableAlreadyExists: 5,
  TableIndexNotFound: 6,
  TableIndexAlreadyExists: 7,
  TableTagNotFound: 8,
  TableTagAlreadyExists: 9,
  TransactionNotFound: 10,
  TableVersionNotFound: 11,
  TableColumnNotFound: 12,
  InvalidInput: 13,
  ConcurrentModification: 14,
  PermissionDenied: 15,
  Unauthenticated: 16,
  ServiceUnavailable: 17,
  Internal: 18,
  InvalidTableState: 19,
  TableSchemaValidationError: 20,
  Throttling: 21,
  TableBranchNotFound: 22,
  TableBranchAlreadyExists: 23,
} as const

export type ErrorCode = keyof typeof errorNumbers

/** Marks the errors of every copy of this class. */
const mark: unique symbol = Symbol.for('tabularium.CatalogError') as never

/**
 * The error that every operation throws when it fails.
 *
 * `code` is stable and made for programs; `message` is made for people: it says what was wrong and where,
 * and what to do next. `cause` holds the error underneath, when there is one.
 *
 * ```ts
 * try {
 *   await catalog.describeTable({ id: ['prod', 'flights'] })
 * } catch (error) {
 *   if (error instanceof CatalogError && error.code === 'TableNotFound') …
 * }
 * ```
 */
export class CatalogError extends Error {
  override readonly name = 'CatalogError'
  readonly code: ErrorCode
  /** The transaction that failed, where one was recorded: describe it by this id. */
  declare readonly transaction_id?: string
  /** Whether the change may have been made all the same, since its answer was lost. */
  declare readonly mayBeDone?: boolean
  /** With a version that was refused: the one to create instead, if no other writer is faster. Needs no further read. */
  declare readonly next_version?: number

  // A process may load this class twice: with the client and the catalog, or as CommonJS and as ES module.
  static {
    Object.defineProperty(CatalogError.prototype, mark, { value: true })
    Object.defineProperty(CatalogError, Symbol.hasInstance, {
      value(this: unknown, error: unknown): boolean {
        if (this !== CatalogError) return Function.prototype[Symbol.hasInstance].call(this, error)
        return typeof error === 'object' && error !== null && mark in error
      },
    })
  }

  constructor(
    code: ErrorCode,
    message: string,
    options?: {
      cause?: unknown
      transaction_id?: string | undefined
      mayBeDone?: boolean | undefined
      next_version?: number | undefined
    },
  ) {
    super(message, options)
    this.code = code
    if (options?.transaction_id !== undefined) this.transaction_id = options.transaction_id
    if (options?.mayBeDone) this.mayBeDone = true
    if (options?.next_version !== undefined) this.next_version = options.next_version
  }

  /** What `JSON.stringify` writes: the message, too, and neither the stack nor the cause. */
  toJSON(): object {
    return { ...this, message: this.message }
  }

  /** The protocol's number of `code`. */
  get number(): number {
    return errorNumbers[this.code]
  }
}

/** Adds to an error of any kind the id of the transaction that failed. */
export function noteTransaction(error: unknown, transaction_id: string): void {
  if (error instanceof Error && Object.isExtensible(error)) Object.assign(error, { transaction_id })
}

/** The id of the transaction that failed with an error, where one was recorded. */
export function transactionOf(error: unknown): string | undefined {
  const { transaction_id } = error instanceof Error ? (error as { transaction_id?: unknown }) : {}
  return typeof transaction_id === 'string' ? transaction_id : undefined
}

/** An `InvalidInput` error, for a value of the caller. */
export function invalid(message: string, options?: { cause?: unknown }): CatalogError {
  return new CatalogError('InvalidInput', message, options)
}

/** An `Unsupported` error: `what` says what is not possible here, and `instead` what to do. Both are sentences. */
export function unsupported(what: string, instead: string, options?: { cause?: unknown }): CatalogError {
  return new CatalogError('Unsupported', `${what} ${instead}`, options)
}
