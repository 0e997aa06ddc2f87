import {
  createServer,
  type IncomingMessage,
  type ServerOptions as NodeServerOptions,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify'
import type { Catalog } from '../catalog/handle.ts'
import type { Answer } from './core/answer.ts'
import { openServing, type Serving } from './core/context.ts'
import { Exchange } from './core/exchange.ts'
import { failure, headersOf, type Responder, responder } from './core/responder.ts'
import { unknownRoute } from './core/routing.ts'
import type { HttpOptions } from './options.ts'
import { exchangeOf, mountCatalog, send } from './plugin.ts'
import { errorBody } from './protocol/status.ts'
import { jsonType } from './protocol/wire.ts'

/** What a server that listens is set up with, besides what it offers. */
export interface ServerOptions {
  readonly http?: NodeServerOptions
  /** Milliseconds a connection may be silent while something is under way. */
  readonly silence?: number
  readonly logger?: FastifyServerOptions['logger']
  readonly trustProxy?: FastifyServerOptions['trustProxy']
  readonly extend?: Extend | undefined
}

/** Adds routes of its own. `admit` refuses whom the catalog would refuse. */
export type Extend = (
  app: FastifyInstance,
  admit: (request: FastifyRequest, reply: FastifyReply) => Promise<void>,
) => void

type Listener = (request: IncomingMessage, response: ServerResponse) => void

const operationPath = /^\/\/?v1\//

/** A Fastify application that offers a catalog and nothing else; every answer of it that fails is an error body. */
export async function buildServer(
  catalog: Catalog,
  options: HttpOptions,
  { http = {}, silence = 0, logger = false, trustProxy, extend }: ServerOptions = {},
): Promise<FastifyInstance> {
  let direct: Listener | undefined
  let serving: Serving | undefined
  const app = fastify({
    ...(trustProxy === undefined ? {} : { trustProxy }),
    logger,
    logController: new fastify.LogController({ disableRequestLogging: true }),
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true },
    frameworkErrors: (error, request, reply) => {
      const exchange = exchangeOf(request, reply)
      send(reply, exchange, failure(serving!, exchange, error), serving!.gate.closing)
    },
    serverFactory: (handler) =>
      createServer(http, (request, response) => {
        if (direct !== undefined && operationPath.test(request.url!)) direct(request, response)
        else handler(request, response)
      }).setTimeout(silence),
    clientErrorHandler,
  })
  serving = await openServing(app, { ...options, catalog })
  // A proxy's headers are the framework's to read, so requests go through it where they count.
  if (trustProxy === undefined) direct = directly(responder(serving, 0), serving)
  app.setNotFoundHandler((request, reply) => {
    const exchange = exchangeOf(request, reply)
    const answer = failure(serving!, exchange, unknownRoute(request.method, exchange.path), 404)
    return send(reply, exchange, answer, serving!.gate.closing)
  })
  mountCatalog(app, serving)
  const { admit } = serving
  extend?.(app, async (request, reply) => void (await admit(exchangeOf(request, reply))))
  return app
}

/** Answers operations on the bare server: their route and body are ours to read anyway. */
function directly(respond: Responder, { gate }: Serving): Listener {
  const write = together<[Exchange, Answer]>((exchange, answer) => {
    const headers = headersOf(answer, exchange, gate.closing)
    headers['content-length'] = String(Buffer.byteLength(answer.body))
    exchange.response.writeHead(answer.status, headers)
    exchange.response.end(answer.body)
  })
  return (request, response) => {
    const exchange = new Exchange(request, response)
    respond(exchange, request).then((answer) => write(exchange, answer))
  }
}

/**
 * Does what was asked for in one turn of the event loop at its end, all at once. Answers written one by one
 * would each wake a client that waits for them, which costs more than all else in a small answer.
 */
function together<Arguments extends unknown[]>(
  work: (...given: Arguments) => void,
): (...given: Arguments) => void {
  let waiting: Arguments[] = []
  const flush = () => {
    const now = waiting
    waiting = []
    for (const given of now) work(...given)
  }
  return (...given) => {
    if (waiting.push(given) === 1) setImmediate(flush)
  }
}

const reasons: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'The headers are larger than what is taken. Send less in them.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request took too long to arrive. Send it again, faster or in parts.',
}

/** Answers what is no HTTP request, or came too slowly, and ends the connection. */
function clientErrorHandler(error: Error & { code?: string }, socket: Socket): void {
  if (socket.destroyed || error.code === 'ECONNRESET') return
  if (socket.writable) {
    const detail =
      reasons[error.code ?? ''] ??
      'This is no HTTP request that can be read. Check the client, and any proxy between.'
    const body = JSON.stringify(errorBody('InvalidInput', detail, ''))
    socket.write(
      `HTTP/1.1 400 Bad Request\r\nContent-Type: ${jsonType}; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    )
  }
  socket.destroySoon()
}
