import { CatalogError, invalid } from '../errors.ts'

/** The header with the idempotency key of a change. */
export const idempotencyHeader = 'idempotency-key'

export const maxKeyCharacters = 256

/** Fails with `InvalidInput` for what is no idempotency key. */
export function requireKey(key: unknown): string {
  const isText = typeof key === 'string'
  if (isText && key.length > 0 && key.length <= maxKeyCharacters && key.isWellFormed()) return key
  throw invalid(
    `The idempotency key must be a text of 1 to ${maxKeyCharacters} characters, such as a UUID; it is ${isText ? `${key.length} characters long` : `a ${typeof key}`}.`,
  )
}

/** Another request has the idempotency key. */
export class KeyReused extends CatalogError {}
