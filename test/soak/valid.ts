import { readdirSync, readFileSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Dictionary, Int32, Table, tableFromArrays, tableToIPC, Utf8, vectorFromArray } from 'apache-arrow'
import { type OperationName, operations } from '../../src/catalog/operations/index.ts'
import { type Catalog, CatalogError, openCatalog } from '../../src/tabularium/index.ts'
import { Served } from '../server/children/served.ts'
import { Draw } from '../support/draw.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { freePort } from '../support/free-port.ts'
import { validRequest, type World } from '../support/valid-requests.ts'
import type { Scenario } from './scenario.ts'
import { mostHeldMillis, Waits } from './waits.ts'

/** The resource limits of a server under any valid requests. */
const bounds = {
  /** Memory: 1 GiB for all requests, the catalog's cache, scratch memory, and the process. */
  mebibytes: 2_560,
  /** Disk space of one request: twice 512 MiB in addition to the table. */
  mebibytesOnDisk: 1_536,
  /** Processor time of the main thread while one request for `/healthz` waits. */
  millis: 1_000,
}

/** Operations whose expressions may need any amount of work. */
const evaluating: readonly OperationName[] = [
  'queryTable',
  'countTableRows',
  'updateTable',
  'deleteFromTable',
  'mergeInsertIntoTable',
  'alterTableAddColumns',
  'analyzeTableQueryPlan',
]

const mebibyte = 2 ** 20
/** The timeout of clients, in milliseconds. The server must notice their disconnect. */
const patience = 8_000
/** When a call with that timeout must have ended, on a busy machine. */
const mostPatience = 60_000

/** Valid requests of every operation, at the bounds of every field, to the command `serve`. */
export async function valid(seed: number): Promise<
  Scenario & {
    readonly counts: { readonly answered: number; readonly requests: number }
    readonly worst: () => string
  }
> {
  const directory = await temporaryDirectory()
  const port = await freePort()
  const served = new Served(directory, port)
  await served.listens()
  const waits = new Waits(served.pid, `http://127.0.0.1:${port}`)
  const client = await openCatalog(`http://127.0.0.1:${port}`)
  const draw = new Draw(seed)
  const names = Object.keys(operations) as OperationName[]
  const counts = {
    requests: 0,
    answered: 0,
    refused: 0,
    abandoned: 0,
    'MiB at most': 0,
    'ms of the thread at most': 0,
    'ms held at most': 0,
    'MiB on disk at most': 0,
  }
  let worst = ''
  let worstHeld = ''
  let current = ''
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      const { workedMillis, heldMillis } = await waits.ask()
      const [took, held] = [Math.round(workedMillis), Math.round(heldMillis)]
      if (took > counts['ms of the thread at most']) worst = current
      if (held > counts['ms held at most']) worstHeld = current
      counts['ms of the thread at most'] = Math.max(counts['ms of the thread at most'], took)
      counts['ms held at most'] = Math.max(counts['ms held at most'], held)
      counts['MiB at most'] = Math.max(counts['MiB at most'], mebibytesOf(served.pid))
      // Protects the machine.
      if (counts['MiB at most'] > 1.4 * bounds.mebibytes) served[Symbol.dispose]()
      await sleep(5)
    }
  })()
  // The next request, or the end, reports a crashed server.
  watching.catch(() => {})
  const world = await makeWorld(client, draw)
  let remade = performance.now()

  const check = (what: string) => {
    if (served.ending !== undefined) throw new Error(`${what}: ${served.ending}`)
    if (counts['MiB at most'] > bounds.mebibytes)
      throw new Error(`The server took ${counts['MiB at most']} MiB with ${what}.`)
    if (counts['ms of the thread at most'] > bounds.millis)
      throw new Error(`${counts['ms of the thread at most']} ms of the main thread went by with ${worst}.`)
    if (counts['ms held at most'] > mostHeldMillis)
      throw new Error(`The server held an answer for ${counts['ms held at most']} ms with ${worstHeld}.`)
  }

  return {
    counts,
    worst: () => worst,
    async round() {
      // Half of the requests evaluate expressions.
      const name = draw.oneOf(draw.chance(0.5) ? names : evaluating)
      const request = validRequest(name, draw.chance(0.15) ? wideWorld(world, draw) : world, draw)
      current = `${name} ${shown(request)}`
      const before = mebibytesIn(directory)
      counts.requests++
      const began = performance.now()
      try {
        const signal = AbortSignal.timeout(patience)
        await (client[name] as (request: unknown, options: object) => Promise<unknown>)(request, { signal })
        counts.answered++
      } catch (error) {
        if ((error as Error).name === 'TimeoutError') counts.abandoned++
        else if (error instanceof CatalogError && error.code !== 'Internal') counts.refused++
        // What the client is told of an unexpected failure is kept short: the server's log has the rest.
        else throw new Error(`${current} failed. ${served.errors}`, { cause: error })
      }
      const took = Math.round(performance.now() - began)
      if (took > mostPatience)
        throw new Error(`${current} ended after ${took} ms, with a timeout of ${patience} ms.`)
      const grown = mebibytesIn(directory) - before
      counts['MiB on disk at most'] = Math.max(counts['MiB on disk at most'], grown)
      check(current)
      if (grown > bounds.mebibytesOnDisk) throw new Error(`${current} wrote ${grown} MiB.`)
      // Replaces tables that have grown.
      if (counts.requests % 40 !== 0 && mebibytesIn(directory) <= 2_048) return
      const since = Math.round(performance.now() - remade)
      await makeWorld(client, draw).catch((cause) => {
        const after = `${Math.round(performance.now() - remade - since)} ms, ${since} ms after the last time`
        throw new Error(`The tables were not made again in ${after}, after ${current}. ${served.errors}`, {
          cause,
        })
      })
      remade = performance.now()
    },
    async end() {
      isOver = true
      await watching
      check('its end')
      await client.close()
      await waits[Symbol.asyncDispose]()
      await served.end('SIGTERM')
      await rm(directory, { recursive: true })
    },
  }
}

