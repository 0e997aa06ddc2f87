import { Readable } from 'node:stream'
import { CatalogError, invalid } from '../../base/errors.ts'
import { requestMemory } from '../../base/scheduling/request-memory.ts'
import { performance } from '../../base/time.ts'
import type { Catalog } from '../../catalog/handle/handle.ts'
import {
  insideHeader,
  isAboutTransactions,
  transactionNamed,
} from '../../catalog/operations/framework/inside.ts'
import {
  callerHook,
  type OperationOptions,
  requestId,
  sessionServer,
} from '../../catalog/operations/framework/operation.ts'
import { removeUnknown } from '../../catalog/operations/framework/unknown-fields.ts'
import { operations } from '../../catalog/operations/index.ts'
import { clientRules } from '../../catalog/rows/client-rules.ts'
import type { ErrorStatus } from '../../protocol/status.ts'
import { arrowStreamType, passedOnHeader, requestIdHeader, serverHeader } from '../../protocol/wire.ts'
import { presentedToken } from '../auth/auth.ts'
import { authorizer } from '../auth/authorize.ts'
import { changesResponder, isChangesPath } from '../changes/changes.ts'
import { childrenRequest, childrenResponse, listsChildren } from '../dialects/children.ts'
import { dialectOf, type Fields } from '../dialects/dialect.ts'
import { Throttled } from '../limits/admission-control.ts'
import type { HttpOptions } from '../options.ts'
import { type Answer, answerOf, jsonUtf8, type StreamableAnswer } from './answer.ts'
import { type Body, readBody, uncounted } from './body.ts'
import type { HttpContext } from './context.ts'
import type { Exchange } from './exchange.ts'
import { endsTransaction, forwarding } from './forwarding.ts'
import { parseJson } from './json.ts'
import { problemOf } from './problem.ts'
import { buildRequest, readAddress } from './request.ts'
import { allowedMethods, type Match, matchPath, takesMethod, unknownRoute, wrongMethod } from './routing.ts'

/** Answers requests. Never rejects: an error becomes an answer. */
export type Responder = (exchange: Exchange) => Promise<StreamableAnswer>

type Run = (request: Fields, options: OperationOptions) => Promise<Fields>

