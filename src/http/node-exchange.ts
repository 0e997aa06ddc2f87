import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { Exchange } from './core/exchange.ts'

/** The exchange of a request that came over a connection. */
export class NodeExchange extends Exchange {
  readonly response: ServerResponse
  readonly body: Readable
  readonly #request: IncomingMessage
  readonly #address: string | undefined

  /** `address` is given where proxies are believed, and `body` where it is not that of the request. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    address?: string,
    body: Readable = request,
  ) {
    super(request.method ?? 'GET', withoutOrigin(request.url ?? '/'), request.headers)
    this.response = response
    this.body = body
    this.#request = request
    this.#address = address
  }

  get peerAddress(): string | undefined {
    return this.#request.socket.remoteAddress
  }

  get remoteAddress(): string | undefined {
    return this.#address ?? this.peerAddress
  }

  get believesProxy(): boolean {
    return this.#address !== undefined
  }

  get isClosed(): boolean {
    return this.response.destroyed
  }

  onClose(callback: (isAnswered: boolean) => void): void {
    this.response.once('close', () => callback(this.response.writableFinished))
  }

  /** A client that goes on sending for too long is cut off. */
  discardBody(): void {
    const request = this.#request
    if (request.complete !== false || request.destroyed) return
    request.resume()
    const timer = setTimeout(() => request.destroy(), discardMillis)
    timer.unref()
    request.once('close', () => clearTimeout(timer)).once('end', () => clearTimeout(timer))
  }
}

const discardMillis = 5_000

/** Clients that take the server for a proxy send a whole URL in place of a path. */
function withoutOrigin(url: string): string {
  return url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '')
}
