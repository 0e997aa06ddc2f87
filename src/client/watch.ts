import { CatalogError, invalid } from '../base/errors.ts'
import { formatIdentifier } from '../base/model/identifier.ts'
import { anySignal } from '../base/scheduling/signals.ts'
import { clearTimeout, performance, setTimeout, sleep } from '../base/time.ts'
import type { Changes, CommittedChange, WatchRequest } from '../catalog/index.ts'
import { itemsOf } from '../catalog/index.ts'
import {
  changesPath,
  eventStreamType,
  eventsOf,
  lastEventHeader,
  type ReceivedEvent,
} from '../protocol/events.ts'
import { errorOfResponse } from '../protocol/status.ts'
import type { Credentials } from './credentials.ts'
import { errorOf, retryDelay } from './exchange.ts'
import type { Settings } from './options.ts'
import { headersOf, type Received, timedOut, unreachable, whenLate } from './send.ts'

/** A server sends an event every 15 seconds. One that sends nothing for so long counts as gone. */
const silenceMillis = 60_000

/**
 * Iterates over the commits of a server. When the connection ends, it reconnects and resumes after the last change, so
 * no change is lost or repeated. It fails when no server answers for `maxWait`.
 */
export function watchOver(
  settings: Settings,
  credentials: Credentials,
  request: WatchRequest = {},
  closing: AbortSignal,
): Changes {
  const { signal } = request
  /** The token of the last change or position that arrived. */
  let token = request.since
  const ended = anySignal(closing, signal)
  let connecting: Promise<Connection> | undefined
  const open = () => {
    connecting ??= connectWithRetries(settings, credentials, request, () => token, ended)
    return connecting
  }
  const begin = async () => {
    const connection = await open()
    token ??= connection.firstToken
  }
  const items = itemsOf<CommittedChange>(async function* (stopped) {
    const stop = () => void connecting?.then((connection) => connection.close()).catch(() => {})
    for (const signal of [stopped, ended]) signal.addEventListener('abort', stop)
    try {
      await begin()
      for (;;) {
        const event = await (await open()).next()
        stopped.throwIfAborted()
        if (closing.aborted) return undefined
        // The connection broke, or the server stops. Another server, or the same one later, continues.
        if (event === undefined || event.kind === 'end') {
          if (settings.retries === 0) throw streamEnded(settings)
          await (await open()).close()
          connecting = undefined
          await sleep(retryDelay(0, null), { signal: stopped })
        } else if (event.kind === 'message') {
          token = event.id ?? token
          yield JSON.parse(event.data) as CommittedChange
        } else if (event.kind === 'token') {
          token = event.id ?? token
        } else if (event.kind === 'error') {
          const { status = 500, ...body } = JSON.parse(event.data) as { status?: number }
          throw errorOfResponse(status, { status, ...body }, changesPath)
        }
      }
    } catch (error) {
      if (closing.aborted) return undefined
      throw error
    } finally {
      // `anySignal` keeps a signal in memory while it has listeners.
      for (const signal of [stopped, ended]) signal.removeEventListener('abort', stop)
      await connecting?.then((connection) => connection.close()).catch(() => {})
    }
  }, signal)
  return Object.assign(items, {
    token: async () => {
      await begin()
      return token!
    },
  }) as Changes
}

/** A stream of events of a server. */
interface Connection {
  /** The token of the position at which it began. */
  readonly firstToken: string
  /** The next event; undefined when the connection broke. */
  next(): Promise<ReceivedEvent | undefined>
  close(): Promise<void>
}

/** Connects, with retries while the error is transient and `maxWait` is not over. */
async function connectWithRetries(
  settings: Settings,
  credentials: Credentials,
  request: WatchRequest,
  since: () => string | undefined,
  signal: AbortSignal,
): Promise<Connection> {
  const until = performance.now() + settings.maxWait
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted()
    try {
      return await connectOnce(settings, credentials, request, since(), signal)
    } catch (error) {
      signal.throwIfAborted()
      const isTransient =
        error instanceof CatalogError && (error.code === 'ServiceUnavailable' || error.code === 'Throttling')
      if (!isTransient || settings.retries === 0 || performance.now() > until) throw error
      await sleep(retryDelay(attempt, null), { signal }).catch(() => {})
    }
  }
}

/** Aborts the requests of a connection. */
class Stop extends AbortController {
  readonly requests: Request[] = []
}

async function connectOnce(
  settings: Settings,
  credentials: Credentials,
  request: WatchRequest,
  since: string | undefined,
  signal: AbortSignal,
): Promise<Connection> {
  // As in `send`, what may abort holds the requests.
  const stop = new Stop()
  const onAbort = () => stop.abort()
  signal.addEventListener('abort', onAbort, { once: true })
  const body = await streamOf(settings, credentials, request, since, stop).catch((error) => {
    signal.removeEventListener('abort', onAbort)
    throw error
  })
  const events = eventsOf(body)
  const next = async () => {
    const timer = setTimeout(() => stop.abort(), silenceMillis)
    try {
      const { value } = await events.next()
      return value ?? undefined
    } catch {
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }
  const close = async () => {
    signal.removeEventListener('abort', onAbort)
    stop.abort()
    await events.return(undefined).catch(() => {})
  }
  const first = await next()
  if (first?.id === undefined) {
    await close()
    throw streamEnded(settings)
  }
  return { firstToken: first.id, next, close }
}

/** Requests the stream of events, a second time with another token when the server answers 401. */
async function streamOf(
  settings: Settings,
  credentials: Credentials,
  { id }: WatchRequest,
  since: string | undefined,
  stop: Stop,
): Promise<AsyncIterable<Uint8Array>> {
  if (id !== undefined && !(Array.isArray(id) && id.every((name) => typeof name === 'string')))
    throw invalid('watch: the identifier must be a list of names.')
  const query = id === undefined ? '' : `?id=${encodeURIComponent(formatIdentifier(id))}`
  const own = { accept: eventStreamType, ...(since !== undefined && { [lastEventHeader]: since }) }
  const ask = (token: string | undefined) => {
    const headers = headersOf(settings.headers, own, token)
    const url = `${settings.base}${changesPath}${query}`
    const request = new Request(url, { headers, redirect: 'manual', signal: stop.signal })
    stop.requests.push(request)
    return begun(settings, request, stop)
  }
  const token = await credentials.current()
  let answer = await ask(token)
  if ('status' in answer && answer.status === 401) {
    const other = await credentials.renewed(token)
    if (other !== undefined) answer = await ask(other)
  }
  if ('status' in answer) throw errorOf(settings, answer, changesPath)
  return answer
}

/** The stream that a server began, or its whole answer if that is none, within the `timeout` of the client. */
async function begun(
  { base, timeout, fetch }: Settings,
  request: Request,
  stop: AbortController,
): Promise<AsyncIterable<Uint8Array> | Received> {
  const timer = whenLate(timeout, () => stop.abort(timedOut(base, timeout).error))
  try {
    const response = await fetch(request)
    const { status, headers, body } = response
    if (status === 200 && body !== null) return body as unknown as AsyncIterable<Uint8Array>
    return { status, headers, body: new Uint8Array(await response.arrayBuffer()) }
  } catch (cause) {
    throw stop.signal.reason instanceof CatalogError
      ? stop.signal.reason
      : unreachable(base, undefined, cause)
  } finally {
    clearTimeout(timer)
  }
}

function streamEnded({ base }: Settings): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    `The server at ${base} ended the stream of changes. Watch again, from the token of the last change.`,
  )
}
