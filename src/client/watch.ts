import { CatalogError, invalid } from '../base/errors.ts'
import { formatIdentifier } from '../base/model/identifier.ts'
import { clearTimeout, performance, setTimeout, sleep } from '../base/time.ts'
import type { Changes, CommittedChange, WatchRequest } from '../catalog/handle/handle.ts'
import { itemsOf } from '../catalog/handle/iteration/items.ts'
import {
  changesPath,
  eventStreamType,
  eventsOf,
  lastEventHeader,
  type ReceivedEvent,
} from '../protocol/events.ts'
import { errorOfResponse } from '../protocol/status.ts'
import type { Credentials } from './credentials.ts'
import { errorOf, waitBefore } from './exchange.ts'
import type { Settings } from './options.ts'
import { headersOf, unreachable } from './send.ts'

/** A server says every 15 seconds that it is there. One that says nothing for so long is gone. */
const silenceMillis = 60_000

/**
 * Goes over what is committed at a server. When the connection ends, it connects again and goes on behind what it gave
 * last, so nothing is lost and nothing comes twice. It gives up when no server answers for `maxWait`.
 */
export function watchOver(
  settings: Settings,
  access: Credentials,
  request: WatchRequest = {},
  closing: AbortSignal,
): Changes {
  const { signal } = request
  /** The place behind all that was given. */
  let place = request.since
  const ended = AbortSignal.any([closing, ...(signal ? [signal] : [])])
  let opened: Promise<Connection> | undefined
  const open = () => {
    opened ??= connectPatiently(settings, access, request, () => place, ended)
    return opened
  }
  const begin = async () => {
    const connection = await open()
    place ??= connection.first
  }
  const items = itemsOf<CommittedChange>(async function* (stopped) {
    const stop = () => void opened?.then((connection) => connection.close()).catch(() => {})
    for (const signal of [stopped, ended]) signal.addEventListener('abort', stop)
    try {
      await begin()
      for (;;) {
        const event = await (await open()).next()
        stopped.throwIfAborted()
        if (closing.aborted) return undefined
        // Cut off, or the server stops: another one, or the same one later, goes on.
        if (event === undefined || event.kind === 'end') {
          if (settings.retries === 0) throw cutOff(settings)
          await (await open()).close()
          opened = undefined
          await sleep(waitBefore(0, null), { signal: stopped })
        } else if (event.kind === 'message') {
          place = event.id ?? place
          yield JSON.parse(event.data) as CommittedChange
        } else if (event.kind === 'token') {
          place = event.id ?? place
        } else if (event.kind === 'error') {
          const { status = 500, ...body } = JSON.parse(event.data) as { status?: number }
          throw errorOfResponse(status, { status, ...body }, changesPath)
        }
      }
    } catch (error) {
      if (closing.aborted) return undefined
      throw error
    } finally {
      // A signal that is made of others is kept for as long as it has listeners.
      for (const signal of [stopped, ended]) signal.removeEventListener('abort', stop)
      await opened?.then((connection) => connection.close()).catch(() => {})
    }
  }, signal)
  return Object.assign(items, {
    token: async () => {
      await begin()
      return place!
    },
  }) as Changes
}

/** A stream of events from a server. */
interface Connection {
  /** The place where it began. */
  readonly first: string
  /** The next event, or undefined when the connection was cut off. */
  next(): Promise<ReceivedEvent | undefined>
  close(): Promise<void>
}

/** Connects, and again while a server may come back. */
async function connectPatiently(
  settings: Settings,
  access: Credentials,
  request: WatchRequest,
  place: () => string | undefined,
  signal: AbortSignal,
): Promise<Connection> {
  const until = performance.now() + settings.maxWait
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted()
    try {
      return await connectOnce(settings, access, request, place(), signal)
    } catch (error) {
      signal.throwIfAborted()
      const isPassing =
        error instanceof CatalogError && (error.code === 'ServiceUnavailable' || error.code === 'Throttling')
      if (!isPassing || settings.retries === 0 || performance.now() > until) throw error
      await sleep(waitBefore(attempt, null), { signal }).catch(() => {})
    }
  }
}

async function connectOnce(
  settings: Settings,
  access: Credentials,
  request: WatchRequest,
  place: string | undefined,
  signal: AbortSignal,
): Promise<Connection> {
  const { id } = request
  if (id !== undefined && !(Array.isArray(id) && id.every((name) => typeof name === 'string')))
    throw invalid('watch: the identifier must be a list of names.')
  const query = id === undefined ? '' : `?id=${encodeURIComponent(formatIdentifier(id))}`
  const stop = new AbortController()
  const onAbort = () => stop.abort()
  signal.addEventListener('abort', onAbort, { once: true })
  const ask = async (token: string | undefined) => {
    const headers = headersOf(
      settings.headers,
      { accept: eventStreamType, ...(place !== undefined && { [lastEventHeader]: place }) },
      token,
    )
    try {
      return await settings.fetch(
        new Request(`${settings.base}${changesPath}${query}`, {
          headers,
          redirect: 'manual',
          signal: stop.signal,
        }),
      )
    } catch (cause) {
      throw unreachable(settings.base, undefined, cause)
    }
  }
  const token = await access.current()
  let response = await ask(token)
  if (response.status === 401) {
    const other = await access.renewed(token)
    if (other !== undefined) response = await ask(other)
  }
  if (response.status !== 200 || response.body === null) {
    const { status, headers } = response
    const body = new Uint8Array(await response.arrayBuffer())
    throw errorOf(settings, { status, headers, body }, changesPath)
  }
  const events = eventsOf(response.body as unknown as AsyncIterable<Uint8Array>)
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
    throw cutOff(settings)
  }
  return { first: first.id, next, close }
}

function cutOff({ base }: Settings): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    `The server at ${base} ended the stream of changes. Watch again, from the token of the last change.`,
  )
}