/** Makes the responder for operations. */
export function responder(context: HttpContext): Responder {
  const { options, admission, metrics, authenticate, rateLimit, cache, begun, server } = context
  const { unknownFields } = options
  const authorize = authorizer(options.authorize)
  const { forwardUnread, forwardEnd, forwardRead } = forwarding(context)
  const segments = context.prefix.split('/').length - 1
  const watch = changesResponder(context)
  const methods = options.catalog as unknown as Readonly<Record<keyof Catalog, Run>>

  /** All checks before the body is read: credentials, rate limit, path and query, and the `authorize` hook. */
  async function admit(exchange: Exchange, match: Match) {
    const known = authenticate(exchange)
    exchange.principal = known instanceof Promise ? await known : known
    rateLimit?.(exchange.principal?.name ?? exchange.remoteAddress ?? '')
    const address = readAddress(match, exchange.method, exchange.query, exchange.dialect!, unknownFields)
    await authorize(exchange.principal, match.operation, address.id, () => exchange.info())
    return address
  }

  async function run(exchange: Exchange, match: Match): Promise<StreamableAnswer> {
    const { operation, route } = match
    const address = await admit(exchange, match)
    const { principal, headers } = exchange
    const dialect = exchange.dialect!
    if (headers[insideHeader] !== undefined && operation !== 'beginTransaction') {
      const forwarded = await forwardUnread(exchange, match, address.id)
      if (forwarded !== undefined) return forwarded
    }
    const arrowField = arrowFieldOf(exchange, operation)
    const reading = bodyOf(exchange, match, arrowField ? 'arrow' : route.body, admission)
    const body = reading instanceof Promise ? await reading : reading
    const hold = body.hold ?? (route.rows ? admission.memory.hold() : undefined)
    const rowOptions =
      route.rows && hold
        ? { signal: disconnectSignal(exchange), [requestMemory]: { hold, inParts: route.answer === 'arrow' } }
        : {}
    let isStream = false
    try {
      if (endsTransaction(operation)) {
        const forwarded = await forwardEnd(exchange, address.id, body.bytes)
        if (forwarded !== undefined) return forwarded
      }
      const parsed = arrowField
        ? // The other body fields are in the query.
          { [arrowField]: body.bytes, ...address.repeated }
        : route.body === 'arrow'
          ? body.bytes
          : parseJson(body.bytes, admission.limits)
      const content = parsed instanceof Promise ? await parsed : parsed
      const built = buildRequest(match, address, content, headers, principal, dialect)
      const translated = dialect.request?.(operation, built, headers) ?? built
      if (unknownFields === 'ignore') removeUnknown(operations[operation].definition, translated)
      await authorize.bodySubjects(principal, operation, translated, (location) =>
        exchange.info(content, location),
      )
      const children = listsChildren(operation) && dialect.listing === 'children'
      const request = children ? childrenRequest(operation, translated) : translated
      // Fast path: most requests have neither a header nor a context.
      const mayBeInside =
        headers[insideHeader] !== undefined || (content as Fields | undefined)?.context !== undefined
      const transaction = mayBeInside ? transactionNamed(request, {}) : undefined
      if (
        transaction !== undefined &&
        headers[insideHeader] === undefined &&
        !isAboutTransactions(operation)
      ) {
        const forwarded = await forwardRead(exchange, transaction, body.bytes)
        if (forwarded !== undefined) return forwarded
      }
      const { changes } = operations[operation].definition
      const hook = authorize.resolvedSubjects(principal, (location) => exchange.info(content, location))
      const answerFrom = async (given: OperationOptions) => {
        const withRules = dialect.rules ? { ...given, [clientRules]: dialect.rules } : given
        const options = changes ? { ...withRules, [requestId]: exchange.requestId } : withRules
        const result = await methods[operation](request, hook ? { ...options, [callerHook]: hook } : options)
        begun.record(operation, request, result, principal)
        const response = children ? childrenResponse(operation, request, result) : result
        return answerOf(route, response, dialect.response?.(operation, response) ?? response)
      }
      // Never cached inside a transaction, which has its own snapshot and changes.
      const answer =
        transaction === undefined
          ? await cache.answer(exchange, body.bytes, request, () =>
              answerFrom(
                operation === 'beginTransaction'
                  ? // Canceled on disconnect, because only this caller would learn the transaction's id.
                    { signal: disconnectSignal(exchange), [sessionServer]: server.session }
                  : rowOptions,
              ),
            )
          : await answerFrom({ ...rowOptions, transaction })
      isStream = answer.body instanceof Readable
      return answer
    } finally {
      // Invalidated before the caller receives the answer.
      if (operations[operation].definition.changes) cache.invalidate()
      if (isStream && !exchange.isClosed) exchange.onClose(() => hold?.release())
      else hold?.release()
    }
  }

  /** Answers a request that counts as in flight, until the client has read a large answer. */
  async function admitted(exchange: Exchange, match: Match): Promise<StreamableAnswer> {
    try {
      admission.enter()
    } catch (error) {
      return failure(context, exchange, error)
    }
    let isLarge = match.route.rows === true
    try {
      const answer = await run(exchange, match)
      isLarge = reserveAnswer(context, exchange, answer) || isLarge
      return answer
    } catch (error) {
      return failure(context, exchange, error)
    } finally {
      if (isLarge && !exchange.isClosed) exchange.onClose(() => admission.leave())
      else admission.leave()
    }
  }

  return async (exchange) => {
    let answer: StreamableAnswer
    if (isChangesPath(exchange.path, segments)) {
      answer = await respondWith(context, exchange, watch)
      metrics.count('changes', answer.status, performance.now() - exchange.started)
      return answer
    }
    const match = matchPath(exchange.path, segments)
    if (match === undefined) {
      const { unknownRoute: status = 404 } = dialectOf(exchange.headers, options.listing)
      answer = failure(context, exchange, unknownRoute(exchange.method, exchange.path), status)
    } else if (exchange.method === 'OPTIONS') {
      answer = { status: 200, body: '', headers: { allow: allowedMethods(match.route) } }
    } else if (!takesMethod(match.route, exchange.method)) {
      const refused = failure(context, exchange, wrongMethod(match.route, exchange.method), 405)
      answer = { ...refused, headers: { allow: allowedMethods(match.route) } }
    } else {
      answer = await admitted(exchange, inDialect(exchange, match, options.listing))
    }
    metrics.count(exchange.match?.operation ?? 'none', answer.status, performance.now() - exchange.started)
    return answer
  }
}

/** For a read-only path: the answer to a method other than GET and HEAD; undefined for those two. */
export function answerUnlessRead(context: HttpContext, exchange: Exchange): Answer | undefined {
  const { method } = exchange
  const headers = { allow: 'GET, HEAD, OPTIONS' }
  if (method === 'GET' || method === 'HEAD') return undefined
  if (method === 'OPTIONS') return { status: 200, body: '', headers }
  const error = invalid(`${method} is not a method of this path. Use GET.`)
  return { ...failure(context, exchange, error, 405), headers }
}

