import { createHmac, timingSafeEqual } from 'node:crypto'
import { invalid } from '../errors.ts'

/**
 * Page tokens: where a listing goes on, sealed with the catalog's secret together with what was asked, so
 * that a token that was changed, or is used for another listing, is refused. Opaque to callers.
 */
export type Position = readonly (string | number)[]

const sealBytes = 12
const tokenLimit = 64 * 1024

/** Makes the token that continues `asked` after `position`. */
export function sealPageToken(secret: string, asked: string, position: Position): string {
  const body = Buffer.from(JSON.stringify(position))
  return Buffer.concat([seal(secret, asked, body), body]).toString('base64url')
}

/** The position in a token, or undefined for the first page (an absent, null or empty token). */
export function openPageToken(
  secret: string,
  asked: string,
  token: string | null | undefined,
): Position | undefined {
  if (token === undefined || token === null || token === '') return undefined
  if (token.length <= tokenLimit) {
    const bytes = Buffer.from(token, 'base64url')
    const body = bytes.subarray(sealBytes)
    if (
      bytes.length > sealBytes &&
      bytes.toString('base64url') === token &&
      timingSafeEqual(bytes.subarray(0, sealBytes), seal(secret, asked, body))
    ) {
      return JSON.parse(body.toString()) as Position
    }
  }
  throw invalid(
    'page_token is not one this listing gave out. Pass back the page_token of the previous response unchanged, ' +
      'with the same identifier and filters, or leave it out to start from the beginning.',
  )
}

function seal(secret: string, asked: string, body: Buffer): Buffer {
  return createHmac('sha256', secret).update(asked).update('\0').update(body).digest().subarray(0, sealBytes)
}
