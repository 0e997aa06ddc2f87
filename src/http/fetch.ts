import { Readable } from 'node:stream'
import type { ReadableStream as NodeReadableStream } from 'node:stream/web'
import type { InjectOptions } from 'fastify'
import type { Catalog } from '../catalog/handle.ts'
import { requireKnown } from '../model/options.ts'
import { type HttpOptions, httpOptionNames } from './options.ts'
import { buildServer } from './server.ts'

/** Answers requests as the server does, with no socket between. */
export interface FetchHandler {
  (request: Request): Promise<Response>
  /** Takes nothing new and waits for what runs. The catalog stays open. */
  close(): Promise<void>
}

/**
 * The server as a function, for tests and for other frameworks: a `Request` in, a `Response` out, by the same
 * rules. A request's signal stops what it asked for.
 *
 * ```ts
 * const handle = await fetchHandler(catalog, { auth: false })
 * const response = await handle(new Request('http://localhost/v1/table'))
 * ```
 */
export async function fetchHandler(catalog: Catalog, options: HttpOptions): Promise<FetchHandler> {
  requireKnown('fetchHandler', options, httpOptionNames)
  const app = await buildServer(catalog, options)
  await app.ready()
  const handle = async (request: Request): Promise<Response> => {
    const { pathname, search, host } = new URL(request.url)
    const answer = await app.inject({
      method: request.method as NonNullable<InjectOptions['method']>,
      url: pathname + search,
      headers: { host, ...Object.fromEntries(request.headers), ...framing(request) },
      ...(request.body === null
        ? {}
        : { payload: Readable.fromWeb(request.body as unknown as NodeReadableStream) }),
      signal: request.signal,
    })
    const headers = Object.entries(answer.headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as [string, string]],
    )
    return new Response(bodyOf(request, answer.rawPayload), { status: answer.statusCode, headers })
  }
  return Object.assign(handle, { close: () => app.close() })
}

/** A stream's length is not known before its end, as with a chunked body. */
function framing({ body, headers }: Request): Record<string, string> {
  return body === null || headers.has('content-length') ? {} : { 'transfer-encoding': 'chunked' }
}

function bodyOf({ method }: Request, payload: Buffer): Uint8Array<ArrayBuffer> | null {
  return method === 'HEAD' || payload.length === 0 ? null : new Uint8Array(payload)
}
