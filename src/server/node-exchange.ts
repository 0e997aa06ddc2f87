import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { unrefTimer } from '../base/scheduling/unref-timer.ts'
import { clearTimeout, setTimeout } from '../base/time.ts'
import { unknownPeer } from './auth/loopback.ts'
import { Exchange } from './core/exchange.ts'

/** The exchange of a request of `node:http`. */
export class NodeExchange extends Exchange {
  readonly response: ServerResponse
  readonly body: Readable
  readonly #request: IncomingMessage
  readonly #address: string | undefined

  /** `address` is set if proxies are trusted, and `body` if it is not the request itself. */
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

  /** A closed connection has no address any more. Only that of a Unix socket had none before. */
  get peerAddress(): string | undefined {
    const { socket } = this.#request
    return socket.remoteAddress ?? (socket.destroyed ? unknownPeer : undefined)
  }

  get remoteAddress(): string | undefined {
    return this.#address ?? this.#request.socket.remoteAddress
  }

  get believesProxy(): boolean {
    return this.#address !== undefined
  }

  get isClosed(): boolean {
    return this.response.destroyed || this.#request.socket.destroyed
  }

  onClose(callback: (isAnswered: boolean) => void): void {
    const { response } = this
    const callbacks = callbacksOf(this.#request.socket)
    const onEnd = () => {
      if (callbacks.delete(onEnd)) callback(response.writableFinished)
    }
    callbacks.add(onEnd)
    response.once('close', onEnd)
  }

  setReadTimeout(millis: number): void {
    const { response } = this
    response.setTimeout(millis, () => response.destroy())
  }

  /** Destroys the connection of a client that keeps sending for too long. */
  discardBody(): void {
    const request = this.#request
    if (request.complete !== false || request.destroyed) return
    request.resume()
    const timer = unrefTimer(setTimeout(() => request.destroy(), discardMillis))
    request.once('close', () => clearTimeout(timer)).once('end', () => clearTimeout(timer))
  }
}

const discardMillis = 5_000

/** The close callbacks of each connection. */
const callbacksBySocket = new WeakMap<Socket, Set<() => void>>()

/**
 * The close callbacks of a connection. Needed because a pipelined response that waits for its turn emits no `close`
 * when the connection ends.
 */
function callbacksOf(socket: Socket): Set<() => void> {
  let callbacks = callbacksBySocket.get(socket)
  if (callbacks === undefined) {
    const created = new Set<() => void>()
    socket.once('close', () => {
      for (const onEnd of created) onEnd()
    })
    callbacksBySocket.set(socket, created)
    callbacks = created
  }
  return callbacks
}

/** Clients that treat the server as a proxy send an absolute URL instead of a path. */
function withoutOrigin(url: string): string {
  return url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '')
}
