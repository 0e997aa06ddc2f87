import { hash, timingSafeEqual } from 'node:crypto'
import { invalid } from '../errors.ts'
import type { Principal } from './auth.ts'

/** A token that is valid as it is. */
export interface StaticToken {
  readonly token: string
  /** Who holds it, for hooks, limits and logs. Default: `token-` and its place in the list. */
  readonly name?: string | undefined
}

const shortest = 8

/**
 * Tells whose a token is. Every token is compared, by digests of one length and in constant time, so that how
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
    return { digest: digestOf(token), principal: { name } }
  })
  return (token) => {
    const digest = digestOf(token)
    let found: Principal | undefined
    for (const { digest: other, principal } of known) if (timingSafeEqual(digest, other)) found = principal
    return found
  }
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
