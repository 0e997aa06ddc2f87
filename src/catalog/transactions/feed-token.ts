import { createHash } from 'node:crypto'
import { CatalogError, invalid } from '../../base/errors.ts'

/** A position in the feed: after the entry `number`, which belongs to `transaction`. Number 0 is before all entries. */
export interface Position {
  readonly number: number
  readonly transaction: string
}

export const beginning: Position = { number: 0, transaction: '' }

const longestToken = 512

/** Encodes a position as a token, which is valid for this catalog only. */
export function tokenOf(catalog: string, { number, transaction }: Position): string {
  return inUrl(Buffer.from(JSON.stringify([markOf(catalog), number, transaction])).toString('base64'))
}

/** Decodes a token. Fails with `InvalidInput` for a malformed token, and for one of another catalog. */
export function positionOf(catalog: string, token: unknown): Position {
  const [mark, number, transaction] = partsOf(token)
  if (mark !== markOf(catalog)) {
    throw invalid(
      'The token since is of another catalog. Give a token that this catalog gave, or leave since out to begin now.',
    )
  }
  return { number, transaction }
}

/** A hash of the catalog's id. The id is public, but a token need not reveal it. */
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
      // Not JSON, so not a token.
    }
  }
  throw invalid('since is no token of the change feed. Pass back the token of a change as it came.')
}

/** The error for a feed position that does not exist, or no longer exists. */
export function positionGone(): CatalogError {
  return new CatalogError(
    'TransactionNotFound',
    'The changes since this token are not all there any more: they are too old, or the catalog was put back to an earlier state. Watch from now on, list what there is, and go on from there.',
  )
}

/** Base64 for URLs. Buffers in browsers do not support `base64url`. */
function inUrl(base64: string): string {
  return base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

function fromUrl(text: string): string {
  return text.replaceAll('-', '+').replaceAll('_', '/')
}
