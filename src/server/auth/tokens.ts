import { timingSafeEqual } from 'node:crypto'
import { invalid } from '../../base/errors.ts'
import type { Principal } from './principal.ts'

/** A static token. */
export interface StaticToken {
  /** At least 16 characters, best made by a random generator. */
  readonly token: string
  /** The name of the owner, for hooks, limits and logs. Default: `token-` and the position in the list, from 1. */
  readonly name?: string | undefined
}

/** Guessing attacks try words. A token of this many random characters is out of their reach. */
const minLength = 16

/**
 * Returns the owner of a token. It compares every known token, in frames of equal length and in constant time. So the
 * duration does not reveal how much of a token was right.
 */
export function tokenVerifier(
  tokens: readonly (string | StaticToken)[],
): (token: string) => Principal | undefined {
  const known = tokens.map((given, index) => {
    const { token, name = `token-${index + 1}` } = typeof given === 'string' ? { token: given } : given
    if (typeof token !== 'string' || token.length < minLength || /\s/.test(token)) {
      throw invalid(
        `auth.tokens[${index}] must be at least ${minLength} characters long, without spaces. Make one with: openssl rand -hex 32`,
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
 * Writes a token, its length first, into a frame of zeros. A token that is too long is truncated, and its length
 * differs from those of all known tokens. Digests have equal lengths too, but one takes as long as all other checks.
 */
function frameOf(frame: Buffer, token: string): Buffer {
  frame.writeUInt32LE(Buffer.byteLength(token))
  frame.write(token, lengthBytes)
  return frame
}
