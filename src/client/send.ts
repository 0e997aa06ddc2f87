import { CatalogError } from '../base/errors.ts'
import { clearTimeout, setTimeout } from '../base/time.ts'
import type { Settings } from './options.ts'
import type { Outgoing } from './request.ts'

/** A complete response. */
export interface Received {
  readonly status: number
  readonly headers: Headers
  readonly body: Uint8Array
  /** The body instead, where it was asked for in parts. Whoever reads them must read to the end, or leave the loop. */
  readonly parts?: AsyncIterable<Uint8Array>
}

/** The outcome of a request without a response. */
export interface Failure {
  readonly error: CatalogError
  /** Whether a retry may help. After a timeout it does not, because the answer would take as long again. */
  readonly isRetryable: boolean
  /** The start of an error message. Set when the server may have received the request. */
  readonly maybeReceived?: string
}

/** Error codes of requests that were never sent, because there was no connection. */
const neverSent: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
])

/**
 * Sends a request once and reads the whole response, within `timeout` milliseconds; 0 means no limit. An abort rejects
 * with the signal's reason. With `inParts`, the body of a success is read later, and `timeout` is the limit of each part.
 */
export async function send(
  { base, headers, fetch }: Settings,
  outgoing: Outgoing,
  token: string | undefined,
  timeout: number,
  signal: AbortSignal | undefined,
  inParts = false,
): Promise<Received | Failure> {
  signal?.throwIfAborted()
  const stop = new AbortController()
  // A fetch that is under way does not hold its request, and a request that is collected no longer follows its signal.
  // What may abort holds it.
  let request: Request | undefined
  const abort = (reason?: unknown) => {
    stop.abort(reason)
    request = undefined
  }
  const onAbort = () => abort(signal!.reason)
  signal?.addEventListener('abort', onAbort)
  const timer = whenLate(timeout, () => abort())
  let hasBegun = false
  let isRead = true
  const release = () => signal?.removeEventListener('abort', onAbort)
  const { body, duplex, failure } = bodyToSend(outgoing.body)
  try {
    request = new Request(`${base}${outgoing.target}`, {
      method: outgoing.method,
      headers: headersOf(headers, outgoing.headers, token),
      body,
      // Node's fetch keeps all bytes of a stream that it sent, unless no redirect may need them again.
      redirect: duplex ? 'error' : 'manual',
      signal: stop.signal,
      // Not known to the types of `fetch`.
      ...(duplex && { duplex }),
    })
    const response = await fetch(request)
    hasBegun = true
    if (inParts && response.ok && response.body !== null) {
      isRead = false
      // A response that is collected cancels a body that nobody has begun to read.
      const parts = partsOf(response.body.getReader(), { base, timeout, signal, abort, release })
      return { status: response.status, headers: response.headers, body: new Uint8Array(), parts }
    }
    const bytes = new Uint8Array(await response.arrayBuffer())
    if (failure()) throw failure()
    return { status: response.status, headers: response.headers, body: bytes }
  } catch (cause) {
    signal?.throwIfAborted()
    if (failure()) throw failure()
    if (stop.signal.aborted) return timedOut(base, timeout)
    const codes = codesOf(cause)
    if (codes.some((code) => /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(code))) {
      return timedOut(base, 'the time that fetch allows', cause)
    }
    if (codes.includes('unexpected redirect')) return { error: redirected(base), isRetryable: false }
    const error = (hasBegun ? brokenOff : unreachable)(base, codes.at(-1), cause)
    if (codes.some((code) => neverSent.has(code))) return { error, isRetryable: true }
    const maybeReceived = `The connection to the server at ${base} broke off (${codes.at(-1)})`
    return { error, isRetryable: true, maybeReceived }
  } finally {
    clearTimeout(timer)
    if (isRead) release()
  }
}

interface Reading {
  readonly base: string
  /** Most milliseconds until the next part. */
  readonly timeout: number
  readonly signal: AbortSignal | undefined
  /** Ends the request. */
  readonly abort: () => void
  /** Called once it has ended. */
  readonly release: () => void
}

