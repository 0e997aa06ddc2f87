import { type CatalogError, invalid } from '../../base/errors.ts'
import { quote } from '../../base/model/identifier.ts'
import { decodeSegment } from '../../protocol/path-id.ts'
import { passedOnHeader, requestIdHeader, serverHeader } from '../../protocol/wire.ts'
import type { PluginOptions } from '../options.ts'
import { type Page, pagesOf } from '../pages/pages.ts'
import type { Answer, StreamableAnswer } from './answer.ts'
import { type AdapterOptions, type HttpContext, openContext } from './context.ts'
import type { Exchange } from './exchange.ts'
import { mountResponder } from './mount-responder.ts'
import { answerUnlessRead, failure } from './problem.ts'
import { type Responder, reserveAnswer, responder } from './responder.ts'
import { unknownRoute } from './routing.ts'

/** Turns requests into answers, independent of the transport. */
export interface HttpCore {
  /** Answers any request. Never rejects: an error becomes an answer. */
  readonly respond: Responder
  /** Answers a request for an operation, for adapters with their own routing. Never rejects. */
  readonly operation: Responder
  /** The pages besides operations, by path. */
  readonly pages: ReadonlyMap<string, Page>
  /** Answers requests for other protocols, by the first segment of their paths, for adapters with their own routing. */
  readonly mounts: ReadonlyMap<string, Responder>
  /** The answer to an error. */
  failure(exchange: Exchange, error: unknown): Answer
  /** All headers of an answer except `content-length`. */
  headersOf(answer: StreamableAnswer, exchange: Exchange): Record<string, string>
  /** Sets the URL by which other servers over the same catalog reach this one, for transactions that it holds. */
  advertise(url: string): void
  /** Makes `/readyz` fail, so that load balancers send no more requests. Requests are still answered as before. */
  drain(): void
  /** Makes each answer close its connection from now on. */
  closeConnections(): void
  /** Refuses new requests. Requests in flight continue. */
  stop(): void
  /** Stops measuring the event loop, and rolls back open transactions. Call it when no request is in flight. */
  close(): Promise<void>
}

/** Answers requests that are not for the catalog. Returns undefined for an unknown path. */
export type Extension = (
  exchange: Exchange,
  context: Pick<HttpContext, 'authenticate'>,
) => Promise<StreamableAnswer> | undefined

const operationPath = /^\/\/?v1\//

/** Checks the options and makes a core. */
export async function openHttpCore(
  options: PluginOptions,
  adapter: AdapterOptions,
  extension?: Extension,
): Promise<HttpCore> {
  const context = await openContext(options, adapter)
  const { admission, readiness, streams } = context
  let closesConnections = false
  /** Refuses several hosts: Node keeps the first, and a proxy may have checked the last. */
  const ofOneHost =
    <A extends StreamableAnswer>(respond: (exchange: Exchange) => Promise<A>) =>
    (exchange: Exchange): Promise<A | Answer> =>
      exchange.hasManyHosts ? Promise.resolve(failure(context, exchange, manyHosts())) : respond(exchange)
  const eachOfOneHost = <A extends StreamableAnswer>(
    responders: ReadonlyMap<string, (exchange: Exchange) => Promise<A>>,
  ) => new Map(Array.from(responders, ([path, respond]) => [path, ofOneHost(respond)]))
  const operation = responder(context)
  const pages = new Map<string, Page>()
  for (const [path, page] of pagesOf(context))
    pages.set(path, async (exchange) => answerUnlessRead(context, exchange) ?? page(exchange))

  const mounts = mountsOf(context)

  async function respondOther(exchange: Exchange): Promise<StreamableAnswer> {
    const mount = mounts.get(firstSegment(exchange.path))
    if (mount !== undefined) return mount(exchange)
    try {
      const extended = extension?.(exchange, context)
      if (extended) return await extended
      const { method, path } = exchange
      const page = pages.get(withoutLastSlash(decodeSegment(path)))
      if (page) {
        const answer = await page(exchange)
        reserveAnswer(context, exchange, answer)
        return answer
      }
      return failure(context, exchange, unknownRoute(method, path), 404)
    } catch (error) {
      return failure(context, exchange, error)
    }
  }

  return {
    respond: ofOneHost((exchange) =>
      operationPath.test(exchange.path) ? operation(exchange) : respondOther(exchange),
    ),
    operation: ofOneHost(operation),
    pages: eachOfOneHost(pages),
    mounts: eachOfOneHost(mounts),
    failure: (exchange, error) => failure(context, exchange, error),
    headersOf: (answer, exchange) => {
      const { requestId, headers: received, dialect } = exchange
      const headers: Record<string, string> = { [requestIdHeader]: requestId }
      if (received[passedOnHeader] !== undefined) headers[serverHeader] = context.server.instance
      if (answer.type !== undefined) headers['content-type'] = answer.type
      if (closesConnections || exchange.isUnread) headers.connection = 'close'
      return { ...dialect?.headers, ...answer.headers, ...headers }
    },
    advertise: (url) => context.server.advertise(url),
    drain: () => readiness.shutDown(),
    closeConnections: () => {
      closesConnections = true
    },
    stop: () => {
      closesConnections = true
      readiness.shutDown()
      admission.close()
      streams.stop()
    },
    close: context.close,
  }
}

function manyHosts(): CatalogError {
  return invalid('The request has several Host headers, which may name several servers. Send one.')
}

/** The responders of other protocols, by the first segment of their paths. */
function mountsOf(context: HttpContext): ReadonlyMap<string, Responder> {
  const found = new Map<string, Responder>()
  for (const mount of context.options.mounts ?? []) {
    if (!/^\/[\w-]+$/.test(mount.path) || mount.path === '/v1' || found.has(mount.path))
      throw invalid(
        `mounts: the path ${quote(mount.path)} is taken, or is no single segment such as /iceberg.`,
      )
    found.set(mount.path, mountResponder(context, mount))
  }
  return found
}

function firstSegment(path: string): string {
  const end = path.indexOf('/', 1)
  return end < 0 ? path : path.slice(0, end)
}

function withoutLastSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path
}
