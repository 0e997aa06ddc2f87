import { Readable } from 'node:stream'
import { invalid, unsupported } from '../base/errors.ts'
import { checkDelimiter, quote } from '../base/model/identifier.ts'
import { inTransactionHeader } from '../base/model/transaction-id.ts'
import { clearTimeout, setTimeout } from '../base/time.ts'
import type { Changes, CommittedChange, MayRead } from '../catalog/index.ts'
import { principalKey, visibleChanges } from '../catalog/index.ts'
import { changesPath, eventStreamType, eventText, lastEventHeader } from '../protocol/events.ts'
import { singleValue } from '../protocol/query.ts'
import { decodePathId } from '../protocol/wire.ts'
import type { Authorizer } from './auth/authorize.ts'
import type { StreamableAnswer } from './core/answer.ts'
import type { HttpContext } from './core/context.ts'
import type { Exchange } from './core/exchange.ts'
import { problemOf } from './core/problem.ts'
import { mountEnd } from './core/routing.ts'
import { Throttled } from './limits/admission-control.ts'
import type { Limits } from './options.ts'

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
  const heartbeatMillis = Math.min(quietMillis, admission.silences.download / 3)

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
  readonly disconnected: AbortSignal
}

async function* events(
  { streams, log, admission }: HttpContext,
  exchange: Exchange,
  changes: Changes,
  firstToken: string,
  { heartbeatMillis, mayRead, disconnected }: StreamSettings,
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
      const visible = await visibleChange(result.value, mayRead)
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

/** A change without its caller's identity and without hidden subjects. Undefined when all subjects are hidden. */
async function visibleChange(
  { principal: _, request_id: __, ...change }: CommittedChange,
  mayRead: MayRead | undefined,
): Promise<CommittedChange | undefined> {
  if (mayRead === undefined) return change
  const changes = await visibleChanges(change.changes, mayRead)
  return changes.length === 0 ? undefined : { ...change, changes }
}

/** Counts the open event streams, in total and for each caller. */
export class EventStreams {
  readonly #limits: Pick<Limits, 'streams' | 'streamsPerCaller'>
  readonly #byCaller = new Map<string, number>()
  /** Callbacks that end the waits of streams. An `AbortSignal` would warn about so many listeners. */
  readonly #endWaits = new Set<() => void>()
  #isStopping = false
  #open = 0

  constructor(limits: Pick<Limits, 'streams' | 'streamsPerCaller'>) {
    this.#limits = limits
  }

  /** Whether the server stops. Streams then end. */
  get isStopping(): boolean {
    return this.#isStopping
  }

  /** The result of a promise; undefined after `millis` milliseconds, or when the server stops. */
  withTimeout<T>(promise: Promise<T>, millis: number): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const cleanUp = () => {
        clearTimeout(timer)
        this.#endWaits.delete(end)
      }
      const end = () => {
        cleanUp()
        resolve(undefined)
      }
      const timer = setTimeout(end, millis)
      this.#endWaits.add(end)
      promise.then(resolve, reject).finally(cleanUp)
      if (this.#isStopping) end()
    })
  }

  /** Registers a stream, and returns the function that removes it. Fails with `Throttling` above a limit. */
  enter(caller: string): () => void {
    const { streams, streamsPerCaller } = this.#limits
    const own = this.#byCaller.get(caller) ?? 0
    if (this.#open >= streams) throw new Throttled('The server has as many streams of changes as it takes')
    if (own >= streamsPerCaller)
      throw new Throttled(`One caller has at most ${streamsPerCaller} streams of changes at once`)
    this.#open++
    this.#byCaller.set(caller, own + 1)
    let isRemoved = false
    return () => {
      if (isRemoved) return
      isRemoved = true
      this.#open--
      const left = this.#byCaller.get(caller)! - 1
      if (left > 0) this.#byCaller.set(caller, left)
      else this.#byCaller.delete(caller)
    }
  }

  stop(): void {
    this.#isStopping = true
    for (const end of this.#endWaits) end()
  }
}
