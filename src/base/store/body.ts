import { CatalogError } from '../errors.ts'

/** The error of every operation on a closed store. */
export function closedError(): CatalogError {
  return new CatalogError('ServiceUnavailable', 'The catalog is closed: open it again to use it.')
}

/** The error of a reader or writer that is used after its transaction. */
export function endedError(): CatalogError {
  return new CatalogError(
    'Internal',
    'A reader or writer was used after its transaction ended: do all reading and writing inside the body.',
  )
}

/** The error of a transaction begun inside the body of another. */
export function nestedError(): CatalogError {
  return new CatalogError(
    'Internal',
    'A transaction was begun inside the body of another: use the reader or writer the body was given.',
  )
}

/**
 * Runs the body of a transaction and returns its result. Refuses a body that returns a promise: after its first
 * await, the body would run outside of the transaction.
 */
export function runBody<A, T>(body: (access: A) => T, access: A): T {
  const result = body(access)
  if (typeof (result as { then?: unknown } | undefined | null)?.then === 'function') {
    // Nothing else handles the promise, and an unhandled rejection would end the process.
    Promise.resolve(result).catch(() => {})
    throw new CatalogError(
      'Internal',
      'The body of a transaction returned a promise: make it synchronous and do slow work before it.',
    )
  }
  return result
}
