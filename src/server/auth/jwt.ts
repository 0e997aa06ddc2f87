import type { KeyObject } from 'node:crypto'
import type { JSONWebKeySet, JWTVerifyGetKey, JWTVerifyOptions } from 'jose'
import { CatalogError, invalid } from '../../base/errors.ts'
import { optionalPackage } from '../../base/optional-package.ts'
import type { Principal } from './principal.ts'

/** Which JSON Web Tokens are valid. */
export interface JwtOptions {
  /** What `iss` must be. */
  readonly issuer: string | readonly string[]
  /** What `aud` must be, or hold. */
  readonly audience: string | readonly string[]
  /** The signature algorithms to accept, such as `['RS256']`. `none` is never accepted. */
  readonly algorithms: readonly string[]
  /** Where the issuer publishes its keys. They are cached, and fetched again when a token names an unknown key. */
  readonly jwksUrl?: string | URL | undefined
  /** The issuer's keys, instead of `jwksUrl`: a key set, one public key, or the bytes of a secret. */
  readonly keys?: { readonly keys: readonly object[] } | KeyObject | Uint8Array | undefined
  /** The allowed clock difference, in seconds. Default: 5. */
  readonly clockTolerance?: number | undefined
  /** How long fetched keys are cached, in milliseconds. Default: 10 minutes. */
  readonly keysMaxAge?: number | undefined
  /** The minimum time between two fetches for unknown keys, in milliseconds. Default: 30 seconds. */
  readonly keysCooldown?: number | undefined
}

const tokenShape = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * Verifies signature, issuer, audience, algorithm and times (`exp` is required). Resolves to undefined for an invalid
 * token. Fails with `ServiceUnavailable` when the issuer's keys cannot be fetched, because the token may be valid.
 */
export async function jwtVerifier(
  options: JwtOptions,
): Promise<(token: string) => Promise<Principal | undefined>> {
  const jose = await optionalPackage('Checking JSON Web Tokens', 'jose', () => import('jose'))
  checkOptions(options)
  const key = keySource(jose, options)
  const rules: JWTVerifyOptions = {
    issuer: asList(options.issuer),
    audience: asList(options.audience),
    algorithms: [...options.algorithms],
    clockTolerance: options.clockTolerance ?? 5,
    requiredClaims: ['exp'],
  }
  return async (token) => {
    if (!tokenShape.test(token)) return undefined
    try {
      const { payload } = await jose.jwtVerify(token, key as JWTVerifyGetKey, rules)
      const { sub, client_id, azp } = payload
      const name = [sub, client_id, azp].find((claim) => typeof claim === 'string' && claim !== '')
      return { name: (name as string | undefined) ?? String(payload.iss), claims: payload }
    } catch (cause) {
      // With local keys, a `TypeError` means that the token was signed with another kind of key.
      if (isInvalidToken(jose, cause) || (options.jwksUrl === undefined && cause instanceof TypeError))
        return undefined
      throw new CatalogError(
        'ServiceUnavailable',
        "The keys that tokens are checked with cannot be had from the issuer now. Try again, or check the issuer's jwksUrl.",
        { cause },
      )
    }
  }
}

type Jose = typeof import('jose')

function keySource(jose: Jose, { jwksUrl, keys, keysMaxAge, keysCooldown }: JwtOptions) {
  if (jwksUrl !== undefined) {
    return jose.createRemoteJWKSet(new URL(jwksUrl), {
      ...(keysMaxAge === undefined ? {} : { cacheMaxAge: keysMaxAge }),
      ...(keysCooldown === undefined ? {} : { cooldownDuration: keysCooldown }),
    })
  }
  const isSet = typeof keys === 'object' && 'keys' in keys && Array.isArray(keys.keys)
  return isSet ? jose.createLocalJWKSet(keys as unknown as JSONWebKeySet) : (keys as KeyObject | Uint8Array)
}

/** Whether the error means that the token is invalid, and not that the check failed. */
function isInvalidToken({ errors }: Jose, error: unknown): boolean {
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return false
  // A failed fetch of the keys is a plain error, or one with the generic code.
  return error instanceof errors.JOSEError && error.code !== 'ERR_JOSE_GENERIC'
}

function checkOptions({ issuer, audience, algorithms, jwksUrl, keys }: JwtOptions): void {
  const missing = [
    asList(issuer).length === 0 && 'issuer',
    asList(audience).length === 0 && 'audience',
    !(Array.isArray(algorithms) && algorithms.length > 0) && 'algorithms',
    jwksUrl === undefined && keys === undefined && 'jwksUrl or keys',
  ].filter((name) => name !== false)
  if (missing.length > 0) throw invalid(`auth.jwt lacks ${missing.join(', ')}. All of them are needed.`)
  if (algorithms.some((name) => typeof name !== 'string' || name.toLowerCase() === 'none')) {
    throw invalid(
      "auth.jwt.algorithms must name signature algorithms, such as 'RS256'; 'none' signs nothing.",
    )
  }
}

function asList(value: string | readonly string[] | undefined): string[] {
  return (typeof value === 'string' ? [value] : [...(value ?? [])]).filter((item) => item !== '')
}
