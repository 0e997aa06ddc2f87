import { Readable } from 'node:stream'
import { invalid, unsupported } from '../base/errors.ts'
import { checkDelimiter, quote } from '../base/model/identifier.ts'
import { inTransactionHeader } from '../base/model/transaction-id.ts'
import type { Changes, CommittedChange, MayRead } from '../catalog/index.ts'
import { principalKey } from '../catalog/index.ts'
import { visibleChanges } from '../catalog/local.ts'
import { changesPath, eventStreamType, eventText, lastEventHeader } from '../protocol/events.ts'
import { singleValue } from '../protocol/query.ts'
import { decodePathId } from '../protocol/wire.ts'
import type { Authorizer } from './auth/authorize.ts'
import type { StreamableAnswer } from './core/answer.ts'
import type { HttpContext } from './core/context.ts'
import type { Exchange } from './core/exchange.ts'
import { problemOf } from './core/problem.ts'
import { mountEnd } from './core/routing.ts'

/** How often an idle stream sends its position, in milliseconds. */
const quietMillis = 15_000

/** Whether a path is that of the change feed. `mounted` is the number of path segments of the mount prefix. */
export function isChangesPath(path: string, mounted: number): boolean {
  const start = mountEnd(path, mounted)
  if (start < 0) return false
  return /^\/?\/v1\/changes\/?$/.test(path.slice(start))
}

/** Answers requests for the change feed with an event stream. */
export function changesResponder(context: HttpContext): (exchange: Exchange) => Promise<StreamableAnswer> {
  const { authenticate, authorizer, rateLimit, streams, admission } = context
  const { catalog } = context.options
  const heartbeatMillis = Math.min(quietMillis, admission.times.download / 3)

  return async (exchange) => {
    const known = authenticate(exchange)
    const principal = known instanceof Promise ? await known : known
    exchange.principal = principal
    const caller = principal?.name ?? exchange.remoteAddress ?? ''
    rateLimit?.(caller)
    const watched = watchRequestOf(exchange)
    if (exchange.method === 'HEAD')
      return { status: 200, type: eventStreamType, body: '', headers: streamHeaders }
    const leave = streams.enter(caller)
    const disconnect = new AbortController()
    const end = () => {
      disconnect.abort()
      leave()
    }
    try {
      const changes = catalog.watch({
        ...watched,
        signal: disconnect.signal,
        ...(principal && { context: { [principalKey]: principal.name } }),
      })
      // Waits for the token before the stream begins, so that an invalid request gets an error status.
      const token = await changes.token()
      const mayRead = authorizer && mayReadOf(authorizer, exchange)
      const source = events(context, exchange, changes, token, {
        heartbeatMillis,
        mayRead,
        caller: principal?.name,
        disconnected: disconnect.signal,
      })
      // Backpressure: no change is read before the client takes it.
      const body = Readable.from(source, { objectMode: false, highWaterMark: 1 })
      body.once('close', end)
      exchange.onClose(end)
      return { status: 200, type: eventStreamType, body, headers: streamHeaders }
    } catch (error) {
      end()
      throw error
    }
  }
}

const streamHeaders = { 'cache-control': 'no-store', 'x-accel-buffering': 'no' }

const parameters = ['id', 'since', 'delimiter']

function watchRequestOf({ query, headers }: Exchange) {
  const given = new URLSearchParams(query)
  for (const name of given.keys()) {
    if (parameters.includes(name)) continue
    throw invalid(
      `${changesPath} takes no query parameter ${quote(name.slice(0, 64))}. It takes ${parameters.join(', ')}.`,
    )
  }
  if (headers[inTransactionHeader] !== undefined) {
    throw unsupported(
      'A transaction sees one moment, so there is nothing to watch in it.',
      `Leave the header ${inTransactionHeader} out.`,
    )
  }
  const delimiter = checkDelimiter(singleValue(given, 'delimiter'))
  const id = singleValue(given, 'id')
  // A client that reconnects repeats its first URL, so the header has the newer token.
  const since = headers[lastEventHeader] ?? singleValue(given, 'since')
  return {
    ...(id !== undefined && { id: decodePathId(encodeURIComponent(id), delimiter) }),
    ...(since !== undefined && { since: String(since) }),
  }
}

function mayReadOf(authorizer: Authorizer, exchange: Exchange): MayRead {
  return async (operation, id) => {
    try {
      await authorizer.check(exchange, { operation, id })
      return true
    } catch {
      return false
    }
  }
}

interface StreamSettings {
  readonly heartbeatMillis: number
  readonly mayRead: MayRead | undefined
  /** The name of the caller, who is told which changes are its own. */
  readonly caller: string | undefined
  readonly disconnected: AbortSignal
}

async function* events(
  { streams, log, admission }: HttpContext,
  exchange: Exchange,
  changes: Changes,
  firstToken: string,
  { heartbeatMillis, mayRead, caller, disconnected }: StreamSettings,
): AsyncGenerator<string, void> {
  let token = firstToken
  try {
    yield eventText('token', token, { token })
    let next: Promise<IteratorResult<CommittedChange, undefined>> | undefined
    while (!streams.isStopping) {
      next ??= changes.next()
      const result = await streams.withTimeout(next, heartbeatMillis)
      if (result === undefined) {
        if (streams.isStopping) break
        // Also keeps proxies from closing idle connections, and detects clients that are gone.
        token = await changes.token()
        yield eventText('token', token, { token })
        continue
      }
      next = undefined
      if (result.done) break
      token = result.value.token
      const visible = await visibleChange(result.value, mayRead, caller)
      if (visible !== undefined) yield eventText('message', token, visible)
    }
    yield eventText('end', token, { token })
  } catch (error) {
    if (disconnected.aborted) return
    const { path, requestId } = exchange
    const { body, unexpected } = problemOf(error, {
      path,
      requestId,
      retryAfter: admission.limits.retryAfter,
    })
    if (unexpected) log.error({ err: error, requestId }, 'a stream of changes failed')
    yield eventText('error', undefined, body)
  } finally {
    await changes.return()
  }
}

/** A change without the identity of another caller, and without hidden subjects. Undefined when all are hidden. */
async function visibleChange(
  { principal, request_id, ...change }: CommittedChange,
  mayRead: MayRead | undefined,
  caller: string | undefined,
): Promise<CommittedChange | undefined> {
  const own =
    principal !== undefined && principal === caller
      ? { principal, ...(request_id !== undefined && { request_id }) }
      : {}
  if (mayRead === undefined) return { ...change, ...own }
  const changes = await visibleChanges(change.changes, mayRead)
  return changes.length === 0 ? undefined : { ...change, ...own, changes }
}
