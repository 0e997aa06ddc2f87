import { decodeSegment } from '../../protocol/path-id.ts'
import type { PluginOptions } from '../options.ts'
import { type Page, pagesOf } from '../pages/pages.ts'
import type { Answer, StreamableAnswer } from './answer.ts'
import { type HttpContext, openContext, type Surroundings } from './context.ts'
import type { Exchange } from './exchange.ts'
import { besideReading, countAnswer, failure, headersOf, type Responder, responder } from './responder.ts'
import { unknownRoute } from './routing.ts'

/** Turns requests into answers. It does not know what carries them. */
export interface HttpCore {
  /** Answers any request. It never fails: an error is an answer too. */
  readonly respond: Responder
  /** Answers a request for an operation, for adapters that have routes of their own. It never fails. */
  readonly operation: Responder
  /** What is served besides operations, by path. */
  readonly pages: ReadonlyMap<string, Page>
  /** The answer to an error. */
  failure(exchange: Exchange, error: unknown): Answer
  /** All headers of an answer, but for its length. */
  headersOf(answer: StreamableAnswer, exchange: Exchange): Record<string, string>
  /** Lets other servers over the same catalog reach this one at a URL, for transactions that it holds. */
  advertise(url: string): void
  /** Tells load balancers, by `/readyz`, to send no more requests. Those that come are answered as before. */
  drain(): void
  /** Lets each answer end its connection from now on. */
  leave(): void
  /** Refuses new requests. Those under way go on. */
  stop(): void
  /**
   * Ends the watch of the event loop, and gives up the transactions that callers left open. Call it when no request is
   * under way any more.
   */
  close(): Promise<void>
}

/** Answers requests that are not for the catalog. Returns undefined for a path that it does not know. */
export type Extension = (
  exchange: Exchange,
  context: Pick<HttpContext, 'authenticate'>,
) => Promise<StreamableAnswer> | undefined

const operationPath = /^\/\/?v1\//

/** Checks the options and makes a core. */
export async function openHttpCore(
  options: PluginOptions,
  surroundings: Surroundings,
  extension?: Extension,
): Promise<HttpCore> {
  const context = await openContext(options, surroundings)
  const { admission, readiness, streams } = context
  let isLeaving = false
  const operation = responder(context)
  const pages = new Map<string, Page>()
  for (const [path, page] of pagesOf(context))
    pages.set(path, async (exchange) => besideReading(context, exchange) ?? page(exchange))

  async function respondBeside(exchange: Exchange): Promise<StreamableAnswer> {
    try {
      const extended = extension?.(exchange, context)
      if (extended) return await extended
      const { method, path } = exchange
      const page = pages.get(withoutLastSlash(decodeSegment(path)))
      if (page) {
        const answer = await page(exchange)
        countAnswer(context, exchange, answer)
        return answer
      }
      return failure(context, exchange, unknownRoute(method, path), 404)
    } catch (error) {
      return failure(context, exchange, error)
    }
  }

  return {
    respond: (exchange) =>
      operationPath.test(exchange.path) ? operation(exchange) : respondBeside(exchange),
    operation,
    pages,
    failure: (exchange, error) => failure(context, exchange, error),
    headersOf: (answer, exchange) => headersOf(answer, exchange, isLeaving, context.server.instance),
    advertise: (url) => context.server.advertise(url),
    drain: () => readiness.end(),
    leave: () => {
      isLeaving = true
    },
    stop: () => {
      isLeaving = true
      readiness.end()
      admission.close()
      streams.stop()
    },
    close: context.close,
  }
}

function withoutLastSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path
}
