import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { performance } from '../../base/time.ts'
import { requestIdHeader } from '../../protocol/wire.ts'
import type { Principal } from '../auth/auth.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { RequestInfo } from '../options.ts'
import type { Match } from './routing.ts'

/**
 * One request on its way to an answer, and what is known of it so far. An adapter extends it for the requests
 * that it takes; the core knows only this.
 */
export abstract class Exchange {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly requestId: string
  /** The path as it was sent. */
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

  /** The address of the caller, which is not that of the peer where a proxy stands between. */
  abstract readonly remoteAddress: string | undefined

  /** Whether `remoteAddress` follows from what a proxy says. */
  abstract readonly believesProxy: boolean

  /** Whether the answer was written, or can be written no more. */
  abstract readonly isClosed: boolean

  /** Calls back when the exchange closes; `isAnswered` tells whether the answer was written whole. */
  abstract onClose(callback: (isAnswered: boolean) => void): void

  /** Breaks off the answer when the client reads nothing of it for so many milliseconds. */
  abstract limitSilence(millis: number): void

  /** Throws away what is still to come of the body, so that the client gets to read the answer. */
  abstract discardBody(): void

  /** What hooks get to know of the request. */
  info(body?: unknown, location?: string): RequestInfo {
    const { requestId, method, path, headers, remoteAddress } = this
    const info = { requestId, method, path, headers, remoteAddress }
    if (body === undefined) return info
    return location === undefined ? { ...info, body } : { ...info, body, location }
  }
}

const safeId = /^[\w.:@+=/-]{1,128}$/
const idPrefix = randomBytes(9).toString('base64url')
let ids = 0

/** The id that a request brought, if that is safe to log and to send back; else a new one. */
function requestIdOf(given: string | readonly string[] | undefined): string {
  return typeof given === 'string' && safeId.test(given) ? given : `${idPrefix}-${(++ids).toString(36)}`
}
