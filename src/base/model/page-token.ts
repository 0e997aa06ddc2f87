import { createHmac, timingSafeEqual } from 'node:crypto'
import { invalid } from '../errors.ts'

/**
 * The position where a listing continues. A page token holds a position and an HMAC over the position and the request,
 * with the catalog's secret. So a changed token, or one from another listing, is refused. Tokens are opaque to callers.
 */
export type Position = readonly (string | number)[]

const macBytes = 12
const tokenLimit = 64 * 1024

/** Makes the token that continues the listing `asked` after `position`. */
export function sealPageToken(secret: string, asked: string, position: Position): string {
  const body = Buffer.from(JSON.stringify(position))
  return textOf(Buffer.concat([macOf(secret, asked, body), body]))
}

/** The position in a token, or undefined for the first page (an absent, null or empty token). */
export function openPageToken(
  secret: string,
  asked: string,
  token: string | null | undefined,
): Position | undefined {
  if (token === undefined || token === null || token === '') return undefined
  if (token.length <= tokenLimit) {
    const bytes = Buffer.from(token, 'base64')
    const body = bytes.subarray(macBytes)
    if (
      bytes.length > macBytes &&
      textOf(bytes) === token &&
      timingSafeEqual(bytes.subarray(0, macBytes), macOf(secret, asked, body))
    ) {
      return JSON.parse(body.toString()) as Position
    }
  }
  throw invalid(
    'page_token does not come from this listing. Pass back the page_token of the previous response unchanged, ' +
      'with the same identifier and filters, or leave it out to start from the beginning.',
  )
}

/** Bytes as base64url. */
function textOf(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

function macOf(secret: string, asked: string, body: Buffer): Buffer {
  return createHmac('sha256', secret).update(asked).update('\0').update(body).digest().subarray(0, macBytes)
}
