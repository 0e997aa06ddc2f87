import type { Readable } from 'node:stream'
import type { Catalog } from '../../catalog/handle.ts'
import { CatalogError } from '../../errors.ts'
import type { OperationOptions } from '../../operations/framework/operation.ts'
import { presentedToken } from '../auth/auth.ts'
import { authorizer } from '../auth/authorize.ts'
import { childrenRequest, childrenResponse, listsChildren } from '../dialects/children.ts'
import { dialectOf, type Fields } from '../dialects/dialect.ts'
import type { HttpOptions } from '../options.ts'
import type { ErrorStatus } from '../protocol/status.ts'
import { requestIdHeader } from '../protocol/wire.ts'
import { type Answer, answerOf, jsonUtf8 } from './answer.ts'
import { parseJson, readBody } from './body.ts'
import type { Serving } from './context.ts'
import { type Exchange, endSoon } from './exchange.ts'
import { problemOf } from './problem.ts'
import { buildRequest, readAddress } from './request.ts'
import { allowedMethods, type Match, matchPath, takesMethod, unknownRoute, wrongMethod } from './routing.ts'

/** Answers requests for operations. It never fails: what goes wrong is an answer too. */
export type Responder = (exchange: Exchange, body: Readable) => Promise<Answer>

type Run = (request: Fields, options: OperationOptions) => Promise<Fields>

/** Makes the responder for operations below `mounted` segments of path. */
export function responder(serving: Serving, mounted: number): Responder {
  const { options, gate, metrics, admit, rateLimit, cache } = serving
  const authorize = authorizer(options.authorize)
  const runs = options.catalog as unknown as Readonly<Record<keyof Catalog, Run>>

  /** Everything that is decided before the body is read: is there room, who asks, and for what. */
  async function open(exchange: Exchange, match: Match) {
    const admitted = admit(exchange)
    exchange.principal = admitted instanceof Promise ? await admitted : admitted
    if (rateLimit) await rateLimit(exchange.principal?.name ?? exchange.remoteAddress ?? '')
    const address = readAddress(match, exchange.query, exchange.dialect!)
    await authorize(exchange.principal, match.operation, address.id, () => exchange.info())
    return address
  }

  async function run(exchange: Exchange, match: Match, stream: Readable): Promise<Answer> {
    const { operation, route } = match
    const address = await open(exchange, match)
    const { principal, raw } = exchange
    const dialect = exchange.dialect!
    const reading = readBody(stream, raw.headers, route.body, gate)
    const body = reading instanceof Promise ? await reading : reading
    try {
      const content = route.body === 'arrow' ? body.bytes : parseJson(body.bytes)
      const built = buildRequest(match, address, content, raw.headers, principal)
      const asked = dialect.request?.(operation, built) ?? built
      await authorize.members(principal, operation, asked, () => exchange.info(content))
      const children = listsChildren(operation) && dialect.listing === 'children'
      const final = children ? childrenRequest(operation, asked) : asked
      return await cache.answer(exchange, body.bytes, final, async () => {
        const done = await runs[operation](final, { signal: route.rows ? goneSignal(exchange) : undefined })
        const response = children ? childrenResponse(operation, final, done) : done
        return answerOf(route, response, dialect.response?.(operation, response) ?? response)
      })
    } finally {
      body.release()
    }
  }

  return async (exchange, stream) => {
    let answer: Answer
    const match = matchPath(exchange.path, mounted)
    if (match === undefined) {
      const { unknownRoute: status = 404 } = dialectOf(exchange.raw.headers, options.listing)
      answer = failure(serving, exchange, unknownRoute(exchange.method, exchange.path), status)
    } else if (exchange.method === 'OPTIONS') {
      answer = { status: 200, body: '', headers: { allow: allowedMethods(match.route) } }
    } else if (!takesMethod(match.route, exchange.method)) {
      const refused = failure(serving, exchange, wrongMethod(match.route, exchange.method))
      answer = { ...refused, headers: { allow: allowedMethods(match.route) } }
    } else {
      const ours = named(exchange, match, options.listing)
      let entered = false
      try {
        gate.enter()
        entered = true
        answer = await run(exchange, ours, stream)
      } catch (error) {
        answer = failure(serving, exchange, error)
      }
      // Rows that wait for a slow reader still take room.
      if (entered) leave(serving, exchange, ours)
    }
    metrics.count(exchange.match?.operation ?? 'none', answer.status, performance.now() - exchange.started)
    return answer
  }
}

/** What the match means in the client's dialect. */
function named(exchange: Exchange, match: Match, listing: HttpOptions['listing']): Match {
  const dialect = dialectOf(exchange.raw.headers, listing)
  const operation = dialect.operation?.(match.operation) ?? match.operation
  exchange.dialect = dialect
  exchange.match = operation === match.operation ? match : { ...match, operation }
  return exchange.match
}

function leave({ gate }: Serving, { response }: Exchange, { route }: Match): void {
  if (!route.rows || response.destroyed) gate.leave()
  else response.once('close', () => gate.leave())
}

/** Aborted when whoever asked goes away before the answer. */
function goneSignal({ response }: Exchange): AbortSignal {
  const controller = new AbortController()
  const gone = () =>
    controller.abort(
      new CatalogError('ServiceUnavailable', 'The connection was closed before the operation was done.'),
    )
  if (response.destroyed) gone()
  response.once('close', () => {
    if (!response.writableFinished) gone()
  })
  return controller.signal
}

/** The answer to an error; the server's own go into the log. */
export function failure(
  { gate, log }: Pick<Serving, 'gate' | 'log'>,
  exchange: Exchange,
  error: unknown,
  status?: ErrorStatus,
): Answer {
  const { requestId, path, dialect, raw, match } = exchange
  const problem = problemOf(error, {
    path,
    requestId,
    retryAfter: gate.limits.retryAfter,
    dialect,
    operation: match?.operation,
    status,
    tokenGiven: presentedToken(raw.headers) !== undefined,
  })
  if (problem.unexpected)
    log.error({ err: error, requestId, operation: match?.operation }, 'an operation failed')
  endSoon(raw)
  return {
    status: problem.status,
    type: jsonUtf8,
    body: JSON.stringify(problem.body),
    headers: problem.headers,
  }
}

/** All headers of an answer. */
export function headersOf(answer: Answer, { requestId }: Exchange, closing: boolean): Record<string, string> {
  const headers: Record<string, string> = { [requestIdHeader]: requestId }
  if (answer.type !== undefined) headers['content-type'] = answer.type
  if (closing) headers.connection = 'close'
  return answer.headers === undefined ? headers : { ...answer.headers, ...headers }
}
