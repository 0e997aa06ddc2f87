import { eventStreamType, eventsOf } from '../protocol/events.ts'
import type { CommittedChange } from './model/concerns.ts'
import { openChanges } from './server.ts'

export interface FeedListener {
  /** Called with each change, once, in the order of the commits. */
  readonly onChange: (change: CommittedChange) => void
  /** Called when changes may have been missed: whatever was fetched may be old. */
  readonly onGap: () => void
}

/** How long a tab that nobody sees keeps its connection. A browser has few of them for one server. */
const hiddenMillis = 20_000
/** Waits before connecting again, in milliseconds: doubled after each failure. */
const [firstWait, longestWait] = [1_000, 60_000]
/** A server says every 15 seconds that it is there. */
const silenceMillis = 60_000
/** A longer event is of a commit that changed so much that all is fetched again. */
const mostCharacters = 4 * 1024 * 1024

/**
 * Follows the stream of changes until the returned function is called, while the tab is in sight. It goes on where it was
 * when the connection ends, and gives up without a word where the server refuses or has no such stream.
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
          // What was committed between the first listings and now is in neither.
          if (since === undefined) listener.onGap()
          since = id ?? since
          if (kind === 'message') listener.onChange(JSON.parse(data) as CommittedChange)
          if (kind === 'message' || kind === 'token') failures = 0
          if (kind === 'error') since = undefined
        }
      } else {
        const mayPass = status >= 500 || status === 429 || status === 408
        // The place is of a catalog that was put back or replaced, or is too old.
        const isPlace = since !== undefined && (status === 404 || status === 400)
        if (!mayPass && !isPlace) return
        if (isPlace) since = undefined
      }
    } catch (error) {
      if (over.aborted) return
      // An event that is too long would be so again.
      if (!signal.aborted && !(error instanceof TypeError)) since = undefined
    } finally {
      end()
    }
    await pause(Math.min(longestWait, firstWait * 2 ** failures) * (0.5 + Math.random() / 2), over)
    failures++
  }
}

/** One connection: its signal aborts when it is silent, or the tab hidden, for too long. */
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

/** Resolves when the tab is in sight. */
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

/** Not every browser can go over a stream by itself. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield value
  }
}
