import assert from 'node:assert/strict'
import { type ErrorCode, errorNumbers } from '../../../base/errors.ts'
import { clearTimeout, setTimeout, type Timer } from '../../../base/time.ts'
import { eventsOf, type ReceivedEvent } from '../../../protocol/events.ts'
import { type ErrorStatus, problems } from '../../../protocol/status.ts'
import { show } from '../checks.ts'

/** A response. */
export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
  readonly text: string
  readonly path: string
  /** The body as JSON; undefined when the body is not JSON. */
  readonly json: unknown
}

export interface Asking {
  /** The body. Text and bytes are sent unchanged, all else as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** The token to send in place of the right one; null sends none. */
  readonly token?: string | null
}

/** The context of a case of the HTTP suite. */
export interface HttpTrial {
  /** Sends a request to a path below the URL. The path is not encoded. */
  readonly ask: (method: string, path: string, asking?: Asking) => Promise<Reply>
  /** Opens a stream of events with GET. */
  readonly stream: (path: string, asking?: Omit<Asking, 'body'>) => Promise<EventReplies>
  /** As `ask` with POST. Asserts success, and resolves to the JSON. */
  readonly post: (path: string, body?: unknown) => Promise<Record<string, unknown>>
  /** The case's own namespace, empty at the start. */
  readonly home: string
  readonly token: string | undefined
  /** The token of another caller. */
  readonly otherToken: string | undefined
}

/** A path below `/v1/`, for a table of the case's namespace. */
export function tablePath({ home }: HttpTrial, name: string, verb: string): string {
  return `/v1/table/${encodeURIComponent(`${home}$${name}`)}/${verb}`
}

/** Sends requests with plain `fetch`. */
export function asker(
  base: string,
  token: string | undefined,
  send: (request: Request) => Promise<Response>,
): HttpTrial['ask'] {
  return async (method, path, { body, headers = {}, token: other } = {}) => {
    const raw = typeof body === 'string' || body instanceof Uint8Array
    const request = new Request(base + path, {
      method,
      headers: {
        ...credentials(token, other),
        ...(body === undefined || body instanceof Uint8Array ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: (raw ? body : JSON.stringify(body)) as NonNullable<RequestInit['body']> }),
    })
    return replyOf(path, await send(request))
  }
}

function credentials(token: string | undefined, other: string | null | undefined): Record<string, string> {
  const presented = other === undefined ? token : (other ?? undefined)
  return presented === undefined ? {} : { authorization: `Bearer ${presented}` }
}

/** A response whose body is a stream of events. */
export interface EventReplies {
  readonly reply: { readonly status: number; readonly headers: Headers }
  /** The next event. Fails when there is none, or it does not come. */
  readonly next: () => Promise<ReceivedEvent>
  readonly stop: () => Promise<void>
}

/** How long a case waits for an event that does not come, in milliseconds. */
const patience = 20_000

/** Opens streams of events with plain `fetch`. */
export function streamer(
  base: string,
  token: string | undefined,
  send: (request: Request) => Promise<Response>,
): HttpTrial['stream'] {
  return async (path, { headers = {}, token: other } = {}) => {
    const controller = new AbortController()
    const request = new Request(base + path, {
      headers: { ...credentials(token, other), ...headers },
      signal: controller.signal,
    })
    const response = await send(request)
    const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader()
    const events = eventsOf(chunksOf(reader))
    const next = async () => {
      let timer: Timer | undefined
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`${path} sends no further event.`)), patience)
      })
      try {
        const { value } = await Promise.race([events.next(), late])
        return value ?? assert.fail(`${path} ended after its last event.`)
      } finally {
        clearTimeout(timer)
      }
    }
    const stop = async () => {
      await reader?.cancel().catch(() => {})
      controller.abort()
    }
    return { reply: { status: response.status, headers: response.headers }, next, stop }
  }
}

async function* chunksOf(
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
): AsyncGenerator<Uint8Array, void> {
  for (;;) {
    const chunk = await reader?.read()
    if (chunk === undefined || chunk.done) return
    yield chunk.value
  }
}

async function replyOf(path: string, response: Response): Promise<Reply> {
  const bytes = new Uint8Array(await response.arrayBuffer())
  const text = new TextDecoder().decode(bytes)
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    json = undefined
  }
  return { status: response.status, headers: response.headers, bytes, text, path, json }
}

/** Asserts that a response is JSON with status 200, and returns the JSON. */
export function good(reply: Reply): Record<string, unknown> {
  assert.equal(reply.status, 200, `${reply.path} answered ${reply.status}: ${reply.text.slice(0, 300)}`)
  assert.match(reply.headers.get('content-type') ?? '', /^application\/json\b/)
  return reply.json as Record<string, unknown>
}

/** Asserts that a response is an error with a given status and, if given, a code. */
export function problem(reply: Reply, status: ErrorStatus, code?: ErrorCode): void {
  const told = `${reply.path} answered ${reply.status}: ${reply.text.slice(0, 300)}`
  assert.equal(reply.status, status, told)
  assert.match(reply.headers.get('content-type') ?? '', /\bjson\b/, told)
  const {
    type,
    title,
    status: inBody,
    detail,
    instance,
    code: number,
    error,
  } = reply.json as Record<string, unknown>
  assert.deepEqual({ type, title, status: inBody }, { ...problems[status], status }, told)
  assert.equal(typeof detail, 'string', told)
  assert.equal(instance, reply.path.replace(/\?.*$/, ''), told)
  assert.ok(Number.isSafeInteger(number), `code is ${show(number)}. ${told}`)
  assert.equal(typeof error, 'string', `error is ${show(error)}. ${told}`)
  if (code) assert.equal(number, errorNumbers[code], told)
  assert.doesNotMatch(reply.text, /\bat .*\.[cm]?[jt]s:\d+|Traceback|node_modules/, told)
}
