import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import * as v from 'valibot'
import { CatalogError, invalid } from '../../base/errors.ts'
import { operations } from '../../catalog/operations/index.ts'
import type { Extension } from '../../server/core/core.ts'
import type { Exchange } from '../../server/core/exchange.ts'
import type { ServeOptions } from '../../server/index.ts'
import type { Call, CallName, Calls } from './calls.ts'
import { type FakeCatalog, type FakeOptions, fakeCatalog, withFolderForFormats } from './catalog.ts'
import type { FakeClock } from './clock.ts'
import type { Fault } from './fault.ts'
import type { FaultHandle, Faults } from './faults.ts'
import type { Seed } from './seed.ts'

/** The options of a fake server. All are optional. */
export interface FakeServerOptions extends FakeOptions, ServedFakeOptions {
  /** The fake to serve. Default: a new one with the other options. */
  readonly catalog?: FakeCatalog | undefined
}

/** How a fake is served. All are optional. */
export interface ServedFakeOptions {
  /** Default: 127.0.0.1. */
  readonly host?: string | undefined
  /** Default: 0, which takes a free port. */
  readonly port?: number | undefined
  /** The token that callers must send. Default: no token is needed, and only callers on this machine are served. */
  readonly token?: string | undefined
  /**
   * Whether to serve routes below `/_control`: a test in another process, in any language, adds faults, moves the
   * clock, reads the calls, seeds and resets. Default: false.
   */
  readonly control?: boolean | undefined
  /**
   * Whether to serve Iceberg REST at `/iceberg`. A fake without `icebergFolder` then keeps new tables of Iceberg in a temporary
   * folder, which is removed when the server closes. Default: false.
   */
  readonly iceberg?: boolean | undefined
  /** Further options of `serve`. The default `Retry-After` of 503 responses is 0 seconds. */
  readonly http?: Omit<ServeOptions, 'auth' | 'host' | 'port'> | undefined
}

/** A fake catalog behind HTTP. */
export interface FakeServer extends AsyncDisposable {
  /** Its URL, such as `http://127.0.0.1:41234`. */
  readonly url: string
  readonly token: string | undefined
  /** The fake, which tests may also call directly. */
  readonly catalog: FakeCatalog
  readonly clock: FakeClock
  readonly calls: Calls
  readonly faults: Faults
  seed(seed: Seed): Promise<void>
  reset(): void
  /** A new server on a free port, with a fork of the fake. */
  fork(): Promise<FakeServer>
  /** Releases what faults hold, and closes the server, and the fake unless `catalog` was given. */
  close(): Promise<void>
}

/**
 * Serves a fake catalog over HTTP, on a free port of this machine. The server and the returned handle share one
 * catalog.
 *
 * ```ts
 * await using server = await fakeServer({ seed: { prod: { flights: [{ delay: 75 }] } } })
 * server.faults.add({ operation: 'countTableRows', fail: 'ServiceUnavailable', times: 1 })
 * const response = await fetch(`${server.url}/v1/table/prod$flights/count_rows`, { method: 'POST', body: '{}' })
 * ```
 */
