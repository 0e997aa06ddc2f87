import { tableFromArrays, tableToIPC } from '@uwdata/flechette'
import { expect, onTestFinished } from 'vitest'
import { type FetchHandler, fetchHandler, type HttpOptions } from '../../../src/server/index.ts'
import { type CatalogOptions, type MemoryCatalog, openCatalog } from '../../../src/tabularium/index.ts'

/** What a request was answered. */
export interface Reply {
  readonly status: number
  readonly headers: Headers
  /** The body as it came. */
  readonly text: string
  readonly bytes: Uint8Array
  /** The body as JSON; undefined when it is none. */
  readonly json: unknown
}

/** Sends a request; an object or array as body is sent as JSON. */
export type Ask = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Reply>

export interface Served {
  readonly catalog: MemoryCatalog
  readonly ask: Ask
  readonly handler: FetchHandler
}

/** A fresh catalog in memory, and how to ask it over HTTP with no socket between. */
export async function serveInMemory(
  options: Partial<HttpOptions> = {},
  catalogOptions: CatalogOptions = {},
): Promise<Served> {
  const catalog = await openCatalog('memory:', catalogOptions)
  // A busy machine makes the event loop late, which only the tests of that limit are about.
  const limits = { eventLoopDelay: 0, ...options.limits }
  const handler = await fetchHandler(catalog, { auth: false, ...options, limits })
  onTestFinished(async () => {
    await handler.close()
    await catalog.close()
  })
  return { catalog, handler, ask: asking((request) => handler(request), 'http://localhost') }
}

/** Asks whatever answers requests, a server's URL for instance. */
export function asking(answer: (request: Request) => Promise<Response>, base: string): Ask {
  return async (method, path, body, headers = {}) => {
    const raw = body === undefined || typeof body === 'string' || body instanceof Uint8Array
    const type: Record<string, string> = raw ? {} : { 'content-type': 'application/json' }
    const response = await answer(
      new Request(base + path, {
        method,
        headers: { ...type, ...headers },
        ...(body === undefined ? {} : { body: (raw ? body : JSON.stringify(body)) as string }),
      }),
    )
    const bytes = new Uint8Array(await response.arrayBuffer())
    const text = new TextDecoder().decode(bytes)
    return { status: response.status, headers: response.headers, text, bytes, json: parsed(text) }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const arrowStream = { 'content-type': 'application/vnd.apache.arrow.stream' }

/** Rows as an Arrow IPC stream. */
export function arrowRows(columns: Record<string, unknown[]> = { a: [1, 2, 3] }): Uint8Array {
  return tableToIPC(tableFromArrays(columns), { format: 'stream' })!
}

/** Checks that an answer is an error body of the document, with its headers. */
export function expectProblem(
  reply: Reply,
  status: number,
  code: number,
  path: string,
  detail: RegExp = /./,
  rest: object = {},
): void {
  expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(reply.headers.get('x-request-id')).toMatch(/./)
  const [type, title] = { ...documented, 405: documented[406] }[status]!
  const transaction = reply.headers.get('x-tabularium-transaction-id')
  expect(reply.json).toStrictEqual({
    type,
    title,
    status,
    detail: expect.stringMatching(detail),
    instance: path,
    code,
    error: (reply.json as { detail: string }).detail,
    // Where work failed that was recorded.
    ...(transaction === null ? {} : { transaction_id: transaction }),
    ...rest,
  })
  expect(reply.status).toBe(status)
}

/** Section 7 of the service document, copied from there. */
export const documented: Readonly<Record<number, readonly [type: string, title: string]>> = {
  400: ['/errors/bad-request', 'Malformed request'],
  401: ['/errors/unauthorized-request', 'No valid authentication credentials for the operation'],
  403: ['/errors/forbidden-request', 'Not authorized to make this request'],
  404: ['/errors/not-found-error', 'Not found Error'],
  406: ['/errors/unsupported-operation', 'The server does not support this operation'],
  409: ['/errors/conflict', 'The namespace has been concurrently modified'],
  500: ['/errors/server-error', 'Internal Server Error'],
  503: ['/errors/service-unavailable', 'Slow down'],
}