/** Answers a read-only path. The request counts as in flight only until the answer begins. */
async function respondWith(
  context: HttpContext,
  exchange: Exchange,
  answer: (exchange: Exchange) => Promise<StreamableAnswer>,
): Promise<StreamableAnswer> {
  const other = answerUnlessRead(context, exchange)
  if (other !== undefined) return other
  let entered = false
  try {
    context.admission.enter()
    entered = true
    const answered = await answer(exchange)
    if (answered.body instanceof Readable) exchange.setReadTimeout(context.admission.silences.download)
    return answered
  } catch (error) {
    return failure(context, exchange, error)
  } finally {
    if (entered) context.admission.leave()
  }
}

/** The operations of the protocol that the catalog does not support. */
const unsupported = new Set<string>(
  Object.values(operations)
    .filter(({ definition: { errors } }) => errors.length === 1 && errors.at(0) === 'Unsupported')
    .map(({ definition }) => definition.name),
)

/** The field of an Arrow body on a JSON route, which only some dialects send. */
function arrowFieldOf({ headers, dialect }: Exchange, operation: Match['operation']): string | undefined {
  const isArrow = headers['content-type']?.startsWith(arrowStreamType)
  return isArrow ? dialect!.arrowField?.(operation) : undefined
}

/** The body of a request. An unsupported operation accepts any body, so that the answer is `Unsupported`. */
function bodyOf(
  exchange: Exchange,
  { operation }: Match,
  kind: Match['route']['body'],
  admission: HttpContext['admission'],
): Body | Promise<Body> {
  try {
    return readBody(exchange, kind, admission)
  } catch (error) {
    if (!unsupported.has(operation)) throw error
    return { bytes: Buffer.alloc(0) }
  }
}

/** Sets the dialect and the match of an exchange. The dialect may map the operation to another one. */
function inDialect(exchange: Exchange, match: Match, listing: HttpOptions['listing']): Match {
  const dialect = dialectOf(exchange.headers, listing)
  const operation = dialect.operation?.(match.operation) ?? match.operation
  exchange.dialect = dialect
  exchange.match = operation === match.operation ? match : { ...match, operation }
  return exchange.match
}

/** Reserves memory until the client has read a large answer. Returns whether it is large. Fails without room. */
export function reserveAnswer(
  { admission }: HttpContext,
  exchange: Exchange,
  { body }: StreamableAnswer,
): boolean {
  if (body instanceof Readable) {
    exchange.setReadTimeout(admission.silences.download)
    return true
  }
  if (body.length <= uncounted || exchange.isClosed) return false
  const hold = admission.memory.hold()
  if (!hold.tryTake(body.length))
    throw new Throttled('Answers that wait for their readers take all the memory that they may')
  exchange.onClose(() => hold.release())
  exchange.setReadTimeout(admission.silences.download)
  return true
}

/** Aborted when the caller disconnects before the answer. */
function disconnectSignal(exchange: Exchange): AbortSignal {
  const controller = new AbortController()
  const abort = () =>
    controller.abort(
      new CatalogError('ServiceUnavailable', 'The connection was closed before the operation was done.'),
    )
  if (exchange.isClosed) abort()
  exchange.onClose((isAnswered) => {
    if (!isAnswered) abort()
  })
  return controller.signal
}

/** The answer to an error. Unexpected errors are logged. */
export function failure(
  { admission, log, options }: HttpContext,
  exchange: Exchange,
  error: unknown,
  status?: ErrorStatus,
): Answer {
  const { requestId, path, dialect, headers, match } = exchange
  const problem = problemOf(error, {
    path,
    requestId,
    retryAfter: admission.limits.retryAfter,
    dialect,
    operation: match?.operation,
    status,
    tokenGiven: presentedToken(headers) !== undefined,
  })
  if (problem.unexpected)
    log.error({ err: error, requestId, operation: match?.operation }, 'an operation failed')
  if (problem.status === 401 || problem.status === 403) notifyRefused(options, exchange, problem.status)
  exchange.discardBody()
  return {
    status: problem.status,
    type: jsonUtf8,
    body: JSON.stringify(problem.body),
    headers: problem.headers,
  }
}

function notifyRefused({ onRefused }: HttpOptions, exchange: Exchange, status: number): void {
  const { requestId, method, path, remoteAddress, principal, match } = exchange
  const about = { requestId, method, path: path.slice(0, 1_024), remoteAddress, principal: principal?.name }
  onRefused?.({ ...about, operation: match?.operation, status })
}

/** All headers of an answer except `content-length`. */
export function headersOf(
  answer: StreamableAnswer,
  { requestId, headers: received, dialect }: Exchange,
  closing: boolean,
  instance: string,
): Record<string, string> {
  const headers: Record<string, string> = { [requestIdHeader]: requestId, ...dialect?.headers }
  if (received[passedOnHeader] !== undefined) headers[serverHeader] = instance
  if (answer.type !== undefined) headers['content-type'] = answer.type
  if (closing) headers.connection = 'close'
  return answer.headers === undefined ? headers : { ...answer.headers, ...headers }
}
