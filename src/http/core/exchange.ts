import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Principal } from '../auth/auth.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { RequestInfo } from '../options.ts'
import { requestIdHeader } from '../protocol/wire.ts'
import { requestIdOf } from './request-id.ts'
import type { Match } from './routing.ts'

/** One request on its way through the server, and what is known of it so far. */
export class Exchange {
  readonly raw: IncomingMessage
  readonly response: ServerResponse
  readonly method: string
  readonly requestId: string
  /** The path as it was sent. */
  readonly path: string
  readonly query: string
  readonly started = performance.now()
  match: Match | undefined
  dialect: Dialect | undefined
  principal: Principal | undefined
  readonly #address: string | undefined

  /** `address` is the caller's, where something in front of the server knows it better than the socket. */
  constructor(raw: IncomingMessage, response: ServerResponse, address?: string) {
    this.raw = raw
    this.response = response
    this.method = raw.method ?? 'GET'
    this.requestId = requestIdOf(raw.headers[requestIdHeader])
    const url = raw.url ?? '/'
    const mark = url.indexOf('?')
    this.path = mark < 0 ? url : url.slice(0, mark)
    this.query = mark < 0 ? '' : url.slice(mark + 1)
    this.#address = address
  }

  get remoteAddress(): string | undefined {
    return this.#address ?? this.raw.socket.remoteAddress
  }

  /** What hooks get to know of the request. */
  info(body?: unknown): RequestInfo {
    const { requestId, method, path, remoteAddress } = this
    const info = { requestId, method, path, headers: this.raw.headers, remoteAddress }
    return body === undefined ? info : { ...info, body }
  }
}

const linger = 5_000

/**
 * Lets a client that is still sending a refused body finish, so that it gets to read the answer, but not for
 * ever: what it sends goes nowhere, and after a while the connection is cut.
 */
export function endSoon(request: IncomingMessage): void {
  if (request.complete !== false || request.destroyed) return
  request.resume()
  const timer = setTimeout(() => request.destroy(), linger)
  timer.unref()
  request.once('close', () => clearTimeout(timer)).once('end', () => clearTimeout(timer))
}
