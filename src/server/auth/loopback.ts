import type { IncomingHttpHeaders } from 'node:http'
import { isIPv6 } from 'node:net'
import { CatalogError } from '../../base/errors.ts'

/** Whether a host name or address is a loopback one. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  if (bare === 'localhost' || bare.endsWith('.localhost')) return true
  const v4 = isIPv6(bare) && bare.startsWith('::ffff:') ? bare.slice('::ffff:'.length) : bare
  return v4 === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(v4)
}

/** The peer address of a request whose adapter did not pass one, or whose connection was closed before it was read. */
export const unknownPeer = 'unknown'

interface Caller {
  /** The address of the other end of the connection; undefined where there is no connection. */
  readonly peerAddress: string | undefined
  /** The address of the caller. Behind a proxy, it differs from that of the peer. */
  readonly remoteAddress: string | undefined
  /** Whether `remoteAddress` comes from `X-Forwarded-For` of a trusted proxy. */
  readonly believesProxy: boolean
  readonly headers: IncomingHttpHeaders
}

/** Headers that proxies add to forwarded requests. */
const proxyHeaders = ['x-forwarded-for', 'forwarded', 'x-forwarded-host', 'x-real-ip', 'via']

/**
 * Refuses what a server without credentials must not answer: connections from other machines, requests that a local
 * proxy forwards, and requests of foreign web pages in a local browser. The last ones have a foreign `Origin`, or a
 * foreign `Host` in case of DNS rebinding.
 */
export function requireLocal({ peerAddress, remoteAddress, believesProxy, headers }: Caller): undefined {
  if (peerAddress === unknownPeer) {
    throw refused(
      'This server asks for no credentials and so answers its own machine only, and it was not told where the request comes from. Give the handler { remoteAddress } with each request, or set up auth.',
    )
  }
  if (isRemote(peerAddress) || isRemote(remoteAddress)) {
    throw refused(
      'This server asks for no credentials and so answers its own machine only. Set up auth to reach it from others.',
    )
  }
  if (isForwarded(headers) && !(believesProxy && headers['x-forwarded-for'] !== undefined)) {
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

function isForwarded(headers: IncomingHttpHeaders): boolean {
  for (const name of proxyHeaders) if (headers[name] !== undefined) return true
  return false
}

function refused(message: string): CatalogError {
  return new CatalogError('Unauthenticated', message)
}

function isRemote(address: string | undefined): boolean {
  return address !== undefined && !isLoopback(address)
}

function isForeign(host: string | undefined): boolean {
  return host !== undefined && !isLoopback(host.replace(/:\d*$/, ''))
}

function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).hostname : origin
}