export async function fakeServer(options: FakeServerOptions = {}): Promise<FakeServer> {
  const {
    catalog: given,
    host,
    port = 0,
    token,
    control = false,
    iceberg = false,
    http = {},
    ...rest
  } = options
  const ignored = Object.entries(rest).filter(([, value]) => value !== undefined)
  if (given !== undefined && ignored.length > 0) {
    throw invalid(
      `fakeServer: the catalog is given, so ${ignored.map(([name]) => name).join(', ')} would go unheard. Give that to fakeCatalog.`,
    )
  }
  const catalog = given ?? (await fakeCatalog(rest))
  const folder = iceberg ? await withFolderForFormats(catalog, temporaryFolder) : undefined
  const mounts = iceberg ? await icebergMounts(catalog) : []
  const { serveWith } = await import('../../server/serve.ts')
  const server = await serveWith(
    catalog,
    {
      ...http,
      mounts: [...(http.mounts ?? []), ...mounts],
      // Only a fault makes a fake busy, never the load of the machine.
      limits: { retryAfter: 0, eventLoopDelay: 0, ...http.limits },
      auth: token === undefined ? false : { verify: (given) => (given === token ? owner : undefined) },
      host,
      port,
    },
    control ? controlRoutes(catalog) : undefined,
  )
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= (async () => {
      await catalog.faults.clear()
      await server.close()
      if (given === undefined) await catalog.close()
      if (folder !== undefined) await rm(folder, { recursive: true, force: true })
    })()
    return closing
  }
  const { clock, calls, faults, seed, reset } = catalog
  const { url } = server
  const fork = () => forked(catalog.fork(), { host, token, control, iceberg, http })
  return { url, token, catalog, clock, calls, faults, seed, reset, fork, close, [Symbol.asyncDispose]: close }
}

async function icebergMounts(catalog: FakeCatalog) {
  const { icebergRest } = await import('../../iceberg/index.ts')
  return [icebergRest(catalog, { clientClocks: true })]
}

function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'tabularium-iceberg-'))
}

/** The principal of the fake's token. `verify` allows short tokens, which `tokens` refuses. */
const owner = { name: 'token-1' }

/** A server that closes its fork when it closes. */
async function forked(catalog: FakeCatalog, options: FakeServerOptions): Promise<FakeServer> {
  const server = await fakeServer({ ...options, catalog })
  const close = () => server.close().then(() => catalog.close())
  return { ...server, close, [Symbol.asyncDispose]: close }
}

/*
 * The routes by which a test in another process controls a fake. They authenticate like operations. Bodies are parsed
 * as JSON whatever their content type, so that a bare `curl -d` works.
 */

/** The most bytes of a body. Seeds may hold the rows of many tables. */
const bodyLimit = 64 * 1024 * 1024
const maxCalls = 10_000

const moment = v.union([v.number(), v.string()])
const clockSchema = v.union(
  [v.strictObject({ advance: v.number() }), v.strictObject({ set: moment })],
  'The clock takes { "advance": milliseconds } or { "set": milliseconds since the epoch, or an ISO date }.',
)

/** The parsed request of a route. */
interface RouteRequest {
  readonly body: unknown
  /** The segment of `:id`. */
  readonly id: string | undefined
  readonly query: URLSearchParams
}

type RouteHandler = (fake: FakeCatalog, asked: RouteRequest) => unknown

const routes: Readonly<Record<string, RouteHandler>> = {
  'GET ': stateOf,
  'POST reset': (fake) => {
    fake.reset()
    return stateOf(fake)
  },
  'POST seed': async (fake, { body }) => {
    await fake.seed(body as Seed)
    return stateOf(fake)
  },
  'GET clock': ({ clock }) => timeOf(clock.now()),
  'POST clock': ({ clock }, { body }) => {
    const asked = v.safeParse(clockSchema, body)
    if (!asked.success) throw invalid(asked.issues[0].message)
    if ('advance' in asked.output) clock.advance(asked.output.advance)
    else clock.set(asked.output.set)
    return timeOf(clock.now())
  },
  'GET faults': ({ faults }) => ({ faults: faults.all.map(describeFault) }),
  'POST faults': ({ faults }, { body }) => {
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      throw invalid(
        'A fault is an object, such as { "operation": "createTable", "fail": "ServiceUnavailable" }.',
      )
    return describeFault(faults.add(body as Fault))
  },
  'DELETE faults': async ({ faults }) => {
    await faults.clear()
    return { faults: [] }
  },
  'DELETE faults/:id': async ({ faults }, { id }) => {
    const fault = find(faults.all, id)
    await fault.remove()
    return describeFault(fault)
  },
  'POST faults/:id/release': async ({ faults }, { id }) => {
    const fault = find(faults.all, id)
    await fault.release()
    return describeFault(fault)
  },
  'GET calls': ({ calls }, { query }) => {
    const found = calls.of(...namesIn(query.get('operation')))
    const limit = limitIn(query.get('limit'))
    return { total: found.length, dropped: calls.dropped, calls: found.slice(-limit).map(describeCall) }
  },
  'DELETE calls': ({ calls }) => {
    calls.clear()
    return { calls: [] }
  },
}

