import type { IncomingMessage } from 'node:http'
import { hostname } from 'node:os'
import type { Readable } from 'node:stream'
import { CatalogError } from '../../base/errors.ts'
import { alone } from '../../base/scheduling/alone.ts'
import { clearInterval, performance, setInterval } from '../../base/time.ts'
import { heldTransactions } from '../../catalog/handle/handle.ts'
import type { SessionServer } from '../../catalog/operations/framework/inside.ts'
import { passedOnHeader, requestIdHeader, serverHeader } from '../../protocol/wire.ts'
import type { StreamableAnswer } from '../core/answer.ts'
import { uncounted } from '../core/body.ts'
import type { Exchange } from '../core/exchange.ts'
import type { PluginOptions } from '../options.ts'
import { HopFailed, Hops, isDeserted } from './hop.ts'
import type { OwnServer } from './own-server.ts'

/** How often a request that waits for another server looks whether the transaction is still open, in milliseconds. */
const lookMillis = 10_000

/** So many servers of transactions are remembered. */
const mostKnown = 10_000

/** A request of a transaction that another server may hold. */
export interface Passing {
  readonly id: string
  /** The path below the mount, with the query. */
  readonly target: string
  readonly body: Buffer | Readable | undefined
  readonly mostBytes: number
  /** Whether it may be sent again, and whether this server can answer it once the transaction has ended. */
  readonly isRepeatable: boolean
}

interface Known {
  readonly server: SessionServer
  readonly owner: string | undefined
  /** Until when its lease lasts at least, by `performance.now`. */
  readonly until: number
}

/**
 * Passes requests of transactions on to the server that holds them. Where that is comes from the catalog's own records
 * only. A request that was passed on is not passed on again.
 */
export class PassOn {
  readonly #catalog: PluginOptions['catalog']
  readonly #own: OwnServer
  readonly #hops = new Hops()
  readonly #known = new Map<string, Known>()

  constructor(catalog: PluginOptions['catalog'], own: OwnServer) {
    this.#catalog = catalog
    this.#own = own
  }

  /** The server to ask about a caller's transaction; undefined when the request is for this one. */
  async serverFor(exchange: Exchange, id: string): Promise<SessionServer | undefined> {
    if (exchange.headers[passedOnHeader] !== undefined) return undefined
    return this.#serverOf(id, exchange.principal?.name)
  }

