import { useEffect, useRef, useState } from 'preact/hooks'
import type { Identifier } from '../base/model/identifier.ts'
import { eventStreamType, eventsOf } from '../protocol/events.ts'
import { affectedParts, type CommittedChange } from './model/affected-parts.ts'
import type { Route } from './model/route.ts'
import { openChanges } from './server.ts'

/** Counters. When one rises, its part of the page may be outdated and is fetched again. */
export interface RefreshCounters {
  readonly namespaces: number
  readonly tables: number
  readonly open: number
  /** The latest changes from the stream, latest first. */
  readonly latest: readonly CommittedChange[]
}

const maxLatest = 100
/** The minimum interval between two refreshes, in milliseconds. */
const restMillis = 3_000
const firstMillis = 150

const allParts = { namespaces: true, tables: true, open: true }

/** Follows the stream of changes while there is a caller, and counts the changes that affect each part of the page. */
export function useRefreshCounters(
  route: Route,
  listed: Identifier,
  caller: string | undefined,
): RefreshCounters {
  const [counters, setCounters] = useState<RefreshCounters>({ namespaces: 0, tables: 0, open: 0, latest: [] })
  const shown = useRef({ route, listed })
  shown.current = { route, listed }
  useEffect(() => {
    setCounters((before) => (before.latest.length === 0 ? before : { ...before, latest: [] }))
    if (caller === undefined) return undefined
    let affected = { namespaces: false, tables: false, open: false }
    let received: CommittedChange[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    let earliest = 0
    const publish = () => {
      timer = undefined
      earliest = performance.now() + restMillis
      const { namespaces, tables, open } = affected
      const latest = received.reverse()
      affected = { namespaces: false, tables: false, open: false }
      received = []
      setCounters((before) => ({
        namespaces: before.namespaces + Number(namespaces),
        tables: before.tables + Number(tables),
        open: before.open + Number(open),
        latest: [...latest, ...before.latest].slice(0, maxLatest),
      }))
    }
    const markAffected = (parts: typeof affected) => {
      affected = {
        namespaces: affected.namespaces || parts.namespaces,
        tables: affected.tables || parts.tables,
        open: affected.open || parts.open,
      }
      timer ??= setTimeout(publish, Math.max(firstMillis, earliest - performance.now()))
    }
    const stop = followChanges({
      onChange: (change) => {
        received.push(change)
        if (received.length > maxLatest) received.shift()
        markAffected(affectedParts(change.changes, shown.current.route, shown.current.listed))
      },
      onGap: () => markAffected(allParts),
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [caller])
  return counters
}

export interface FeedListener {
  /** Called with each change, once, in the order of the commits. */
  readonly onChange: (change: CommittedChange) => void
  /** Called when changes may have been missed, so all fetched data may be outdated. */
  readonly onGap: () => void
}

/** How long a hidden tab keeps its connection, in milliseconds. Browsers limit the connections to one server. */
const hiddenMillis = 20_000
/** The first and the longest delay before a reconnect, in milliseconds. Doubles after each failure. */
const [firstWait, maxWait] = [1_000, 60_000]
/** The timeout of a silent connection, in milliseconds. A server sends a heartbeat every 15 seconds. */
const silenceMillis = 60_000
/** The longest event, in characters. A longer one is a huge commit, after which everything is fetched again. */
const maxCharacters = 4 * 1024 * 1024

/**
 * Follows the stream of changes while the tab is visible, until the returned function is called. Resumes after a lost
 * connection. Ends silently if the server refuses or has no such stream.
 */
function followChanges(listener: FeedListener): () => void {
  const stopped = new AbortController()
  void follow(listener, stopped.signal).catch(() => {})
  return () => stopped.abort()
}

async function follow(listener: FeedListener, stopped: AbortSignal): Promise<void> {
  let since: string | undefined
  let failures = 0
  while (!stopped.aborted) {
    await untilVisible(stopped)
    const { signal, resetSilence, end } = newConnection(stopped)
    try {
      const response = await openChanges(since, signal)
      const { status, body, headers } = response
      if (status === 200 && body && headers.get('content-type')?.startsWith(eventStreamType)) {
        for await (const { kind, id, data } of eventsOf(chunksOf(body), maxCharacters)) {
          resetSilence()
          // Neither the first listings nor the stream have the commits in between.
          if (since === undefined) listener.onGap()
          since = id ?? since
          if (kind === 'message') listener.onChange(JSON.parse(data) as CommittedChange)
          if (kind === 'message' || kind === 'token') failures = 0
          if (kind === 'error') since = undefined
        }
      } else {
        const isTransient = status >= 500 || status === 429 || status === 408
        // The token is too old, or of a catalog that was restored or replaced.
        const isTokenRefused = since !== undefined && (status === 404 || status === 400)
        if (!isTransient && !isTokenRefused) return
        if (isTokenRefused) since = undefined
      }
    } catch (error) {
      if (stopped.aborted) return
      // After a resume, an event that is too long would come again.
      if (!signal.aborted && !(error instanceof TypeError)) since = undefined
    } finally {
      end()
    }
    await pause(Math.min(maxWait, firstWait * 2 ** failures) * (0.5 + Math.random() / 2), stopped)
    failures++
  }
}

/** One connection. Its signal aborts when the server is silent, or the tab is hidden, for too long. */
function newConnection(stopped: AbortSignal) {
  const controller = new AbortController()
  const abort = () => controller.abort()
  let silence = setTimeout(abort, silenceMillis)
  let hidden: ReturnType<typeof setTimeout> | undefined
  const look = () => {
    clearTimeout(hidden)
    if (document.hidden) hidden = setTimeout(abort, hiddenMillis)
  }
  look()
  document.addEventListener('visibilitychange', look)
  stopped.addEventListener('abort', abort, { once: true })
  return {
    signal: controller.signal,
    resetSilence: () => {
      clearTimeout(silence)
      silence = setTimeout(abort, silenceMillis)
    },
    end: () => {
      abort()
      clearTimeout(silence)
      clearTimeout(hidden)
      document.removeEventListener('visibilitychange', look)
      stopped.removeEventListener('abort', abort)
    },
  }
}

/** Resolves when the tab is visible. */
function untilVisible(stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !stopped.aborted) return
      document.removeEventListener('visibilitychange', look)
      stopped.removeEventListener('abort', look)
      resolve()
    }
    document.addEventListener('visibilitychange', look)
    stopped.addEventListener('abort', look)
    look()
  })
}

function pause(millis: number, stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      stopped.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, millis)
    stopped.addEventListener('abort', end)
    if (stopped.aborted) end()
  })
}

/** Not every browser supports `for await` over a stream. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield value
  }
}
