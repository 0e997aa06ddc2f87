import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import type { Answer } from './core/answer.ts'
import { openServing, type Serving } from './core/context.ts'
import { Exchange } from './core/exchange.ts'
import { failure, headersOf, responder } from './core/responder.ts'
import type { PluginOptions } from './options.ts'
import { addPages } from './pages/pages.ts'

/** All of them, so that a method that a path does not take is told so. */
const everyMethod: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/**
 * A Fastify plugin that offers a catalog under the prefix it is registered with. Hooks, error handlers and
 * parsers of the application around it stay as they are.
 *
 * ```ts
 * await app.register(catalogPlugin, { prefix: '/catalog', catalog, auth: { tokens: [process.env.TOKEN!] } })
 * ```
 */
export async function catalogPlugin(fastify: FastifyInstance, options: PluginOptions): Promise<void> {
  mountCatalog(fastify, await openServing(fastify, options))
}

/** Adds the routes to what may be an application of its own. */
export function mountCatalog(fastify: FastifyInstance, serving: Serving): void {
  const { gate } = serving
  const respond = responder(serving, fastify.prefix.split('/').length - 1)
  // Bodies are read by the operations, after the caller was let in; no parser may come before that.
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  fastify.setErrorHandler((error, request, reply) => {
    const exchange = exchangeOf(request, reply)
    return send(reply, exchange, failure(serving, exchange, error), gate.closing)
  })
  fastify.addHook('preClose', (done) => {
    gate.close()
    done()
  })
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const exchange = exchangeOf(request, reply)
    const answer = await respond(exchange, (request.body as Readable | undefined) ?? request.raw)
    return send(reply, exchange, answer, gate.closing)
  }
  // A base URL that ends in a slash gives paths that begin with two.
  for (const url of ['/v1/*', '//v1/*']) fastify.route({ method: everyMethod, url, handler })
  addPages(fastify, serving)
}

/** The exchange that a request of the framework is. */
export function exchangeOf({ raw, ip }: FastifyRequest, reply: FastifyReply): Exchange {
  return new Exchange(raw, reply.raw, ip)
}

/** Hands an answer to the framework. */
export function send(
  reply: FastifyReply,
  exchange: Exchange,
  answer: Answer,
  closing: boolean,
): FastifyReply {
  return reply
    .code(answer.status)
    .headers(headersOf(answer, exchange, closing))
    .send(answer.body)
}