/**
 * Tables with many rows, many entries of a dictionary, many columns, and one long cell. Any of them may have its texts
 * in a dictionary.
 */
async function makeWorld(client: Catalog, draw: Draw): Promise<World> {
  const tables = [['many'], ['few'], ['encoded'], ['cell']]
  await client.createNamespace({ id: ['other'] }).catch(() => {})
  const texts = (rows: number) => Array.from({ length: rows }, (_, i) => `value-${i}-abcabcabc`)
  const make = (rows: number, s = texts(rows), isEncoded = draw.chance(0.3)) => {
    const plain = vectorFromArray(s, new Utf8())
    const x = vectorFromArray(Int32Array.from({ length: rows }, (_, i) => i))
    const y = vectorFromArray(Float64Array.from({ length: rows }, (_, i) => i / 7))
    const encoded = vectorFromArray(s, new Dictionary(new Utf8(), new Int32()))
    return tableToIPC(new Table({ x, y, s: isEncoded ? encoded : plain, t: plain }), 'stream')
  }
  const columns = { numbers: ['x', 'y'], texts: ['s', 't'] }
  // Many rows may share one entry of a dictionary.
  const shared = draw.chance(0.5) ? new Array<string>(20_000).fill('value') : undefined
  const bodies = [make(50_000), make(10), make(20_000, shared, true), make(1, ['c'.repeat(mebibyte)])]
  for (const [i, id] of tables.entries())
    await client.createTable({ id, data: bodies[i] as Uint8Array, mode: 'Overwrite' })
  wideRows ??= rowsOfWide()
  await client.createTable({ id: ['wide'], data: wideRows, mode: 'Overwrite' })
  const gone = tableToIPC(tableFromArrays({ x: [1] }), 'stream')
  await client.createTable({ id: ['other', 'gone'], data: gone, mode: 'Overwrite' })
  return { tables, namespaces: [['other'], []], columns, data: make(3) }
}

/** Half of the columns of a wide table, beside those that all tables have. */
const wideColumns = 2_500

/** The names of a table with many columns, sometimes in another case. */
function wideWorld(world: World, draw: Draw): World {
  const isUpper = draw.chance(0.3)
  const names = (kind: string) =>
    Array.from({ length: wideColumns }, (_, i) => (isUpper ? kind.toUpperCase() : kind) + i)
  const { numbers, texts } = world.columns
  const columns = { numbers: [...names('x'), ...numbers], texts: [...names('t'), ...texts] }
  return { ...world, tables: [['wide']], columns }
}

/** Rows of the table with many columns. Made once: the library takes long. */
let wideRows: Uint8Array | undefined

function rowsOfWide(): Uint8Array {
  const x = vectorFromArray(Int32Array.of(1, 2, 3))
  const t = vectorFromArray(['a', 'b', 'c'], new Utf8())
  const many = Array.from({ length: wideColumns }, (_, i) => i)
  const columns = [
    ...many.map((i) => [`x${i}`, x] as const),
    ...many.map((i) => [`t${i}`, t] as const),
    ...(['x', 'y'] as const).map((name) => [name, x] as const),
    ...(['s', 't'] as const).map((name) => [name, t] as const),
  ]
  return tableToIPC(new Table(Object.fromEntries(columns)), 'stream')
}

function shown(request: unknown): string {
  const text = JSON.stringify(request, (_, part) =>
    part instanceof Uint8Array ? `${part.length} bytes` : part,
  )
  return text.length > 400 ? `${text.slice(0, 400)}… (${text.length} characters)` : text
}

function mebibytesOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024)
}

function mebibytesIn(folder: string): number {
  let bytes = 0
  for (const entry of readdirSync(folder, { recursive: true })) {
    try {
      bytes += statSync(join(folder, String(entry))).size
    } catch {
      // A concurrent request has removed it.
    }
  }
  return Math.round(bytes / mebibyte)
}
