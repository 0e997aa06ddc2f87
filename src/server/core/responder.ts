import { Readable } from 'node:stream'
import { CatalogError } from '../../base/errors.ts'
import { idempotencyHeader } from '../../base/model/idempotency-key.ts'
import { inTransactionHeader } from '../../base/model/transaction-id.ts'
import type { Hold } from '../../base/scheduling/byte-budget.ts'
import { requestMemory } from '../../base/scheduling/request-memory.ts'
import { performance } from '../../base/time.ts'
import type { BlobOfVersion, Catalog, OperationOptions } from '../../catalog/index.ts'
import {
  callerHook,
  isAboutTransactions,
  isKeyed,
  isUnsupported,
  removeUnknown,
  requestId,
  sessionServer,
  transactionNamed,
} from '../../catalog/index.ts'
import { clientRules, readsLance, takeBlob } from '../../catalog/local.ts'
import { type OperationName, operations } from '../../catalog/operations/index.ts'
import { arrowStreamType, type Method } from '../../protocol/wire.ts'
import type { Principal } from '../auth/principal.ts'
import { changesResponder, isChangesPath } from '../changes.ts'
import { childrenRequest, childrenResponse, listsChildren } from '../dialects/children.ts'
import type { Fields } from '../dialects/dialect.ts'
import { dialectOf } from '../dialects/index.ts'
import { Throttled } from '../limits/rate-limit.ts'
import { endsTransaction } from '../servers/forwarder.ts'
import { answerOf, type StreamableAnswer } from './answer.ts'
import { blobAnswer } from './blob-answer.ts'
import { type Body, readBody, readOrStream, uncounted } from './body.ts'
import type { HttpContext } from './context.ts'
import type { Exchange } from './exchange.ts'
import { parseJson } from './json.ts'
import { answerUnlessRead, failure } from './problem.ts'
import { type Addressed, buildRequest, readAddress } from './request.ts'
import { allowedMethods, type Match, matchPath, unknownRoute, wrongMethod } from './routing.ts'

/** Answers requests. Never rejects: an error becomes an answer. */
export type Responder = (exchange: Exchange) => Promise<StreamableAnswer>

type Run = (request: Fields, options: OperationOptions) => Promise<Fields>

