import assert from 'node:assert/strict'
import { type ErrorCode, errorNumbers } from '../../../errors.ts'
import type { ErrorStatus } from '../../../http/protocol/status.ts'
import { problems } from '../../../http/protocol/status.ts'
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
    const presented = other === undefined ? token : (other ?? undefined)
    const raw = typeof body === 'string' || body instanceof Uint8Array
    const request = new Request(base + path, {
      method,
      headers: {
        ...(presented === undefined ? {} : { authorization: `Bearer ${presented}` }),
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
