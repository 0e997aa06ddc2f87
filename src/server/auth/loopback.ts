import type { IncomingHttpHeaders } from 'node:http'
import { isIPv6 } from 'node:net'
import { CatalogError } from '../../base/errors.ts'

/** Whether a host name or address means this machine alone. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  if (bare === 'localhost' || bare.endsWith('.localhost')) return true
  const v4 = isIPv6(bare) && bare.startsWith('::ffff:') ? bare.slice('::ffff:'.length) : bare
  return v4 === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(v4)
}

/** Stands for the address of a peer that an adapter did not tell. */
export const unknownPeer = 'unknown'

interface Caller {
  /** The address of the other end of the connection; undefined where there is no connection. */
  readonly peerAddress: string | undefined
  /** The address of the caller, which is not that of the peer where a proxy stands between. */
  readonly remoteAddress: string | undefined
  /** Whether `remoteAddress` follows from `X-Forwarded-For`. */
  readonly believesProxy: boolean
  readonly headers: IncomingHttpHeaders
}

/** What proxies add to requests that they pass on. */
const proxyHeaders = ['x-forwarded-for', 'forwarded', 'x-forwarded-host', 'x-real-ip', 'via']

/**
 * Refuses what a server without credentials must not answer: connections from other machines, requests that a proxy
 * on this machine passes on for others, and requests that a web page sends through a browser on this machine. The
 * last ones have a foreign `Origin`, or a foreign `Host` when the page's own name was made to point to this machine.
 */
export function requireLocal({ peerAddress, remoteAddress, believesProxy, headers }: Caller): void {
  if (peerAddress === unknownPeer) {
    throw refused(
      'This server asks for no credentials and so answers its own machine only, and it was not told where the request comes from. Give the handler { remoteAddress } with each request, or set up auth.',
    )
  }
  if (isFar(peerAddress) || isFar(remoteAddress)) {
    throw refused(
      'This server asks for no credentials and so answers its own machine only. Set up auth to reach it from others.',
    )
  }
  if (isPassedOn(headers) && !(believesProxy && headers['x-forwarded-for'] !== undefined)) {
    throw refused(
      'This server asks for no credentials and so answers its own machine only, and a proxy passes this request on for another. Set up auth, or name the proxy in trustProxy.',
    )
  }
  const origin = headers.origin
  if (isForeign(headers.host) || (origin !== undefined && isForeign(hostOf(origin)))) {
    throw new CatalogError(
      'PermissionDenied',
      'This server asks for no credentials and so answers no requests that other sites send through a browser. Use localhost, or set up auth.',
    )
  }
}

function isPassedOn(headers: IncomingHttpHeaders): boolean {
  for (const name of proxyHeaders) if (headers[name] !== undefined) return true
  return false
}

function refused(message: string): CatalogError {
  return new CatalogError('Unauthenticated', message)
}

function isFar(address: string | undefined): boolean {
  return address !== undefined && !isLoopback(address)
}

function isForeign(host: string | undefined): boolean {
  return host !== undefined && !isLoopback(host.replace(/:\d*$/, ''))
}

function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).hostname : origin
}
