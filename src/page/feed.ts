import { eventStreamType, eventsOf } from '../protocol/events.ts'
import type { CommittedChange } from './model/concerns.ts'
import { openChanges } from './server.ts'

export interface FeedListener {
  /** Called with each change, once, in the order of the commits. */
  readonly onChange: (change: CommittedChange) => void
  /** Called when changes may have been missed, so all fetched data may be outdated. */
  readonly onGap: () => void
}

/** How long a hidden tab keeps its connection, in milliseconds. Browsers limit the connections to one server. */
const hiddenMillis = 20_000
/** The first and the longest delay before a reconnect, in milliseconds. Doubles after each failure. */
const [firstWait, longestWait] = [1_000, 60_000]
/** The timeout of a silent connection, in milliseconds. A server sends a heartbeat every 15 seconds. */
const silenceMillis = 60_000
/** The longest event, in characters. A longer one is a huge commit, after which everything is fetched again. */
const mostCharacters = 4 * 1024 * 1024

/**
 * Follows the stream of changes while the tab is visible, until the returned function is called. Resumes after a lost
 * connection. Ends silently if the server refuses or has no such stream.
 */
export function followChanges(listener: FeedListener): () => void {
  const over = new AbortController()
  void follow(listener, over.signal).catch(() => {})
  return () => over.abort()
}

async function follow(listener: FeedListener, over: AbortSignal): Promise<void> {
  let since: string | undefined
  let failures = 0
  while (!over.aborted) {
    await inSight(over)
    const { signal, heard, end } = connectionOf(over)
    try {
      const response = await openChanges(since, signal)
      const { status, body, headers } = response
      if (status === 200 && body && headers.get('content-type')?.startsWith(eventStreamType)) {
        for await (const { kind, id, data } of eventsOf(chunksOf(body), mostCharacters)) {
          heard()
          // Neither the first listings nor the stream have the commits in between.
          if (since === undefined) listener.onGap()
          since = id ?? since
          if (kind === 'message') listener.onChange(JSON.parse(data) as CommittedChange)
          if (kind === 'message' || kind === 'token') failures = 0
          if (kind === 'error') since = undefined
        }
      } else {
        const mayPass = status >= 500 || status === 429 || status === 408
        // The token is too old, or of a catalog that was restored or replaced.
        const isPlace = since !== undefined && (status === 404 || status === 400)
        if (!mayPass && !isPlace) return
        if (isPlace) since = undefined
      }
    } catch (error) {
      if (over.aborted) return
      // After a resume, an event that is too long would come again.
      if (!signal.aborted && !(error instanceof TypeError)) since = undefined
    } finally {
      end()
    }
    await pause(Math.min(longestWait, firstWait * 2 ** failures) * (0.5 + Math.random() / 2), over)
    failures++
  }
}

/** One connection. Its signal aborts when the server is silent, or the tab is hidden, for too long. */
function connectionOf(over: AbortSignal) {
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
  over.addEventListener('abort', abort, { once: true })
  return {
    signal: controller.signal,
    heard: () => {
      clearTimeout(silence)
      silence = setTimeout(abort, silenceMillis)
    },
    end: () => {
      abort()
      clearTimeout(silence)
      clearTimeout(hidden)
      document.removeEventListener('visibilitychange', look)
      over.removeEventListener('abort', abort)
    },
  }
}

/** Resolves when the tab is visible. */
function inSight(over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !over.aborted) return
      document.removeEventListener('visibilitychange', look)
      over.removeEventListener('abort', look)
      resolve()
    }
    document.addEventListener('visibilitychange', look)
    over.addEventListener('abort', look)
    look()
  })
}

function pause(millis: number, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      over.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, millis)
    over.addEventListener('abort', end)
    if (over.aborted) end()
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
