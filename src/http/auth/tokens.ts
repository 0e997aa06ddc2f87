import { timingSafeEqual } from 'node:crypto'
import { invalid } from '../../errors.ts'
import type { Principal } from './auth.ts'

/** A token that is valid as it is. */
export interface StaticToken {
  readonly token: string
  /** Who holds it, for hooks, limits and logs. Default: `token-` and its place in the list. */
  readonly name?: string | undefined
}

const shortest = 8

/**
 * Tells whose a token is. Every token is compared, in frames of one length and in constant time, so that how
 * long it takes tells nothing about how much of a token was right.
 */
export function tokenVerifier(
  tokens: readonly (string | StaticToken)[],
): (token: string) => Principal | undefined {
  const known = tokens.map((given, index) => {
    const { token, name = `token-${index + 1}` } = typeof given === 'string' ? { token: given } : given
    if (typeof token !== 'string' || token.length < shortest || /\s/.test(token)) {
      throw invalid(
        `auth.tokens[${index}] must be at least ${shortest} characters long, without spaces. Make one with: openssl rand -hex 32`,
      )
    }
    return { token, principal: { name } }
  })
  const size = lengthBytes + Math.max(0, ...known.map(({ token }) => Buffer.byteLength(token)))
  const framed = known.map(({ token, principal }) => ({
    frame: frameOf(Buffer.alloc(size), token),
    principal,
  }))
  const given = Buffer.alloc(size)
  return (token) => {
    frameOf(given, token)
    let found: Principal | undefined
    for (const { frame, principal } of framed) if (timingSafeEqual(given, frame)) found = principal
    given.fill(0)
    return found
  }
}

const lengthBytes = 4

/**
 * Writes a token, its length first, into a frame of zeros. A longer one is cut off, and has a length that no
 * known one has. Digests would be of one length too; making one takes as long as all other checks of a request.
 */
function frameOf(frame: Buffer, token: string): Buffer {
  frame.writeUInt32LE(Buffer.byteLength(token))
  frame.write(token, lengthBytes)
  return frame
}
