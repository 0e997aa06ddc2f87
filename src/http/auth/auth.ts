import type { IncomingHttpHeaders } from 'node:http'
import { CatalogError, invalid } from '../../errors.ts'
import type { RequestInfo } from '../options.ts'
import { type JwtOptions, jwtVerifier } from './jwt.ts'
import { type StaticToken, tokenVerifier } from './tokens.ts'

/** The caller who sent a request. */
export interface Principal {
  /** The name of a static token, the subject of a JWT, or the name that your own function gives. */
  readonly name: string
  /** The claims of a JWT, or what your own function adds. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/**
 * Tells who owns a token, or undefined when the token is not valid. The token is that of `Authorization: Bearer`
 * or `x-api-key`. It is undefined when the request has neither, for applications that know their callers by
 * other means.
 */
export type TokenVerifier = (
  token: string | undefined,
  request: RequestInfo,
) => Principal | undefined | Promise<Principal | undefined>

/** The ways to know a caller. A token is tried with each way that is given. */
export interface AuthOptions {
  /** Tokens that are valid as they are, with the names of their owners. */
  readonly tokens?: readonly (string | StaticToken)[] | undefined
  /** JSON Web Tokens of an issuer. */
  readonly jwt?: JwtOptions | undefined
  readonly verify?: TokenVerifier | undefined
}

/** Finds out who sent a request, at once where possible. Fails with `Unauthenticated`. */
export type Authenticate = (
  headers: IncomingHttpHeaders,
  request: () => RequestInfo,
) => Principal | Promise<Principal>

/** Makes the check of credentials. Fails with `InvalidInput` when the options give no way to know a caller. */
export async function authenticator({ tokens = [], jwt, verify }: AuthOptions): Promise<Authenticate> {
  if (tokens.length === 0 && jwt === undefined && verify === undefined) {
    throw invalid(
      'auth names no way to know a caller. Give tokens, jwt or verify, or auth: false to let in everybody on this machine.',
    )
  }
  const byToken = tokenVerifier(tokens)
  const byJwt = jwt && (await jwtVerifier(jwt))
  const slow = async (token: string | undefined, request: () => RequestInfo) => {
    const known =
      (token !== undefined && byJwt ? await byJwt(token) : undefined) ?? (await verify?.(token, request()))
    if (known === undefined) throw unauthenticated(token)
    return known
  }
  return (headers, request) => {
    const token = presentedToken(headers)
    const known = token === undefined ? undefined : byToken(token)
    if (known !== undefined) return known
    if (byJwt === undefined && verify === undefined) throw unauthenticated(token)
    return slow(token, request)
  }
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