/** Makes the responder for operations. */
export function responder(context: HttpContext): Responder {
  const { options, mounted, admission, metrics, cache, begun, server, forwarder } = context
  const { authenticate, authorizer, rateLimit } = context
  const { unknownFields, listing } = options
  const watch = changesResponder(context)
  const methods = options.catalog as unknown as Readonly<Record<keyof Catalog, Run>>

  async function respond(exchange: Exchange, match: Match | undefined): Promise<StreamableAnswer> {
    const { method, path, headers } = exchange
    if (match === undefined) {
      const { unknownRoute: status = 404, unserved } = dialectOf(headers, listing)
      return failure(context, exchange, unserved?.(path) ?? unknownRoute(method, path), status)
    }
    const { methods, rows } = match.route
    if (method === 'OPTIONS')
      return { status: 200, body: '', headers: { allow: allowedMethods(match.route) } }
    if (!methods.includes((method === 'HEAD' ? 'GET' : method) as Method)) {
      const refused = failure(context, exchange, wrongMethod(match.route, method), 405)
      return { ...refused, headers: { allow: allowedMethods(match.route) } }
    }
    const dialect = dialectOf(headers, listing)
    exchange.dialect = dialect
    exchange.match = dialect.operation ? { ...match, operation: dialect.operation(match.operation) } : match
    try {
      admission.enter()
    } catch (error) {
      return failure(context, exchange, error)
    }
    // Stays admitted until the client has read a large answer.
    let isLarge = rows === true
    try {
      const answer = await run(exchange, exchange.match)
      isLarge = reserveAnswer(context, exchange, answer) || isLarge
      return answer
    } catch (error) {
      return failure(context, exchange, error)
    } finally {
      if (isLarge) exchange.onClose(() => admission.leave())
      else admission.leave()
    }
  }

  /** All checks before the body is read: credentials, rate limit, path and query, and the `authorize` hook. */
  function admit(exchange: Exchange, match: Match): Addressed | Promise<Addressed> {
    const known = authenticate(exchange)
    if (known instanceof Promise) return known.then((principal) => admitKnown(exchange, match, principal))
    return admitKnown(exchange, match, known)
  }

  function admitKnown(
    exchange: Exchange,
    match: Match,
    principal: Principal | undefined,
  ): Addressed | Promise<Addressed> {
    exchange.principal = principal
    rateLimit?.(principal?.name ?? exchange.remoteAddress ?? '')
    const address = readAddress(match, exchange, unknownFields)
    if (authorizer === undefined) return address
    return authorizer.check(exchange, { operation: match.operation, id: address.id }).then(() => address)
  }

  async function run(exchange: Exchange, match: Match): Promise<StreamableAnswer> {
    const { operation, route } = match
    // Awaited in any case: after that, the bytes of a small body that came with the head are there.
    const address = await admit(exchange, match)
    const isInside = exchange.headers[inTransactionHeader] !== undefined
    if (isInside && operation !== 'beginTransaction') {
      const forwarded = await forwarder.forwardUnread(exchange, match, address.id)
      if (forwarded !== undefined) return forwarded
    }
    const arrowField = exchange.dialect!.arrowField && arrowFieldOf(exchange, operation)
    const reading = bodyOf(exchange, match, arrowField ? 'arrow' : route.body, admission)
    const {
      bytes,
      arriving,
      hold = route.rows ? admission.memory.hold() : undefined,
    } = reading instanceof Promise ? await reading : reading
    let isStream = false
    try {
      // A request inside of a transaction is not answered from the cache. With a hook, each body is checked.
      if (!isInside && !authorizer && cache.mayHave(exchange, bytes)) {
        const cached = cache.find(exchange, bytes, await cache.endOfTurn())
        if (cached !== undefined) return cached
      }
      if (endsTransaction(operation)) {
        const forwarded = await forwarder.forwardEnd(exchange, address.id, bytes)
        if (forwarded !== undefined) return forwarded
      }
      const answer = await perform(exchange, match, { address, arrowField, bytes, arriving, hold })
      isStream = answer.body instanceof Readable
      return answer
    } finally {
      // Invalidated before the caller receives the answer.
      if (operations[operation].definition.changes) cache.invalidate()
      if (isStream) exchange.onClose(() => hold?.release())
      else hold?.release()
    }
  }

  /** Parses the request and runs its operation, unless the answer is cached or another server has its transaction. */
  async function perform(
    exchange: Exchange,
    match: Match,
    { address, arrowField, bytes, arriving, hold }: ReadRequest,
  ): Promise<StreamableAnswer> {
    const { operation, route } = match
    const { headers, principal } = exchange
    const dialect = exchange.dialect!
    const { definition } = operations[operation]
    const parsed =
      arrowField || route.body === 'arrow' ? (arriving ?? bytes) : parseJson(bytes, admission.limits)
    const value = parsed instanceof Promise ? await parsed : parsed
    // The other fields of a JSON route's Arrow body are in the query.
    const content = arrowField ? { [arrowField]: value, ...address.repeated } : value
    const built = buildRequest(match, address, content, exchange)
    const translated = dialect.request?.(operation, built, headers) ?? built
    if (unknownFields === 'ignore') removeUnknown(definition, translated)
    if (authorizer) await authorizer.checkBody(exchange, operation, translated, content)
    const children = dialect.listing === 'children' && listsChildren(operation)
    const request = children ? childrenRequest(operation, translated) : translated
    // Fast path: most requests have neither a header nor a context.
    const isInside = headers[inTransactionHeader] !== undefined
    const mayBeInside = isInside || (content as Fields | undefined)?.context !== undefined
    const transaction = mayBeInside ? transactionNamed(request, {}) : undefined
    if (transaction !== undefined && !isInside && !isAboutTransactions(operation)) {
      const forwarded = await forwarder.forwardRead(exchange, transaction, bytes)
      if (forwarded !== undefined) return forwarded
    }
    const idempotencyKey = keyOf(exchange, definition)
    const make = async () => {
      const rules = dialect.rules?.()
      let blob: BlobOfVersion | undefined
      const result = await methods[operation](request, {
        ...(route.rows &&
          hold && {
            signal: disconnectSignal(exchange),
            [requestMemory]: { hold, inParts: route.answer === 'arrow' },
          }),
        // Canceled on disconnect, because only this caller would learn the transaction's id.
        ...(operation === 'beginTransaction' && {
          signal: disconnectSignal(exchange),
          [sessionServer]: server.session,
        }),
        // A writer that is gone leaves the row of those who wait.
        ...(operation === 'createTableVersion' && { signal: disconnectSignal(exchange) }),
        ...(transaction !== undefined && { transaction }),
        ...(idempotencyKey !== undefined && { idempotencyKey }),
        ...(match.blob && {
          [takeBlob]: (found: BlobOfVersion) => {
            blob = found
          },
        }),
        ...(rules && { [clientRules]: rules }),
        ...(dialect.readsLance?.(built) && { [readsLance]: true }),
        ...(definition.changes && { [requestId]: exchange.requestId }),
        ...(authorizer && { [callerHook]: authorizer.ofResolved(exchange, content) }),
      })
      if (match.blob) return blobAnswer(blob, exchange)
      begun.record(operation, request, result, principal)
      const response = children ? childrenResponse(operation, request, result) : result
      const answer = await answerOf(route, response, dialect.response?.(operation, response) ?? response)
      const headers = rules?.headers()
      return headers ? { ...answer, headers: { ...answer.headers, ...headers } } : answer
    }
    // Never cached inside a transaction, which has its own snapshot and changes.
    return transaction === undefined ? cache.answer(exchange, bytes, request, make) : make()
  }

  return async (exchange) => {
    const match = matchPath(exchange.path, mounted)
    const isChanges = match === undefined && isChangesPath(exchange.path, mounted)
    const answer = isChanges ? await respondWith(context, exchange, watch) : await respond(exchange, match)
    const label = isChanges ? 'changes' : (exchange.match?.operation ?? 'none')
    metrics.count(label, answer.status, performance.now() - exchange.started)
    return answer
  }
}

