import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { CatalogError } from '../../errors.ts'
import { jsonUtf8 } from '../core/answer.ts'
import type { Serving } from '../core/context.ts'
import { Exchange } from '../core/exchange.ts'

/** Adds what is there besides operations: health, metrics, and the description of it all. */
export function addPages(fastify: FastifyInstance, serving: Serving): void {
  const { health = true, metrics = true, docs = true } = serving.options
  if (health) addHealth(fastify, serving)
  if (metrics) addMetrics(fastify, serving, metrics === 'public')
  if (docs) addDocs(fastify)
}

function addHealth(fastify: FastifyInstance, { gate, options }: Serving): void {
  fastify.get('/healthz', async (_request, reply) => send(reply, jsonUtf8, '{"status":"ok"}'))
  fastify.get('/readyz', async (_request, reply) => {
    if (gate.closing) throw new CatalogError('ServiceUnavailable', 'The server is shutting down.')
    await options.catalog.namespaceExists({ id: [] })
    return send(reply, jsonUtf8, '{"status":"ready"}')
  })
}

function addMetrics(fastify: FastifyInstance, { admit, metrics }: Serving, open: boolean): void {
  fastify.get('/metrics', async ({ raw, ip }: FastifyRequest, reply) => {
    if (!open) await admit(new Exchange(raw, reply.raw, ip))
    const { type, text } = await metrics.text()
    return send(reply, type, text)
  })
}

function addDocs(fastify: FastifyInstance): void {
  const document = once(async () => (await import('./openapi.ts')).openApiDocument(fastify.prefix))
  const json = once(async () => JSON.stringify(await document()))
  const page = once(async () => (await import('./docs-page.ts')).docsPage(await document()))
  fastify.get('/openapi.json', async (_request, reply) => send(reply, jsonUtf8, await json()))
  fastify.get('/docs', async (_request, reply) => {
    // Nothing on the page is loaded from anywhere, and nothing in it runs.
    reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
    return send(reply, 'text/html; charset=utf-8', await page())
  })
}

function send(reply: FastifyReply, type: string, text: string): FastifyReply {
  return reply.header('content-type', type).header('x-content-type-options', 'nosniff').send(text)
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}
