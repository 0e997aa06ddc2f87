import type { IncomingMessage } from 'node:http'
import { hostname } from 'node:os'
import type { Readable } from 'node:stream'
import { CatalogError } from '../../base/errors.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { inTransactionHeader, isTransactionId } from '../../base/model/transaction-id.ts'
import { unrefTimer } from '../../base/scheduling/unref-timer.ts'
import type { SessionServer } from '../../base/store/records.ts'
import { clearInterval, performance, setInterval } from '../../base/time.ts'
import { heldTransactions, transactionNamed } from '../../catalog/index.ts'
import type { OperationName } from '../../catalog/operations/index.ts'
import { passedOnHeader, requestIdHeader, serverHeader } from '../../protocol/wire.ts'
import type { StreamableAnswer } from '../core/answer.ts'
import { tooLarge, uncounted } from '../core/body.ts'
import type { Exchange } from '../core/exchange.ts'
import { type Match, mountEnd } from '../core/routing.ts'
import type { Limits, PluginOptions } from '../options.ts'
import { HopClient, HopFailed, refusesConnections } from './hop.ts'
import type { OwnServer } from './own-server.ts'

/** How often a waiting request checks whether its transaction is still open, in milliseconds. */
const checkMillis = 10_000

/** The most transactions whose server is cached. */
const maxCached = 10_000

/** A request of a transaction that another server may hold. */
interface ForwardedRequest {
  readonly id: string
  readonly body: Buffer | Readable | undefined
  /** Most bytes of a body that was not read yet. */
  readonly maxBytes: number
  /** Whether it may be retried. This server can then also answer it after the transaction has ended. */
  readonly isRepeatable: boolean
}

interface ForwarderSettings {
  readonly catalog: PluginOptions['catalog']
  readonly own: OwnServer
  readonly limits: Pick<Limits, 'arrowBytes' | 'jsonBytes'>
  /** The number of path segments of the mount prefix. */
  readonly mounted: number
}

type ForwardedAnswer = Promise<StreamableAnswer | undefined>

interface CachedServer {
  readonly server: SessionServer
  readonly owner: string | undefined
  /** The earliest end of its lease, by `performance.now`. */
  readonly until: number
}

/** Whether an operation ends the transaction that its path names. */
export function endsTransaction(operation: OperationName): boolean {
  return operation === 'commitTransaction' || operation === 'rollbackTransaction'
}

/**
 * Forwards requests of transactions to the server that holds them. Its URL comes only from the catalog's own records. A
 * forwarded request is not forwarded again. Each method resolves to undefined when this server must answer.
 */
export class Forwarder {
  readonly #settings: ForwarderSettings
  readonly #client = new HopClient()
  readonly #cached = new Map<string, CachedServer>()

  constructor(settings: ForwarderSettings) {
    this.#settings = settings
  }

  /** Forwards a request whose header names a transaction, before its body is read. `named` is the id in the path. */
  async forwardUnread(
    exchange: Exchange,
    { operation, route }: Match,
    named: Identifier | undefined,
  ): ForwardedAnswer {
    const { headers } = exchange
    const id = transactionNamed({}, { transaction: headers[inTransactionHeader] as string })!
    // An operation on the transaction itself does not run inside of it.
    if (route.path.startsWith('/v1/transaction/') && (named?.at(-1) === id || endsTransaction(operation)))
      return undefined
    const { arrowBytes, jsonBytes } = this.#settings.limits
    return this.#forwardWhole(exchange, id, route.body === 'arrow' ? arrowBytes : jsonBytes)
  }