/** The parts of a body, read only as fast as they are asked for. */
async function* partsOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { base, timeout, signal, abort, release }: Reading,
): AsyncGenerator<Uint8Array> {
  let isLate = false
  let isDone = false
  try {
    for (;;) {
      const timer = whenLate(timeout, () => {
        isLate = true
        abort()
      })
      const { done, value } = await reader.read().finally(() => clearTimeout(timer))
      isDone = done
      if (done) return
      yield value
    }
  } catch (cause) {
    signal?.throwIfAborted()
    if (isLate) throw timedOut(base, timeout).error
    throw brokenOff(base, codesOf(cause).at(-1), cause)
  } finally {
    if (!isDone) abort()
    release()
  }
}

interface BodyToSend {
  readonly body: Uint8Array<ArrayBuffer> | string | ReadableStream<Uint8Array> | null
  /** Required for streams. */
  readonly duplex?: 'half'
  /** The error of the source of the body, if it failed. The server got no end of the body then. */
  readonly failure: () => unknown
}

/** The body of a request. A source is pulled only as fast as it is sent. */
function bodyToSend(body: Outgoing['body']): BodyToSend {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array)
    return { body: (body as Uint8Array<ArrayBuffer> | string | undefined) ?? null, failure: () => undefined }
  const chunks = body[Symbol.asyncIterator]()
  let failed: unknown
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await chunks.next()
          if (done) controller.close()
          else controller.enqueue(value)
        } catch (error) {
          failed = error
          controller.error(error)
        }
      },
      // Not awaited: a source may be in the middle of an item that takes long.
      cancel: () => void chunks.return?.().catch(() => {}),
    },
    { highWaterMark: 0 },
  )
  return { body: stream, duplex: 'half', failure: () => failed }
}

/**
 * The headers of a request. Its own ones override those for all requests. Credentials in its context replace the token.
 */
export function headersOf(
  shared: Settings['headers'],
  own: Outgoing['headers'],
  token: string | undefined,
): Headers {
  const headers = new Headers(shared)
  for (const [name, value] of Object.entries(own)) headers.set(name, value)
  const hasOwn = 'authorization' in own || 'x-api-key' in own
  if (token !== undefined && !hasOwn) headers.set('authorization', `Bearer ${token}`)
  return headers
}

/** The timer that runs `onLate` after `timeout` milliseconds; none for 0, which means no limit. */
export function whenLate(timeout: number, onLate: () => void): ReturnType<typeof setTimeout> | undefined {
  return timeout > 0 ? setTimeout(onLate, Math.min(timeout, 2 ** 31 - 1)) : undefined
}

/** `limit` is in milliseconds, or says what it is. */
export function timedOut(base: string, limit: number | string, cause?: unknown): Failure {
  const time = typeof limit === 'number' ? `${limit.toLocaleString('en')} ms` : limit
  const maybeReceived = `The server at ${base} did not answer within ${time}`
  const message = `${maybeReceived}. Try again, or allow more time.`
  return {
    error: new CatalogError('ServiceUnavailable', message, { cause }),
    isRetryable: false,
    maybeReceived,
  }
}

export function unreachable(base: string, why: string | undefined, cause: unknown): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    `The server at ${base} cannot be reached${why === undefined ? '' : ` (${why})`}. Check that it runs and that the URL is right.`,
    { cause },
  )
}

/** The error for a server that sends its callers elsewhere; `location` may not be known. */
export function redirected(base: string, location?: string): CatalogError {
  const where = location === undefined ? '' : ` to ${location}`
  return new CatalogError(
    'ServiceUnavailable',
    `The server at ${base} redirects${where}. Connect to the catalog's own URL.`,
  )
}

/** A server ends the connection where an answer turns out too large when a part of it was sent. */
function brokenOff(base: string, why: string | undefined, cause: unknown): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    `The server at ${base} broke off its answer${why === undefined ? '' : ` (${why})`}. Try again. If it does so each time, the answer may be larger than the server allows: ask for fewer rows or columns at once.`,
    { cause },
  )
}

/** The codes of an error and of its causes. For an error without a code, its message. */
function codesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return []
  const { code } = error as { code?: unknown }
  const own = typeof code === 'string' ? code : error.message
  return [...(own === '' || own === 'fetch failed' ? [] : [own]), ...codesOf(error.cause)]
}
