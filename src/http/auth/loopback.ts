import type { IncomingHttpHeaders } from 'node:http'
import { isIPv6 } from 'node:net'
import { CatalogError } from '../../errors.ts'

/** Whether a host name or address means this machine alone. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  if (bare === 'localhost' || bare.endsWith('.localhost')) return true
  const v4 = isIPv6(bare) && bare.startsWith('::ffff:') ? bare.slice('::ffff:'.length) : bare
  return v4 === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(v4)
}

interface Caller {
  /** The address of the other end of the connection. */
  readonly peerAddress: string | undefined
  readonly headers: IncomingHttpHeaders
}

/**
 * Refuses what a server without credentials must not answer: connections from other machines, and requests that
 * a web page sends through a browser on this machine. Those have a foreign `Origin`, or a foreign `Host` when the
 * page's own name was made to point to this machine.
 */
export function requireLocal({ peerAddress, headers }: Caller): void {
  if (peerAddress !== undefined && !isLoopback(peerAddress)) {
    throw new CatalogError(
      'Unauthenticated',
      'This server asks for no credentials and so answers its own machine only. Set up auth to reach it from others.',
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

function isForeign(host: string | undefined): boolean {
  return host !== undefined && !isLoopback(host.replace(/:\d*$/, ''))
}

function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).hostname : origin
}
