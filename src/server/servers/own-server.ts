import { randomBytes } from 'node:crypto'
import { hostname, networkInterfaces } from 'node:os'
import { invalid } from '../../base/errors.ts'
import type { SessionServer } from '../../catalog/index.ts'
import { isLoopback } from '../auth/loopback.ts'

/** The identity of this server for other servers over the same catalog. */
export class OwnServer {
  /** The id of this process. It is in each answer to a forwarded request. */
  readonly instance = randomBytes(12).toString('base64url')
  /** How other servers reach this one; undefined when they cannot. */
  session: SessionServer | undefined

  /** Sets the URL for other servers. Fails with `InvalidInput` for an invalid one. */
  advertise(url: string): void {
    const { href, hostname: host } = checked(url)
    const machine = isLoopback(host) ? { machine: hostname() } : {}
    this.session = { url: href.replace(/\/+$/, ''), instance: this.instance, ...machine }
  }
}

function checked(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const isPlain = parsed && [parsed.username, parsed.password, parsed.search, parsed.hash].join('') === ''
  if (isPlain && /^https?:$/.test(parsed.protocol)) return parsed
  throw invalid(
    'advertise must be the URL by which other servers reach this one, such as http://10.0.0.3:2333, without credentials, query or fragment.',
  )
}

/**
 * The probable URL of a server that listens on `host`, for other servers. For a server on all interfaces, it has the
 * first address that is neither internal nor link-local; undefined without one.
 */
export function likelyUrl(host: string, url: string): string | undefined {
  if (host !== '0.0.0.0' && host !== '::') return url
  const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses)
  const outside = all.filter(({ internal, address }) => !internal && !/^fe80:/i.test(address))
  const found = outside.find(({ family }) => family === 'IPv4') ?? (host === '::' ? outside[0] : undefined)
  if (found === undefined) return undefined
  const { port } = new URL(url)
  return `http://${found.family === 'IPv6' ? `[${found.address}]` : found.address}:${port}`
}