/** The routes for the server of a fake. */
function controlRoutes(fake: FakeCatalog): Extension {
  return (exchange, { authenticate }) => {
    const found = routeOf(exchange)
    if (found === undefined) return undefined
    return (async () => {
      await authenticate(exchange)
      const body = parse(await read(exchange.body))
      const answer = await found.handler(fake, {
        body,
        id: found.id,
        query: new URLSearchParams(exchange.query),
      })
      return { status: 200, type: 'application/json; charset=utf-8', body: toJson(answer) }
    })()
  }
}

const below = /^\/_control(?:\/(.*?))?\/?$/

function routeOf({ method, path }: Exchange): { handler: RouteHandler; id: string | undefined } | undefined {
  const [matches, given = ''] = below.exec(path) ?? []
  if (matches === undefined) return undefined
  const [first, id, ...rest] = given.split('/')
  const route = id === undefined ? first : [first, ':id', ...rest].join('/')
  const name = `${method === 'HEAD' ? 'GET' : method} ${route}`
  return Object.hasOwn(routes, name) ? { handler: routes[name]!, id } : undefined
}

async function read(stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  // Destroying the stream would close the connection before the response.
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    size += chunk.length
    if (size > bodyLimit) throw invalid(`The body is larger than ${bodyLimit} bytes, the most here.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function parse(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw invalid(`The body is no JSON: ${(cause as Error).message}. Send one JSON object.`, { cause })
  }
}

function stateOf({ clock, calls, faults }: FakeCatalog) {
  return { clock: timeOf(clock.now()), calls: calls.length, faults: faults.all.map(describeFault) }
}

function timeOf(now: number) {
  return { now, iso: new Date(now).toISOString() }
}

function describeFault({ id, fault, seen, fired }: FaultHandle) {
  const { match: _, fail, ...written } = fault
  return { id, seen, fired, fault: { ...written, ...(fail ? { fail: describeError(fail) } : {}) } }
}

function describeCall({ startedAt, endedAt, error, ...call }: Call) {
  return {
    ...call,
    ...(call.outcome === 'failed' ? { error: describeError(error) } : {}),
    started_at: startedAt,
    ended_at: endedAt,
  }
}

function describeError(error: unknown): unknown {
  if (error instanceof CatalogError) return { code: error.code, number: error.number, message: error.message }
  return error instanceof Error ? { message: error.message } : error
}

/** Serializes a response. Bytes are replaced by their length, bigints by strings. */
function toJson(answer: unknown): string {
  return JSON.stringify(answer, function (this: Record<string, unknown>, key, value) {
    const original = this[key]
    if (original instanceof Uint8Array) return { bytes: original.byteLength }
    return typeof value === 'bigint' ? value.toString() : value
  })
}

function find(all: readonly FaultHandle[], id: string | undefined): FaultHandle {
  const found = all.find((fault) => fault.id === id)
  if (found) return found
  throw invalid(`There is no fault ${JSON.stringify(id)}. GET /_control/faults lists those in force.`)
}

function namesIn(text: string | null): CallName[] {
  if (text === null || text === '') return []
  const names = text.split(',')
  const unknown = names.find((name) => name !== 'transaction' && !Object.hasOwn(operations, name))
  if (unknown !== undefined)
    throw invalid(`operation: ${JSON.stringify(unknown)} is the name of none. Write it as in createTable.`)
  return names as CallName[]
}

function limitIn(text: string | null): number {
  const limit = Number(text ?? '100')
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= maxCalls) return limit
  throw invalid(`limit must be a whole number from 1 to ${maxCalls.toLocaleString('en')}.`)
}
