import { Readable } from 'node:stream'
import type { ReadableStream as NodeReadableStream } from 'node:stream/web'
import { requireKnown } from '../base/model/options.ts'
import type { Catalog } from '../catalog/index.ts'
import { unknownPeer } from './auth/loopback.ts'
import { type StreamableAnswer, tellsLength } from './core/answer.ts'
import { requireCatalog } from './core/context.ts'
import { type HttpCore, openHttpCore } from './core/core.ts'
import { Exchange } from './core/exchange.ts'
import { type HttpOptions, httpOptionNames } from './options.ts'

/** The origin of a request. */
export interface FetchCaller {
  /** The address of the other end of the connection, or the one that a proxy reports, if the framework trusts it. */
  readonly remoteAddress?: string | undefined
}

/** Answers requests as the server does, without a socket. */
export interface FetchHandler {
  /** `caller` is needed for requests from a network: limits by address and `auth: false` use it. */
  (request: Request, caller?: FetchCaller): Promise<Response>
  /** Refuses new requests, waits for those in flight, and rolls back open transactions. The catalog stays open. */
  close(): Promise<void>
}

/**
 * The server as a function, for tests and for other frameworks. The signal of a request cancels the operation.
 *
 * With `auth: false`, the handler answers this process, and callers with an address of this machine. A request with a
 * `Host` header came over a network, and is refused without an address. A framework should pass it: `handle(request, {
 * remoteAddress })`.
 *
 * ```ts
 * const handle = await fetchHandler(catalog, { auth: false })
 * const response = await handle(new Request('http://localhost/v1/table'))
 * ```
 */
export async function fetchHandler(
  catalog: Catalog,
  options: HttpOptions = {} as HttpOptions,
): Promise<FetchHandler> {
  requireCatalog(catalog)
  requireKnown('fetchHandler', options, httpOptionNames)
  return handlerOf(await openHttpCore({ ...options, catalog }, { log: { error: () => {} } }))
}

/** The fetch handler of a core. */
export function handlerOf(core: HttpCore): FetchHandler {
  const inFlight = new Set<Promise<void>>()
  const handle = (request: Request, caller?: FetchCaller) =>
    new Promise<Response>((resolve, reject) => {
      request.signal.throwIfAborted()
      const exchange = new FetchExchange(request, caller?.remoteAddress)
      exchange.onClose((isAnswered) => {
        if (!isAnswered) reject(request.signal.reason)
      })
      const run = core
        .respond(exchange)
        .then((answer) => resolve(responseOf(core, exchange, answer)))
        .catch((error) => {
          reject(error)
          exchange.close(false)
        })
        .finally(() => inFlight.delete(run))
      inFlight.add(run)
    })
  const close = async () => {
    core.stop()
    await Promise.all(inFlight)
    await core.close()
  }
  return Object.assign(handle, { close })
}

function responseOf(core: HttpCore, exchange: FetchExchange, answer: StreamableAnswer): Response {
  const { status, body } = answer
  const headers = core.headersOf(answer, exchange)
  if (body instanceof Readable) {
    exchange.closeWith(body)
    if (exchange.method === 'HEAD') body.destroy()
    const stream = exchange.method === 'HEAD' ? null : (Readable.toWeb(body) as ReadableStream)
    return new Response(stream, { status, headers })
  }
  exchange.discardBody()
  if (tellsLength(status)) headers['content-length'] = String(Buffer.byteLength(body))
  exchange.close(true)
  const isEmpty = exchange.method === 'HEAD' || body.length === 0
  return new Response(isEmpty ? null : (body as string), { status, headers })
}

/** The exchange of a `Request`. */
class FetchExchange extends Exchange {
  readonly peerAddress: string | undefined
  readonly remoteAddress: string | undefined
  readonly believesProxy = false
  readonly #request: Request
  readonly #callbacks: ((isAnswered: boolean) => void)[] = []
  #body: Readable | undefined
  /** Set when the exchange closes. */
  #isAnswered: boolean | undefined

  constructor(request: Request, address: string | undefined) {
    const { pathname, search, host } = new URL(request.url)
    super(request.method, pathname + search, {
      host,
      ...Object.fromEntries(request.headers),
      ...framing(request),
    })
    this.#request = request
    this.remoteAddress = address
    // Requests from a network always have a `Host` header. Requests that are made in this process have none.
    this.peerAddress = address ?? (request.headers.has('host') ? unknownPeer : undefined)
    request.signal.addEventListener('abort', () => this.close(false), { once: true })
  }

  /** Several values of a header are one, with commas between. */
  get hasManyHosts(): boolean {
    return this.headers.host?.includes(',') ?? false
  }

  get body(): Readable {
    const { body } = this.#request
    this.#body ??= body ? Readable.fromWeb(body as unknown as NodeReadableStream) : Readable.from([])
    return this.#body
  }

  get isClosed(): boolean {
    return this.#isAnswered !== undefined
  }

  onClose(callback: (isAnswered: boolean) => void): void {
    if (this.#isAnswered === undefined) this.#callbacks.push(callback)
    else callback(this.#isAnswered)
  }

  /** No timeout: the reader is in this process. */
  setReadTimeout(): void {}

  /** Whoever hands requests over decides about their connections. */
  readonly isUnread = false

  /** Discards the rest of the body. */
  discardBody(): void {
    const { body } = this.#request
    if (this.#body) this.#body.destroy()
    else if (body?.locked === false) body.cancel().catch(() => {})
  }

  close(isAnswered: boolean): void {
    if (this.#isAnswered !== undefined) return
    this.#isAnswered = isAnswered
    for (const callback of this.#callbacks) callback(isAnswered)
  }

  /** Closes after the last byte of the answer. Destroys the answer when the client disconnects. */
  closeWith(answer: Readable): void {
    // The client may have disconnected before the answer began, which closes it at once.
    this.onClose((isAnswered) => {
      if (!isAnswered) answer.destroy()
    })
    answer.once('close', () => this.close(answer.readableEnded))
  }
}

/** A stream without `content-length` has an unknown length, so it is declared as chunked. */
function framing({ body, headers }: Request): Record<string, string> {
  return body === null || headers.has('content-length') ? {} : { 'transfer-encoding': 'chunked' }
}
