import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { performance } from '../../base/time.ts'
import { requestIdHeader } from '../../protocol/wire.ts'
import type { Principal, RequestInfo } from '../auth/principal.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Match } from './routing.ts'

/** One request and its state until it is answered. Each adapter has a subclass. The core uses only this class. */
export abstract class Exchange {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly requestId: string
  /** The path as sent, not decoded. */
  readonly path: string
  readonly query: string
  readonly started = performance.now()
  match: Match | undefined
  dialect: Dialect | undefined
  principal: Principal | undefined

  constructor(method: string, url: string, headers: IncomingHttpHeaders) {
    this.method = method
    this.headers = headers
    this.requestId = requestIdOf(headers[requestIdHeader])
    const mark = url.indexOf('?')
    this.path = mark < 0 ? url : url.slice(0, mark)
    this.query = mark < 0 ? '' : url.slice(mark + 1)
  }

  /** The bytes of the body, as they arrive. */
  abstract readonly body: Readable

  /** The address of the other end of the connection; undefined where there is none. */
  abstract readonly peerAddress: string | undefined

  /** The address of the caller. Behind a proxy, it differs from that of the peer. */
  abstract readonly remoteAddress: string | undefined

  /** Whether `remoteAddress` comes from a trusted proxy. */
  abstract readonly believesProxy: boolean

  /** Whether the request names several hosts, as far as the transport shows them. */
  abstract readonly hasManyHosts: boolean

  /** Whether the answer was written, or can no longer be written. */
  abstract readonly isClosed: boolean

  /**
   * Calls back when the exchange closes, or at once if it has. `isAnswered` states whether the answer was written
   * completely.
   */
  abstract onClose(callback: (isAnswered: boolean) => void): void

  /** Aborts the answer when the client reads nothing of it for so many milliseconds. */
  abstract setReadTimeout(millis: number): void

  /** Whether a part of the request is still to arrive. The connection can then take no other request. */
  abstract readonly isUnread: boolean

  /** The request data for hooks. */
  info(body?: unknown, location?: string): RequestInfo {
    const { requestId, method, path, headers, remoteAddress } = this
    const info = { requestId, method, path, headers, remoteAddress }
    if (body === undefined) return info
    return location === undefined ? { ...info, body } : { ...info, body, location }
  }
}

const safeId = /^[\w.:@+=/-]{1,128}$/
const idPrefix = randomBytes(9).toString('base64url')
let idCount = 0

/** The id in the request's header, if it is safe to log and to send back; otherwise a new one. */
function requestIdOf(given: string | readonly string[] | undefined): string {
  return typeof given === 'string' && safeId.test(given) ? given : `${idPrefix}-${(++idCount).toString(36)}`
}
