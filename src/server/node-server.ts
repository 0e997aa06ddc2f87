import {
  createServer,
  type IncomingMessage,
  type ServerOptions as NodeOptions,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import { unrefTimer } from '../base/scheduling/unref-timer.ts'
import { clearTimeout, setImmediate, setTimeout } from '../base/time.ts'
import { errorBody } from '../protocol/status.ts'
import { jsonType } from '../protocol/wire.ts'
import { unknownPeer } from './auth/loopback.ts'
import { type StreamableAnswer, tellsLength } from './core/answer.ts'
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
    for (const [exchange, answer] of answers) {
      const rest = exchange.beforeAnswer(answer)
      if (rest === undefined) write(core, exchange, answer)
      else rest.then(() => write(core, exchange, answer))
    }
  }
  const take = (request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean) => {
    // It has told its client that it closes, so what comes after that on it is not done (RFC 9112, section 9.6).
    if (lingering.has(request.socket)) return
    const exchange = new NodeExchange(request, response, callerAddress?.(request))
    exchange.awaitsContinue = awaitsContinue
    core.respond(exchange).then(
      (answer) => {
        if (waiting.push([exchange, answer]) === 1) setImmediate(writeWaiting)
      },
      // The core answers errors, too. Another failure, such as one of the caller's logger, ends only this connection.
      () => response.destroy(),
    )
  }
  const server = createServer(node, (request, response) => take(request, response, false))
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) =>
    take(request, response, true),
  )
  // The bytes of headers are bounded. By a count, Node leaves out those above it, such as a token or a transaction.
  server.maxHeadersCount = 0
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
    if (tellsLength(status)) headers['content-length'] = String(Buffer.byteLength(body))
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
    const { req, socket } = response
    if (req.httpVersion === '1.0') body.once('error', () => reset(socket))
    // An incomplete answer ends the connection, so the client detects it.
    pipeline(body, response, () => {})
  }
}

/**
 * Resets a connection, where its kind can be. In HTTP/1.0, the end of the connection ends an answer, so a client would take
 * an incomplete one for all of it.
 */
function reset(socket: Socket | null): void {
  const isTcp = socket?.remoteAddress !== undefined && !('encrypted' in socket)
  if (isTcp) socket.resetAndDestroy()
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
  /** Whether the client sends its body only after it is told to go on. A refused one is then never sent. */
  awaitsContinue = false
  readonly #body: Readable
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
    this.#body = body
    this.#request = request
    this.#address = address
  }

  get body(): Readable {
    if (this.awaitsContinue) {
      this.awaitsContinue = false
      this.response.writeContinue()
    }
    return this.#body
  }

  get isUnread(): boolean {
    const { complete, destroyed, httpVersionMajor } = this.#request
    return complete === false && !destroyed && httpVersionMajor === 1
  }

  /** A closed connection has no address any more. Only that of a Unix socket had none before. */
  get peerAddress(): string | undefined {
    const { socket } = this.#request
    return socket.remoteAddress ?? (socket.destroyed ? unknownPeer : undefined)
  }

  get hasManyHosts(): boolean {
    const { rawHeaders } = this.#request
    let hosts = 0
    for (let i = 0; i < rawHeaders.length; i += 2)
      if (rawHeaders[i]!.length === 4 && rawHeaders[i]!.toLowerCase() === 'host') hosts++
    return hosts > 1
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

  /**
   * Discards the rest of a body, so that a client that is still sending can read the answer. A streamed answer may still
   * read the body. Resolves when the rest has arrived or is late; returns undefined when there is nothing to wait for.
   */
  beforeAnswer({ body }: StreamableAnswer): Promise<void> | undefined {
    const request = this.#request
    if (request.complete !== false || request.destroyed) return undefined
    const isOver = this.awaitsContinue || body instanceof Readable
    if (!(body instanceof Readable)) discard(request)
    return (isOver ? Promise.resolve() : endOrMillis(request, restMillis)).then(() => {
      if (this.isUnread) linger(request)
    })
  }
}

/** For the rest of a body, once its answer is known. */
const discardMillis = 5_000

/** Destroys the connection of a client that keeps sending for too long. */
function discard(request: IncomingMessage): void {
  request.resume()
  const timer = unrefTimer(setTimeout(() => request.destroy(), discardMillis))
  const onEnd = () => clearTimeout(timer)
  request.once('close', onEnd).once('end', onEnd)
}

/** For the rest of a body before the answer. Many clients send head and body, or the end of a body, in two packets. */
const restMillis = 50

function endOrMillis(request: IncomingMessage, millis: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, millis)
    const onEnd = () => {
      clearTimeout(timer)
      resolve()
    }
    request.once('end', onEnd).once('close', onEnd)
  })
}

/** Connections that end after an answer to a request that had not arrived whole. */
const lingering = new WeakSet<Socket>()

/**
 * Closes a connection for writing after its answer, and for reading only when the rest of the request has arrived.
 * Closed with bytes that were not read, it would be reset, and its client could lose the answer.
 */
function linger(request: IncomingMessage): void {
  const { socket } = request
  if (lingering.has(socket)) return
  lingering.add(socket)
  const destroySoon = socket.destroySoon.bind(socket)
  // Called by `node:http` after an answer that ends its connection.
  socket.destroySoon = () => {
    if (request.complete || request.destroyed) return destroySoon()
    socket.end()
    discard(request)
    request.once('end', destroySoon).once('close', destroySoon)
  }
}

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