  /** Forwards a request of another protocol whose header names a transaction, before its body is read. */
  async forwardMounted(exchange: Exchange): ForwardedAnswer {
    const transaction = exchange.headers[inTransactionHeader] as string
    return this.#forwardWhole(
      exchange,
      transactionNamed({}, { transaction })!,
      this.#settings.limits.jsonBytes,
    )
  }

  #forwardWhole(exchange: Exchange, id: string, maxBytes: number): ForwardedAnswer {
    const { headers } = exchange
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
    return this.#forward(exchange, {
      ...{ id, maxBytes },
      body: hasBody ? exchange.body : undefined,
      isRepeatable: false,
    })
  }

  /** Forwards a commit or rollback whose body was read. */
  async forwardEnd(exchange: Exchange, named: Identifier | undefined, body: Buffer): ForwardedAnswer {
    const id = named?.at(-1)
    if (id === undefined || !isTransactionId(id)) return undefined
    const inside = exchange.headers[inTransactionHeader]
    if (inside !== undefined && inside !== id) return undefined
    return this.#forward(exchange, { id, body, maxBytes: body.length, isRepeatable: true })
  }

  /** Forwards a request whose body was read and names a transaction. */
  forwardRead(exchange: Exchange, id: string, body: Buffer): ForwardedAnswer {
    return this.#forward(exchange, { id, body, maxBytes: body.length, isRepeatable: false })
  }

  /**
   * The answer of the server that holds the transaction. Undefined also when that server is gone and the request is
   * repeatable: this server then answers from the transaction's record.
   */
  async #forward(exchange: Exchange, request: ForwardedRequest): ForwardedAnswer {
    const { headers, principal } = exchange
    const { id, body, maxBytes, isRepeatable } = request
    if (headers[passedOnHeader] !== undefined) return undefined
    const owner = principal?.name
    const server = await this.#serverOf(id, owner)
    if (server === undefined) return undefined
    if (!Buffer.isBuffer(body) && Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
    for (let attempt = 1; ; attempt++) {
      if (exchange.isClosed) throw callerLeft(id)
      try {
        const answer = await this.#send(exchange, server, request)
        if (answer !== undefined) return answer
        // Another process answers at this URL now, so the holder has ended.
        await this.#ended(id, server)
      } catch (error) {
        if (!(error instanceof HopFailed)) throw error
        if (exchange.isClosed) throw broken(id, isRepeatable, error)
        if (error.kind === 'refused' || (await refusesConnections(server.url))) await this.#ended(id, server)
        this.#cached.delete(id)
        if (await this.#serverOf(id, owner)) {
          if (error.kind === 'broken' && isRepeatable && attempt === 1) continue
          throw error.kind === 'broken' ? broken(id, isRepeatable, error) : unreachable(id, error)
        }
      }
      if (isRepeatable) return undefined
      throw await this.#settings.catalog[heldTransactions]!.refusal(id, owner)
    }
  }

  close(): void {
    this.#client.close()
  }

  async #serverOf(id: string, owner: string | undefined): Promise<SessionServer | undefined> {
    const known = this.#cached.get(id)
    if (known && known.until > performance.now()) return known.owner === owner ? known.server : undefined
    this.#cached.delete(id)
    const found = await this.#settings.catalog[heldTransactions]?.serverOf(id, owner)
    if (found === undefined) return undefined
    const { server, leaseMillis } = found
    if (server.instance === this.#settings.own.instance) return undefined
    // A loopback URL leads to a different server on each machine.
    if (server.machine !== undefined && server.machine !== hostname()) return undefined
    this.#cached.set(id, { server, owner, until: performance.now() + leaseMillis })
    if (this.#cached.size > maxCached) this.#cached.delete(this.#cached.keys().next().value!)
    return server
  }

  async #ended(id: string, server: SessionServer): Promise<void> {
    this.#cached.delete(id)
    await this.#settings.catalog[heldTransactions]!.serverEnded(id, server)
  }

  /** Sends once. Undefined when another process answers at the URL. */
  async #send(
    exchange: Exchange,
    server: SessionServer,
    { id, body, maxBytes }: ForwardedRequest,
  ): Promise<StreamableAnswer | undefined> {
    const { method, path, query, principal } = exchange
    const stop = new AbortController()
    exchange.onClose((isAnswered) => {
      if (!isAnswered) stop.abort()
    })
    let arriving: IncomingMessage | undefined
    const bytesRead = () => arriving?.socket?.bytesRead ?? 0
    const unwatch = this.#watch(id, server, principal?.name, bytesRead, stop)
    let isStream = false
    try {
      const answer = await this.#client.send({
        url:
          server.url + path.slice(mountEnd(path, this.#settings.mounted)) + (query === '' ? '' : `?${query}`),
        method,
        headers: headersFor(exchange, server, body),
        body,
        maxBytes,
        signal: stop.signal,
      })
      arriving = answer
      // It may fail before it has a reader, and would crash the process without a listener. Readers get the error, too.
      answer.on('error', () => {})
      if (answer.headers[serverHeader] !== server.instance) {
        answer.destroy()
        return undefined
      }
      const { statusCode: status = 502 } = answer
      const headers = headersOf(answer)
      const length = Number(answer.headers['content-length'] ?? Number.POSITIVE_INFINITY)
      if (length <= uncounted || method === 'HEAD') return { status, headers, body: await readAll(answer) }
      isStream = true
      answer.once('close', unwatch)
      return { status, headers, body: answer }
    } finally {
      if (!isStream) unwatch()
    }
  }

  /**
   * Stops waiting for a server whose transaction has ended and which sent no bytes since the check before: it may have
   * crashed without closing the connection. The lease of the transaction bounds the wait.
   */
  #watch(
    id: string,
    { instance }: SessionServer,
    owner: string | undefined,
    bytesRead: () => number,
    stop: AbortController,
  ): () => void {
    let hadEnded = false
    let bytesBefore = 0
    const check = async () => {
      const found = await this.#settings.catalog[heldTransactions]!.serverOf(id, owner)
      const hasEnded = found?.server.instance !== instance
      const bytes = bytesRead()
      if (hasEnded && hadEnded && bytes === bytesBefore) stop.abort()
      hadEnded = hasEnded
      bytesBefore = bytes
    }
    // Errors are ignored, because the store may be temporarily unreachable, too.
    const timer = unrefTimer(setInterval(() => void check().catch(() => {}), checkMillis))
    return () => clearInterval(timer)
  }
}

