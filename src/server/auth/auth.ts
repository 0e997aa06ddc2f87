import type { IncomingHttpHeaders } from 'node:http'
import { CatalogError, invalid } from '../../base/errors.ts'
import type { RateLimit } from '../limits/rate-limit.ts'
import { type JwtOptions, jwtVerifier } from './jwt.ts'
import type { Principal, RequestInfo } from './principal.ts'
import { type StaticToken, tokenVerifier } from './tokens.ts'

/**
 * Returns the owner of a token, or undefined when the token is not valid. The token comes from `Authorization: Bearer`
 * or `x-api-key`. It is undefined when the request has neither, for applications that identify callers by other means.
 */
export type TokenVerifier = (
  token: string | undefined,
  request: RequestInfo,
) => Principal | undefined | Promise<Principal | undefined>

/** The ways to authenticate a caller. Each configured way is tried in turn. */
export interface AuthOptions {
  /** Tokens that are valid as they are, with the names of their owners. */
  readonly tokens?: readonly (string | StaticToken)[] | undefined
  /** JSON Web Tokens of an issuer. */
  readonly jwt?: JwtOptions | undefined
  readonly verify?: TokenVerifier | undefined
}

/** Authenticates a request, synchronously where possible. Fails with `Unauthenticated`. */
export type Authenticate = (
  headers: IncomingHttpHeaders,
  request: () => RequestInfo,
) => Principal | Promise<Principal>

/**
 * Makes the check of credentials. Fails with `InvalidInput` when the options have no way to authenticate a caller.
 *
 * `failures` limits wrong credentials by client address. Slow checks are counted before they run, and refunded when the
 * credentials are right. A valid static token is never limited, so others at its address cannot lock its owner out.
 */
export async function authenticator(
  { tokens = [], jwt, verify }: AuthOptions,
  failures?: RateLimit,
): Promise<Authenticate> {
  if (tokens.length === 0 && jwt === undefined && verify === undefined) {
    throw invalid(
      'auth names no way to know a caller. Give tokens, jwt or verify, or auth: false to let in everybody on this machine.',
    )
  }
  const byStaticToken = tokenVerifier(tokens)
  const byJwt = jwt && (await jwtVerifier(jwt))
  const verifySlowly = async (token: string | undefined, request: () => RequestInfo) => {
    const address = failures && addressOf(request)
    if (address !== undefined) failures?.(address)
    let isWrong = false
    try {
      const known =
        (token !== undefined && byJwt ? await byJwt(token) : undefined) ?? (await verify?.(token, request()))
      if (known !== undefined) return known
      isWrong = true
      throw unauthenticated(token)
    } finally {
      // Refunded also after an error of the check itself: the credentials may be right.
      if (!isWrong && address !== undefined) failures?.refund(address)
    }
  }
  return (headers, request) => {
    const token = presentedToken(headers)
    const known = token === undefined ? undefined : byStaticToken(token)
    if (known !== undefined) return known
    if (verify === undefined && (byJwt === undefined || token === undefined)) {
      if (token !== undefined) failures?.(addressOf(request))
      throw unauthenticated(token)
    }
    return verifySlowly(token, request)
  }
}

function addressOf(request: () => RequestInfo): string {
  return request().remoteAddress ?? ''
}

const bearer = /^bearer +([^\s]+) *$/i

/** The token of a request: that of `Authorization: Bearer`, or `x-api-key` when there is no such header. */
export function presentedToken(headers: IncomingHttpHeaders): string | undefined {
  const { authorization } = headers
  if (authorization !== undefined) return bearer.exec(authorization)?.[1]
  const key = headers['x-api-key']
  return typeof key === 'string' && key !== '' ? key : undefined
}

function unauthenticated(token: string | undefined): CatalogError {
  return new CatalogError(
    'Unauthenticated',
    token === undefined
      ? 'The request has no credentials. Send Authorization: Bearer with a token, or x-api-key.'
      : 'The credentials are not valid, or no longer. Get a new token and send it as Authorization: Bearer, or as x-api-key.',
  )
}