/** A request whose body was read. */
interface ReadRequest {
  readonly address: Addressed
  /** The field of an Arrow body on a JSON route. */
  readonly arrowField: string | undefined
  readonly bytes: Buffer
  readonly arriving: Body['arriving']
  readonly hold: Hold | undefined
}

/** The field of an Arrow body on a JSON route, which only some dialects send. */
function arrowFieldOf({ headers, dialect }: Exchange, operation: OperationName): string | undefined {
  const isArrow = headers['content-type']?.startsWith(arrowStreamType)
  return isArrow ? dialect!.arrowField?.(operation) : undefined
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
    if (answered.body instanceof Readable) exchange.setReadTimeout(context.admission.times.download)
    return answered
  } catch (error) {
    return failure(context, exchange, error)
  } finally {
    if (entered) context.admission.leave()
  }
}

/** The body of a request. An unsupported operation accepts any body, so that the answer is `Unsupported`. */
function bodyOf(
  exchange: Exchange,
  { operation, route }: Match,
  kind: Match['route']['body'],
  admission: HttpContext['admission'],
): Body | Promise<Body> {
  try {
    const { headers } = exchange
    const isOpenEnded = headers['content-length'] === undefined && headers['transfer-encoding'] !== undefined
    // Rows that arrive are written before their end is known. With a key they are compared first, so they are read whole.
    const isKeyed = keyOf(exchange, operations[operation].definition) !== undefined
    if (route.streams && isOpenEnded && !isKeyed) return readOrStream(exchange, admission)
    return readBody(exchange, kind, admission)
  } catch (error) {
    if (!isUnsupported(operations[operation].definition)) throw error
    return { bytes: Buffer.alloc(0) }
  }
}

/** The idempotency key of a change, which its operation checks. */
function keyOf(
  { headers }: Exchange,
  definition: { readonly name: OperationName; readonly changes: boolean },
): string | undefined {
  const key = headers[idempotencyHeader]
  return key !== undefined && isKeyed(definition) ? String(key) : undefined
}

/** Reserves memory until the client has read a large answer. Returns whether it is large. Fails without room. */
export function reserveAnswer(
  { admission }: HttpContext,
  exchange: Exchange,
  { body }: StreamableAnswer,
): boolean {
  if (body instanceof Readable) {
    exchange.setReadTimeout(admission.times.download)
    return true
  }
  if (body.length <= uncounted || exchange.isClosed) return false
  const hold = admission.memory.hold()
  if (!hold.tryTake(body.length))
    throw new Throttled('Answers that wait for their readers take all the memory that they may')
  exchange.onClose(() => hold.release())
  exchange.setReadTimeout(admission.times.download)
  return true
}

/** Aborted when the caller disconnects before the answer. */
export function disconnectSignal(exchange: Exchange): AbortSignal {
  const controller = new AbortController()
  const abort = () =>
    controller.abort(
      new CatalogError('ServiceUnavailable', 'The connection was closed before the operation was done.'),
    )
  exchange.onClose((isAnswered) => {
    if (!isAnswered) abort()
  })
  return controller.signal
}
