import {
  createServer,
  type IncomingMessage,
  type ServerOptions as NodeOptions,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { pipeline, type Readable } from 'node:stream'
import { unrefTimer } from '../base/scheduling/unref-timer.ts'
import { clearTimeout, setImmediate, setTimeout } from '../base/time.ts'
import { errorBody } from '../protocol/status.ts'
import { jsonType } from '../protocol/wire.ts'
import { unknownPeer } from './auth/loopback.ts'
import type { StreamableAnswer } from './core/answer.ts'
import type { HttpCore } from './core/core.ts'
import { Exchange } from './core/exchange.ts'
import type { CallerAddress } from './trust-proxy.ts'

/** The options of the HTTP server. */
export interface NodeServerOptions {
  readonly node?: NodeOptions
  /** The idle timeout of a connection with a request in flight, in milliseconds. */
  readonly silence?: number
  /** Most connections at once. */
  readonly connections?: number
  /** Finds the address of a caller behind a proxy. */
  readonly callerAddress?: CallerAddress | undefined
}

/** A server of `node:http` for a core. */
export function nodeServer(
  core: HttpCore,
  { node = {}, silence = 0, connections, callerAddress }: NodeServerOptions = {},
): Server {
  /*
   * Answers wait for the end of the event loop's turn, and are written together. Each written answer wakes a client,
   * and waking clients one by one costs more than the rest of a small answer.
   */
  let waiting: (readonly [NodeExchange, StreamableAnswer])[] = []
  const writeWaiting = () => {
    const answers = waiting
    waiting = []
    for (const [exchange, answer] of answers) write(core, exchange, answer)
  }
  const server = createServer(node, (request: IncomingMessage, response: ServerResponse) => {
    const exchange = new NodeExchange(request, response, callerAddress?.(request))
    core.respond(exchange).then(
      (answer) => {
        if (waiting.push([exchange, answer]) === 1) setImmediate(writeWaiting)
      },
      // The core answers errors, too. Another failure, such as one of the caller's logger, ends only this connection.
      () => response.destroy(),
    )
  })
  server.setTimeout(silence)
  server.on('clientError', answerClientError)
  if (connections !== undefined) server.maxConnections = connections
  return server
}

function write(core: HttpCore, exchange: NodeExchange, answer: StreamableAnswer): void {
  const { response } = exchange
  const { status, body } = answer
  const headers = core.headersOf(answer, exchange)
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    // With status 304, the length would be that of the body that is not sent.
    if (status !== 304) headers['content-length'] = String(Buffer.byteLength(body))
    response.writeHead(status, headers)
    response.end(body)
  } else {
    response.writeHead(status, headers)
    stream(body, exchange)
  }
}

function stream(body: Readable, { method, response }: NodeExchange): void {
  if (method === 'HEAD') {
    body.destroy()
    response.end()
  } else {
    // An incomplete answer ends the connection, so the client detects it.
    pipeline(body, response, () => {})
  }
}

const reasons: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The headers are larger than the server allows. Send smaller headers.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive. Send it again, faster or in parts.',
}

/** Answers invalid or too slow HTTP requests, and ends the connection. */
function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (socket.destroyed || error.code === 'ECONNRESET') return
  // Node's own handler finds the answer that the connection waits for in the same way.
  const { _httpMessage: waiting } = socket as Socket & { readonly _httpMessage?: ServerResponse | null }
  // The client would take an error of a later request for the answer to a complete one, which may have changed something.
  const isOfWaiting = waiting && !waiting.headersSent && !waiting.req.complete
  if (socket.writable && (!waiting || isOfWaiting)) {
    const detail =
      reasons[error.code ?? ''] ??
      'The server cannot read this as an HTTP request. Check the client, and any proxy between.'
    const body = JSON.stringify(errorBody('InvalidInput', detail, ''))
    socket.write(
      `HTTP/1.1 400 Bad Request\r\nContent-Type: ${jsonType}; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    )
  }
  socket.destroySoon()
}

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
    const url = request.url ?? '/'
    super(request.method ?? 'GET', url.startsWith('/') ? url : withoutOrigin(url), request.headers)
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
    if (this.isClosed) {
      callback(response.writableFinished)
      return
    }
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
  return url.replace(/^https?:\/\/[^/?]*/i, '')
}
