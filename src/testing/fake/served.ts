import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import * as v from 'valibot'
import { CatalogError, invalid } from '../../base/errors.ts'
import type { Extension } from '../../server/core/core.ts'
import type { Exchange } from '../../server/core/exchange.ts'
import type { Call, CallName } from './calls.ts'
import type { FakeCatalog, FakeServer, ServedFakeOptions } from './fake.ts'
import type { Fault } from './fault.ts'
import type { FaultHandle } from './faults.ts'
import { foldersForFormats } from './formats-folder.ts'
import type { Seed } from './seed.ts'

/** Serves a fake. With `closesFake`, the fake closes with its server. */
export async function serveFake(
  catalog: FakeCatalog,
  options: ServedFakeOptions,
  { closesFake = false }: { readonly closesFake?: boolean } = {},
): Promise<FakeServer> {
  const { host, port = 0, token, control = false, iceberg = false, http = {} } = options
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
      if (closesFake) await catalog.close()
    })()
    return closing
  }
  const { clock, calls, faults, seed, reset } = catalog
  const { url } = server
  const fork = () => serveFake(catalog.fork(), { ...options, port: 0 }, { closesFake: true })
  const end = { close, [Symbol.asyncDispose]: close }
  const served: FakeServer = { url, token, catalog, clock, calls, faults, seed, reset, fork, ...end }
  // Neither printed nor written as JSON.
  return Object.defineProperty(served, 'token', { enumerable: false })
}

async function icebergMounts(catalog: FakeCatalog) {
  const { icebergRest } = await import('../../iceberg/index.ts')
  await provideFolder(catalog)
  const { withFaults } = await import('./endpoints.ts')
  return [withFaults(catalog, (catalog) => icebergRest(catalog, { clientClocks: true }))]
}

/** Temporary folders that are still there. */
const folders = new Set<string>()

/** Gives a fake without `icebergFolder` a temporary folder, so that engines can write files of its tables. */
async function provideFolder(catalog: FakeCatalog): Promise<void> {
  const place = foldersForFormats.get(catalog)
  if (place === undefined || place.isThere()) return
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-iceberg-'))
  // Many fakes are never closed.
  if (folders.size === 0) process.once('exit', removeFolders)
  folders.add(folder)
  await place.use(folder, async () => {
    folders.delete(folder)
    await rm(folder, { recursive: true, force: true })
  })
}

function removeFolders(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}

/** The principal of the fake's token. `verify` allows short tokens, which `tokens` refuses. */
const owner = { name: 'token-1' }

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
  return text.split(',') as CallName[]
}

function limitIn(text: string | null): number {
  const limit = Number(text ?? '100')
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= maxCalls) return limit
  throw invalid(`limit must be a whole number from 1 to ${maxCalls.toLocaleString('en')}.`)
}
