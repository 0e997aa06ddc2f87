import { Readable } from 'node:stream'
import { CatalogError } from '../../base/errors.ts'
import { inTransactionHeader } from '../../base/model/transaction-id.ts'
import type { Hold } from '../../base/scheduling/byte-budget.ts'
import { requestMemory } from '../../base/scheduling/request-memory.ts'
import { performance } from '../../base/time.ts'
import { callerHook, principalKey, requestId } from '../../catalog/index.ts'
import { contextOfHeaders } from '../../protocol/wire.ts'
import type { Mount, MountedRequest, MountedRoute } from '../mount.ts'
import type { Answer, StreamableAnswer } from './answer.ts'
import { readBody } from './body.ts'
import type { HttpContext } from './context.ts'
import type { Exchange } from './exchange.ts'
import { parseJson } from './json.ts'
import { report } from './problem.ts'
import { disconnectSignal, type Responder, reserveAnswer } from './responder.ts'
import { mountEnd } from './routing.ts'

/** Makes the responder for requests to another protocol. */
export function mountResponder(context: HttpContext, mount: Mount): Responder {
  const { admission, authorizer, cache, forwarder, metrics, rateLimit } = context

  async function run(exchange: Exchange, route: MountedRoute): Promise<StreamableAnswer> {
    if (!route.isPublic) exchange.principal = await context.authenticate(exchange)
    rateLimit?.(exchange.principal?.name ?? exchange.remoteAddress ?? '')
    for (const asked of route.access) await authorizer?.check(exchange, asked)
    const isInside = exchange.headers[inTransactionHeader] !== undefined
    if (isInside) {
      const forwarded = await forwarder.forwardMounted(exchange)
      if (forwarded !== undefined) return forwarded
    }
    const { bytes, hold = admission.memory.hold() } =
      route.body === 'none' ? noBody : await readBody(exchange, route.body, admission)
    let isStream = false
    try {
      const body =
        route.body === 'form'
          ? formFields(bytes)
          : await parseJson(bytes, admission.limits, undefined, mount.parseJson)
      const make = () => route.run(requestOf(context, exchange, body, hold))
      // As for operations: a transaction has changes of its own, and a hook decides at each call.
      const isKept = route.keptAs !== undefined && !isInside && !authorizer
      const answer = await (isKept ? cache.mounted(exchange, route.keptAs, make) : make())
      isStream = answer.body instanceof Readable
      return answer
    } finally {
      if (route.changes) cache.invalidate()
      if (isStream) exchange.onClose(() => hold.release())
      else hold.release()
    }
  }

  return async (exchange) => {
    let name = mount.path.slice(1)
    const answer = await (async (): Promise<StreamableAnswer> => {
      let isLarge = false
      let isAdmitted = false
      try {
        const { method, path, query } = exchange
        const below = path.slice(mountEnd(path, context.mounted) + mount.path.length)
        const route = mount.route({ method, path: below, query })
        name = route.name
        admission.enter()
        isAdmitted = true
        const answered = await run(exchange, route)
        isLarge = reserved(context, exchange, route, answered) || answered.body instanceof Readable
        return answered
      } catch (error) {
        return failure(context, mount, exchange, error)
      } finally {
        if (isAdmitted && isLarge) exchange.onClose(() => admission.leave())
        else if (isAdmitted) admission.leave()
      }
    })()
    metrics.count(name, answer.status, performance.now() - exchange.started)
    return answer
  }
}

/** As `reserveAnswer`, whose refusal must not tell that a change was not made. */
function reserved(context: HttpContext, exchange: Exchange, route: MountedRoute, answer: StreamableAnswer) {
  try {
    return reserveAnswer(context, exchange, answer)
  } catch (cause) {
    if (!route.changes) throw cause
    throw new CatalogError(
      'ServiceUnavailable',
      `The change was made, and there is no room for its answer. Look at what there is. ${(cause as Error).message}`,
      { cause, mayBeDone: true },
    )
  }
}

const noBody = { bytes: Buffer.alloc(0), hold: undefined }

function formFields(bytes: Buffer): Readonly<Record<string, string>> {
  return Object.fromEntries(new URLSearchParams(bytes.toString('utf8')))
}

function requestOf(context: HttpContext, exchange: Exchange, body: unknown, hold: Hold): MountedRequest {
  const { authorizer } = context
  const { principal, headers } = exchange
  const transaction = headers[inTransactionHeader]
  return {
    headers,
    principal,
    body,
    context: {
      ...contextOfHeaders(headers),
      ...(principal !== undefined && { [principalKey]: principal.name }),
    },
    options: {
      signal: disconnectSignal(exchange),
      [requestId]: exchange.requestId,
      [requestMemory]: { hold, inParts: true },
      ...(typeof transaction === 'string' && { transaction }),
      ...(authorizer && { [callerHook]: authorizer.ofResolved(exchange, body) }),
    },
    authorize: async (operation, id, location) =>
      authorizer?.check(exchange, { operation, id, body, location }),
    authenticate: async (token) => {
      const headers = { ...exchange.headers, authorization: `Bearer ${token}` }
      return context.authenticate(Object.create(exchange, { headers: { value: headers } }) as Exchange)
    },
  }
}

function failure(context: HttpContext, mount: Mount, exchange: Exchange, error: unknown): Answer {
  const own = error instanceof CatalogError ? undefined : mount.ownAnswer(error)
  if (own !== undefined) return own
  const { code, status, body, headers } = report(context, exchange, error)
  const mayBeDone = error instanceof CatalogError && error.mayBeDone === true
  const answer = mount.answer(code, body.detail, status, mayBeDone)
  // Who is told to wait and retry would do it twice.
  return mayBeDone ? answer : { ...answer, headers: { ...headers, ...answer.headers } }
}
