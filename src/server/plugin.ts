import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { CatalogError, invalid } from '../base/errors.ts'
import type { StreamableAnswer } from './core/answer.ts'
import { type HttpCore, openHttpCore } from './core/core.ts'
import { NodeExchange } from './node-server.ts'
import type { PluginOptions } from './options.ts'

/** All methods, so that the core can answer 405 to a wrong one. */
const everyMethod: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']

/** What the plugin needs of an application. Declared here, so that only its users need the types of Fastify. */
export interface FastifyApplication {
  /** The prefix that the plugin is registered with. */
  readonly prefix: string
  register(plugin: never, options?: never): unknown
}

/**
 * A Fastify plugin that serves a catalog under the prefix it is registered with. Hooks, error handlers and parsers of
 * the surrounding application are not changed.
 *
 * ```ts
 * await app.register(catalogPlugin, { prefix: '/catalog', catalog, auth: { tokens: [process.env.TOKEN!] } })
 * ```
 */
export async function catalogPlugin(app: FastifyApplication, options: PluginOptions): Promise<void> {
  const fastify = app as unknown as FastifyInstance
  const { log, prefix } = fastify
  const page = options.page ?? prefix !== ''
  const adapter = { log, prefix, eventLoop: pressureOf(fastify) }
  mountCore(fastify, await openHttpCore({ ...options, page }, adapter))
}

/** The event loop check of an application that has one (`isUnderPressure`). */
function pressureOf(fastify: FastifyInstance): { readonly isLate: boolean } | undefined {
  if (!fastify.hasDecorator('isUnderPressure')) return undefined
  const watched = fastify as unknown as { isUnderPressure(): boolean }
  return {
    get isLate() {
      return watched.isUnderPressure()
    },
  }
}

/**
 * Adds the core's routes to an application.
 *
 * @internal
 */
export function mountCore(fastify: FastifyInstance, core: HttpCore): void {
  // The core reads a body only after authentication, so no parser may read it earlier.
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  fastify.setErrorHandler((error, request, reply) => {
    const exchange = exchangeOf(request, reply)
    return send(core, reply, exchange, core.failure(exchange, translated(error)))
  })
  fastify.addHook('preClose', (done) => {
    core.stop()
    done()
  })
  fastify.addHook('onClose', async () => core.close())
  // A client whose base URL ends in a slash sends paths that begin with two.
  for (const url of ['/v1/*', '//v1/*']) {
    fastify.route({
      method: everyMethod,
      url,
      handler: async (request, reply) => {
        const exchange = exchangeOf(request, reply)
        return send(core, reply, exchange, await core.operation(exchange))
      },
    })
  }
  for (const [path, respond] of core.mounts) {
    for (const url of [path, `${path}/*`]) {
      fastify.route({
        method: everyMethod,
        url,
        handler: async (request, reply) => {
          const exchange = exchangeOf(request, reply)
          return send(core, reply, exchange, await respond(exchange))
        },
      })
    }
  }
  for (const [path, page] of core.pages) {
    fastify.route({
      // Only GET, because other methods at its root belong to the application.
      method: path === '' ? 'GET' : everyMethod,
      url: path === '' ? '/' : path,
      handler: async (request, reply) => {
        const exchange = exchangeOf(request, reply)
        return send(core, reply, exchange, await page(exchange))
      },
    })
  }
}

function exchangeOf({ raw, ip, ips, body }: FastifyRequest, reply: FastifyReply): NodeExchange {
  // Only an application that trusts proxies has a list of addresses.
  const address = ips === undefined ? undefined : ip
  return new NodeExchange(raw, reply.raw, address, (body as Readable | undefined) ?? raw)
}

async function send(
  core: HttpCore,
  reply: FastifyReply,
  exchange: NodeExchange,
  answer: StreamableAnswer,
): Promise<FastifyReply> {
  await exchange.beforeAnswer(answer)
  return reply.code(answer.status).headers(core.headersOf(answer, exchange)).send(answer.body)
}

/** Translates errors of the framework, whose messages are written for callers, to errors of the catalog. */
function translated(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { code, statusCode } = error as Error & { code?: unknown; statusCode?: unknown }
  if (typeof code !== 'string' || !code.startsWith('FST_') || typeof statusCode !== 'number') return error
  if (statusCode === 429 || statusCode === 503) {
    return new CatalogError(
      'Throttling',
      'The server is busy. Wait as long as Retry-After says and try again.',
      { cause: error },
    )
  }
  if (statusCode < 400 || statusCode >= 500) return error
  return invalid(`The request cannot be read: ${error.message}. Check it.`, { cause: error })
}
