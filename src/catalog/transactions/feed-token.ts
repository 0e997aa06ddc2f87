import { createHash } from 'node:crypto'
import { CatalogError, invalid } from '../../base/errors.ts'

/** A place in the feed: behind the entry with a number, which is that of a transaction. Number 0 is before all. */
export interface Position {
  readonly number: number
  readonly transaction: string
}

export const beginning: Position = { number: 0, transaction: '' }

const longestToken = 512

/** The text of a position. It is bound to the catalog, and means nothing to others. */
export function tokenOf(catalog: string, { number, transaction }: Position): string {
  return inUrl(Buffer.from(JSON.stringify([markOf(catalog), number, transaction])).toString('base64'))
}

/** The position of a token. Fails with `InvalidInput` for what is none, and for one of another catalog. */
export function positionOf(catalog: string, token: unknown): Position {
  const [mark, number, transaction] = partsOf(token)
  if (mark !== markOf(catalog)) {
    throw invalid(
      'The token since is of another catalog. Give a token that this catalog gave, or leave since out to begin now.',
    )
  }
  return { number, transaction }
}

/** Catalogs have their ids in public, but a token need not tell it. */
function markOf(catalog: string): string {
  return inUrl(createHash('sha256').update(catalog).digest('base64')).slice(0, 8)
}

function partsOf(token: unknown): [mark: string, number: number, transaction: string] {
  if (typeof token === 'string' && token.length > 0 && token.length <= longestToken) {
    try {
      const parts: unknown = JSON.parse(Buffer.from(fromUrl(token), 'base64').toString())
      if (Array.isArray(parts) && parts.length === 3) {
        const [mark, number, transaction] = parts as unknown[]
        const isNumber = Number.isSafeInteger(number) && (number as number) >= 0
        if (typeof mark === 'string' && isNumber && typeof transaction === 'string')
          return [mark, number as number, transaction]
      }
    } catch {
      // No JSON: no token.
    }
  }
  throw invalid('since is no token of the change feed. Pass back the token of a change as it came.')
}

/** The error for a place in the feed that is not there, or not there any more. */
export function positionGone(): CatalogError {
  return new CatalogError(
    'TransactionNotFound',
    'The changes since this token are not all there any more: they are too old, or the catalog was put back to an earlier state. Watch from now on, list what there is, and go on from there.',
  )
}

/** Base64 as URLs take it. Buffers of browsers do not know `base64url`. */
function inUrl(base64: string): string {
  return base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

function fromUrl(text: string): string {
  return text.replaceAll('-', '+').replaceAll('_', '/')
}
