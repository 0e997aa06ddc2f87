import {
  createServer,
  type IncomingMessage,
  type ServerOptions as NodeOptions,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { pipeline, type Readable } from 'node:stream'
import { setImmediate } from '../base/time.ts'
import { errorBody } from '../protocol/status.ts'
import { jsonType } from '../protocol/wire.ts'
import type { StreamableAnswer } from './core/answer.ts'
import type { HttpCore } from './core/core.ts'
import { NodeExchange } from './node-exchange.ts'
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
  const writeSoon = batched<[NodeExchange, StreamableAnswer]>((exchange, answer) =>
    write(core, exchange, answer),
  )
  const server = createServer(node, (request: IncomingMessage, response: ServerResponse) => {
    const exchange = new NodeExchange(request, response, callerAddress?.(request))
    core.respond(exchange).then(
      (answer) => writeSoon(exchange, answer),
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

/**
 * Collects calls, and makes them together at the end of the event loop's turn. Each written answer wakes a client, and
 * waking clients one by one costs more than the rest of a small answer.
 */
function batched<Arguments extends unknown[]>(
  work: (...given: Arguments) => void,
): (...given: Arguments) => void {
  let waiting: Arguments[] = []
  const flush = () => {
    const calls = waiting
    waiting = []
    for (const given of calls) work(...given)
  }
  return (...given) => {
    if (waiting.push(given) === 1) setImmediate(flush)
  }
}

const reasons: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The headers are larger than the server allows. Send smaller headers.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive. Send it again, faster or in parts.',
}

/** Answers invalid or too slow HTTP requests, and ends the connection. */
function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (socket.destroyed || error.code === 'ECONNRESET') return
  if (socket.writable) {
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
