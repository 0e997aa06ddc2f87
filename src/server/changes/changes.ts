import { Readable } from 'node:stream'
import { CatalogError, invalid } from '../../base/errors.ts'
import { checkDelimiter, quote } from '../../base/model/identifier.ts'
import type { Changes, CommittedChange } from '../../catalog/handle/handle.ts'
import { insideHeader } from '../../catalog/operations/framework/inside.ts'
import { principalKey } from '../../catalog/operations/framework/principal.ts'
import { type MayRead, visibleChanges } from '../../catalog/operations/framework/visible-changes.ts'
import { changesPath, eventStreamType, eventText, lastEventHeader } from '../../protocol/events.ts'
import { single } from '../../protocol/query.ts'
import { decodePathId } from '../../protocol/wire.ts'
import { type Authorizer, authorizer } from '../auth/authorize.ts'
import type { StreamableAnswer } from '../core/answer.ts'
import type { HttpContext } from '../core/context.ts'
import type { Exchange } from '../core/exchange.ts'
import { problemOf } from '../core/problem.ts'
import { mountEnd } from '../core/routing.ts'

/** How often a stream that has nothing to tell says how far it has come, in milliseconds. */
const quietMillis = 15_000

/** Whether a path is that of the change feed. `mounted` is the number of segments before it. */
export function isChangesPath(path: string, mounted: number): boolean {
  const start = mountEnd(path, mounted)
  if (start < 0) return false
  return /^\/?\/v1\/changes\/?$/.test(path.slice(start))
}

/** Answers requests for the change feed with a stream of events. */
export function changesResponder(context: HttpContext): (exchange: Exchange) => Promise<StreamableAnswer> {
  const { options, authenticate, rateLimit, streams, admission } = context
  const { catalog } = options
  const authorize = authorizer(options.authorize)
  const quiet = Math.min(quietMillis, admission.silences.download / 3)

  return async (exchange) => {
    const known = authenticate(exchange)
    const principal = known instanceof Promise ? await known : known
    exchange.principal = principal
    const caller = principal?.name ?? exchange.remoteAddress ?? ''
    rateLimit?.(caller)
    const asked = readAsked(exchange)
    if (exchange.method === 'HEAD')
      return { status: 200, type: eventStreamType, body: '', headers: streamHeaders }
    const leave = streams.enter(caller)
    const gone = new AbortController()
    const over = () => {
      gone.abort()
      leave()
    }
    try {
      const changes = catalog.watch({
        ...asked,
        signal: gone.signal,
        ...(principal && { context: { [principalKey]: principal.name } }),
      })
      // What is wrong with the request is an answer of its own.
      const token = await changes.token()
      const mayRead = options.authorize && mayReadOf(authorize, exchange)
      const source = events(context, exchange, changes, token, { quiet, mayRead, gone: gone.signal })
      // Nothing is read ahead of what the client takes.
      const body = Readable.from(source, { objectMode: false, highWaterMark: 1 })
      body.once('close', over)
      if (exchange.isClosed) over()
      else exchange.onClose(over)
      return { status: 200, type: eventStreamType, body, headers: streamHeaders }
    } catch (error) {
      over()
      throw error
    }
  }
}

const streamHeaders = { 'cache-control': 'no-store', 'x-accel-buffering': 'no' }

const parameters = ['id', 'since', 'delimiter']

function readAsked({ query, headers }: Exchange) {
  const given = new URLSearchParams(query)
  for (const name of given.keys()) {
    if (parameters.includes(name)) continue
    throw invalid(
      `${changesPath} takes no query parameter ${quote(name.slice(0, 64))}. It takes ${parameters.join(', ')}.`,
    )
  }
  if (headers[insideHeader] !== undefined) {
    throw new CatalogError(
      'Unsupported',
      `A transaction sees one moment, so there is nothing to watch in it. Leave the header ${insideHeader} out.`,
    )
  }
  const delimiter = checkDelimiter(single(given, 'delimiter'))
  const id = single(given, 'id')
  // A client that reconnects sends the address that it was given at first.
  const since = headers[lastEventHeader] ?? single(given, 'since')
  return {
    ...(id !== undefined && { id: decodePathId(encodeURIComponent(id), delimiter) }),
    ...(since !== undefined && { since: String(since) }),
  }
}

function mayReadOf(authorize: Authorizer, exchange: Exchange): MayRead {
  return async (operation, id) => {
    try {
      await authorize(exchange.principal, operation, id, () => exchange.info())
      return true
    } catch {
      return false
    }
  }
}

interface Streaming {
  readonly quiet: number
  readonly mayRead: MayRead | undefined
  readonly gone: AbortSignal
}

async function* events(
  { streams, log, admission }: HttpContext,
  exchange: Exchange,
  changes: Changes,
  begun: string,
  { quiet, mayRead, gone }: Streaming,
): AsyncGenerator<string, void> {
  let token = begun
  try {
    yield eventText('token', token, { token })
    let next: Promise<IteratorResult<CommittedChange, undefined>> | undefined
    while (!streams.isStopping) {
      next ??= changes.next()
      const came = await streams.within(next, quiet)
      if (came === undefined) {
        if (streams.isStopping) break
        // Also keeps connections open that somebody between would close, and finds out who is gone.
        token = await changes.token()
        yield eventText('token', token, { token })
        continue
      }
      next = undefined
      if (came.done) break
      token = came.value.token
      const shown = await shownChange(came.value, mayRead)
      if (shown !== undefined) yield eventText('message', token, shown)
    }
    yield eventText('end', token, { token })
  } catch (error) {
    if (gone.aborted) return
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

/** A change as its caller may see it: callers do not learn who the others are. Undefined when there is nothing to see. */
async function shownChange(
  { principal: _, request_id: __, ...change }: CommittedChange,
  mayRead: MayRead | undefined,
): Promise<CommittedChange | undefined> {
  if (mayRead === undefined) return change
  const changes = await visibleChanges(change.changes, mayRead)
  return changes.length === 0 ? undefined : { ...change, changes }
}