/** Hop-by-hop headers. Those that `connection` names are, too. */
const hopByHopHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'proxy-authenticate',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'expect',
])

function headersFor(
  { headers, requestId, believesProxy, remoteAddress }: Exchange,
  { url }: SessionServer,
  body: ForwardedRequest['body'],
): Record<string, string | string[]> {
  const forwarded = withoutConnection(headers)
  forwarded.host = new URL(url).host
  forwarded[passedOnHeader] = '1'
  forwarded[requestIdHeader] = requestId
  // This server has evaluated its own proxy's header. The other server trusts the resulting address likewise.
  if (believesProxy && remoteAddress !== undefined) forwarded['x-forwarded-for'] = remoteAddress
  if (Buffer.isBuffer(body)) forwarded['content-length'] = String(body.length)
  else if (forwarded['content-length'] === undefined && body !== undefined)
    forwarded['transfer-encoding'] = 'chunked'
  return forwarded
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const { 'content-length': _, date: __, [serverHeader]: ___, ...forwarded } = withoutConnection(headers)
  return Object.fromEntries(
    Object.entries(forwarded).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  )
}

function withoutConnection(headers: IncomingMessage['headers']): Record<string, string | string[]> {
  const named = headers.connection?.toLowerCase().split(/[\s,]+/) ?? []
  const forwarded: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !hopByHopHeaders.has(name) && !named.includes(name)) forwarded[name] = value
  }
  return forwarded
}

async function readAll(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of answer) chunks.push(chunk as Buffer)
  } catch (cause) {
    throw new HopFailed('broken', cause)
  }
  return Buffer.concat(chunks)
}

function callerLeft(id: string): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    `The connection was closed before the request reached the server that holds the transaction ${id}. Send it again.`,
  )
}

function unreachable(id: string, cause: unknown): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    `The server that holds the transaction ${id} cannot be reached, so nothing of this request was done. Send it again. If this lasts, begin another transaction: this one fails within a minute after its server ended.`,
    { cause },
  )
}

function broken(id: string, isRepeatable: boolean, cause: unknown): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    isRepeatable
      ? `The server that holds the transaction ${id} did not answer. Ask again, or describe the transaction: its status tells what became of it.`
      : `The server that holds the transaction ${id} did not answer, and may have done this request inside of it. Give the transaction up, and begin another one.`,
    { cause, mayBeDone: true },
  )
}
