import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { alone } from '../base/scheduling/alone.ts'
import { clearTimeout, setTimeout } from '../base/time.ts'
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
    return this.response.destroyed || this.#request.socket.destroyed
  }

  onClose(callback: (isAnswered: boolean) => void): void {
    const { response } = this
    const ends = endsOf(this.#request.socket)
    const end = () => {
      if (ends.delete(end)) callback(response.writableFinished)
    }
    ends.add(end)
    response.once('close', end)
  }

  limitSilence(millis: number): void {
    const { response } = this
    response.setTimeout(millis, () => response.destroy())
  }

  /** A client that goes on sending for too long is cut off. */
  discardBody(): void {
    const request = this.#request
    if (request.complete !== false || request.destroyed) return
    request.resume()
    const timer = alone(setTimeout(() => request.destroy(), discardMillis))
    request.once('close', () => clearTimeout(timer)).once('end', () => clearTimeout(timer))
  }
}

const discardMillis = 5_000

/** What is to be called when a connection ends. */
const endsBySocket = new WeakMap<Socket, Set<() => void>>()

/**
 * Calls that wait for the end of a connection. A response that waits for its turn on a connection has no end of its
 * own when the connection ends.
 */
function endsOf(socket: Socket): Set<() => void> {
  let ends = endsBySocket.get(socket)
  if (ends === undefined) {
    const created = new Set<() => void>()
    socket.once('close', () => {
      for (const end of created) end()
    })
    endsBySocket.set(socket, created)
    ends = created
  }
  return ends
}

/** Clients that take the server for a proxy send a whole URL in place of a path. */
function withoutOrigin(url: string): string {
  return url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '')
}