  /**
   * The answer of the server that holds the transaction. Undefined when it can no longer be committed there: then this
   * server answers by the transaction's record.
   */
  async answer(
    exchange: Exchange,
    server: SessionServer,
    passing: Passing,
  ): Promise<StreamableAnswer | undefined> {
    const { id, isRepeatable } = passing
    const owner = exchange.principal?.name
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await this.#ask(exchange, server, passing)
        if (answer !== undefined) return answer
        // What answers there never held the transaction.
        await this.#ended(id, server)
      } catch (error) {
        if (!(error instanceof HopFailed)) throw error
        if (exchange.isClosed) throw broken(id, isRepeatable, error)
        if (error.kind === 'refused' || (await isDeserted(server.url))) await this.#ended(id, server)
        this.#known.delete(id)
        if (await this.#serverOf(id, owner)) {
          if (error.kind === 'broken' && isRepeatable && attempt === 1) continue
          throw error.kind === 'broken' ? broken(id, isRepeatable, error) : unreachable(id, error)
        }
      }
      if (isRepeatable) return undefined
      throw await this.#catalog[heldTransactions]!.refusal(id, owner)
    }
  }

  close(): void {
    this.#hops.close()
  }

  async #serverOf(id: string, owner: string | undefined): Promise<SessionServer | undefined> {
    const known = this.#known.get(id)
    if (known && known.until > performance.now()) return known.owner === owner ? known.server : undefined
    this.#known.delete(id)
    const found = await this.#catalog[heldTransactions]?.serverOf(id, owner)
    if (found === undefined) return undefined
    const { server, leaseMillis } = found
    if (server.instance === this.#own.instance) return undefined
    // The address of this machine alone leads to another server on each machine.
    if (server.machine !== undefined && server.machine !== hostname()) return undefined
    this.#known.set(id, { server, owner, until: performance.now() + leaseMillis })
    if (this.#known.size > mostKnown) this.#known.delete(this.#known.keys().next().value!)
    return server
  }

  async #ended(id: string, server: SessionServer): Promise<void> {
    this.#known.delete(id)
    await this.#catalog[heldTransactions]!.serverEnded(id, server)
  }

  /** Asks once. Undefined when another server answers at the address. */
  async #ask(
    exchange: Exchange,
    server: SessionServer,
    { id, target, body, mostBytes }: Passing,
  ): Promise<StreamableAnswer | undefined> {
    const stop = new AbortController()
    exchange.onClose((isAnswered) => {
      if (!isAnswered) stop.abort()
    })
    let arriving: IncomingMessage | undefined
    const heard = () => arriving?.socket?.bytesRead ?? 0
    const unwatch = this.#watch(id, server, exchange.principal?.name, heard, stop)
    let isStream = false
    try {
      const answer = await this.#hops.send({
        url: server.url + target,
        method: exchange.method,
        headers: headersFor(exchange, server, body),
        body,
        mostBytes,
        signal: stop.signal,
      })
      arriving = answer
      // It may break off before anybody reads it. Those who read it hear of that, too.
      answer.on('error', () => {})
      if (answer.headers[serverHeader] !== server.instance) {
        answer.destroy()
        return undefined
      }
      if (body !== undefined && !Buffer.isBuffer(body) && !body.readableEnded) exchange.discardBody()
      const { statusCode: status = 502 } = answer
      const headers = headersOf(answer)
      const length = Number(answer.headers['content-length'] ?? Number.POSITIVE_INFINITY)
      if (length <= uncounted || exchange.method === 'HEAD')
        return { status, headers, body: await whole(answer) }
      isStream = true
      answer.once('close', unwatch)
      return { status, headers, body: answer }
    } finally {
      if (!isStream) unwatch()
    }
  }

  /**
   * Stops waiting for a server once its transaction has ended and nothing was heard for a while after that: it may have
   * vanished without a word. The lease of the transaction bounds that.
   */
  #watch(
    id: string,
    { instance }: SessionServer,
    owner: string | undefined,
    heard: () => number,
    stop: AbortController,
  ): () => void {
    let hadEnded = false
    let before = 0
    const look = async () => {
      const found = await this.#catalog[heldTransactions]!.serverOf(id, owner)
      const hasEnded = found?.server.instance !== instance
      const bytes = heard()
      if (hasEnded && hadEnded && bytes === before) stop.abort()
      hadEnded = hasEnded
      before = bytes
    }
    // The store may be away for a while, too.
    const timer = alone(setInterval(() => void look().catch(() => {}), lookMillis))
    return () => clearInterval(timer)
  }
}

/** Headers that concern one connection. Those in `connection` do, too. */
const ofConnection = new Set([
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
  body: Passing['body'],
): Record<string, string | string[]> {
  const passed = withoutConnection(headers)
  passed.host = new URL(url).host
  passed[passedOnHeader] = '1'
  passed[requestIdHeader] = requestId
  // What a proxy before this server said was understood here, and is believed there as it is here.
  if (believesProxy && remoteAddress !== undefined) passed['x-forwarded-for'] = remoteAddress
  if (Buffer.isBuffer(body)) passed['content-length'] = String(body.length)
  else if (passed['content-length'] === undefined && body !== undefined)
    passed['transfer-encoding'] = 'chunked'
  return passed
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const { 'content-length': _, date: __, [serverHeader]: ___, ...passed } = withoutConnection(headers)
  return Object.fromEntries(
    Object.entries(passed).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  )
}

function withoutConnection(headers: IncomingMessage['headers']): Record<string, string | string[]> {
  const named = headers.connection?.toLowerCase().split(/[\s,]+/) ?? []
  const passed: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !ofConnection.has(name) && !named.includes(name)) passed[name] = value
  }
  return passed
}

async function whole(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of answer) chunks.push(chunk as Buffer)
  } catch (cause) {
    throw new HopFailed('broken', cause)
  }
  return Buffer.concat(chunks)
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
    { cause },
  )
}
