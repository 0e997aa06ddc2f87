import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { tableFromIPC } from '@uwdata/flechette'
import { expect, it, onTestFinished, vi } from 'vitest'
import { type Catalog, CatalogError, connect } from '../../src/client/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { freePort } from '../support/free-port.ts'
import { limitEach } from '../support/time-limit.ts'
import { Served } from './children/served.ts'
import { columns, Heard, ownTable, sharedTable, work } from './children/worker.ts'
import { arrowRows, arrowStream } from './support/ask.ts'

// Servers are killed and started again under load.
limitEach(60)

const tasks = Array.from({ length: 16 }, (_, task) => task)
const kills = 3

it('a server that is killed and started again has all it acknowledged, and its clients go on', async () => {
  const directory = await freshFolder()
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  shortenWaits()
  let broken = 0
  const counting = (request: Request) =>
    fetch(request).catch((error) => {
      broken++
      throw error
    })
  const catalog = connect(url, { retries: 50, timeout: 55_000, fetch: counting })
  const heard = new Heard()
  let hasEnded = false
  let workers: Promise<unknown> | undefined

  for (let run = 0; run < kills; run++) {
    using server = new Served(directory, port)
    await server.listens()
    if (workers === undefined) {
      await prepare(catalog, heard)
      workers = Promise.all(tasks.map((task) => work(catalog, task, heard, () => hasEnded)))
    }
    await progress(heard, workers)
    // At any moment of their work.
    await sleep(Math.random() * 800)
    expect(await server.end('SIGKILL')).toEqual({ by: 'SIGKILL', errors: '' })
  }

  using server = new Served(directory, port)
  await server.listens()
  await progress(heard, workers!)
  for (const [what, error] of heard.unheard) expectUnreached(error, what)
  // Changes are sent once, so the rest were reads that were sent again.
  expect(broken).toBeGreaterThan(heard.unheard.size)
  const unheard = new Set(heard.unheard.keys())
  hasEnded = true
  await workers
  expect([...heard.unheard.keys()]).toEqual([...unheard])
  expect(await server.end('SIGTERM')).toEqual({ by: 0, errors: '' })
  await check(directory, heard, unheard)
})

it('a server told to end finishes what runs, exits with 0, and did nothing it did not say', async () => {
  const directory = await freshFolder()
  const port = await freePort()
  using server = new Served(directory, port)
  await server.listens()
  const catalog = connect(`http://127.0.0.1:${port}`, { retries: 0, timeout: 55_000 })
  const heard = new Heard()
  await prepare(catalog, heard)
  const upload = await beginUpload(port, '/v1/table/n$late/create')
  // Each of them ends at the first read that is not answered.
  const workers = Promise.allSettled(tasks.map((task) => work(catalog, task, heard, () => false)))
  for (let i = 0; i < 3; i++) await progress(heard, workers)

  const ended = server.end('SIGTERM')
  for (const outcome of await workers) {
    expectUnreached(outcome.status === 'rejected' ? outcome.reason : undefined, 'a read')
  }
  for (const [what, error] of heard.unheard) expectUnreached(error, what)
  // An idle connection may be answered once more, and ends then.
  const refusal = () =>
    catalog.namespaceExists({ id: ['n'] }).then(
      () => undefined,
      (error) => error.code,
    )
  await expect.poll(refusal).toBe('ServiceUnavailable')
  expect(await upload.finish()).toBe(200)
  heard.tables.add('n$late')
  expect(await ended).toEqual({ by: 0, errors: '' })
  await check(directory, heard, new Set())
})

/** A client that waits for a server waits a random time, which would make up most of this test. */
function shortenWaits(): void {
  const random = Math.random
  const spy = vi.spyOn(Math, 'random').mockImplementation(() => random() / 4)
  onTestFinished(() => spy.mockRestore())
}

async function prepare(catalog: Catalog, heard: Heard): Promise<void> {
  await catalog.createNamespace({ id: ['n'] })
  await Promise.all(
    [sharedTable, ...tasks.map(ownTable)].map(async (name) => {
      await catalog.createTable({ id: name.split('$'), data: [], schema: columns })
      heard.tables.add(name)
      heard.labels.set(name, new Set())
    }),
  )
}

/** Waits until every task may have done something; fails when one of them failed. */
async function progress(heard: Heard, workers: Promise<unknown>): Promise<void> {
  const before = heard.changes
  const enough = async () => {
    await expect.poll(() => heard.changes, { interval: 5 }).toBeGreaterThanOrEqual(before + tasks.length)
  }
  await Promise.race([enough(), workers])
}

/** What a client may say of a server that went away, or that a busy machine keeps from its work. */
function expectUnreached(error: unknown, what: string): void {
  expect(error, what).toBeInstanceOf(CatalogError)
  const { code, message } = error as CatalogError
  expect(`${code}: ${message}`, what).toMatch(
    /^ServiceUnavailable: .*(cannot be reached|broke off|did not answer|is shutting down)|^Throttling: .*behind with its work/,
  )
}

/** Reads the directory itself: all that was acknowledged is there, and of the rest only what may be, whole. */
async function check(directory: string, heard: Heard, unheard: ReadonlySet<string>): Promise<void> {
  await using catalog = await openCatalog(directory)
  const { tables } = await catalog.listAllTables({ limit: 10_000, include_declared: true })
  expect([...heard.tables].filter((name) => !tables.includes(name))).toEqual([])
  expect(tables.filter((name) => !heard.tables.has(name) && !unheard.has(name))).toEqual([])
  for (const name of tables.filter((name) => unheard.has(name))) {
    // Without a version it was declared; a table created with rows has them all.
    const { version } = await catalog.describeTable({ id: name.split('$'), load_detailed_metadata: true })
    if (version !== undefined && version !== null)
      expect(await catalog.countTableRows({ id: name.split('$') }), name).toEqual({ count: 3 })
  }
  for (const [table, labels] of heard.labels) {
    const id = table.split('$')
    const { data } = await catalog.queryTable({ id })
    const found = (tableFromIPC(data).toArray() as { label: string }[]).map(({ label }) => label)
    const there = new Set(found)
    expect(await catalog.countTableRows({ id })).toEqual({ count: there.size * 3 })
    expect(
      [...labels].filter((label) => !there.has(label)),
      table,
    ).toEqual([])
    const unknown = [...there].filter((label) => !labels.has(label) && !unheard.has(`${table} ${label}`))
    expect(unknown, table).toEqual([])
  }
}

/**
 * Sends a request with rows that goes on until it is told to finish, once the server has begun to answer it. The server
 * would end one that is silent for a while, and a busy machine takes longer than that.
 */
async function beginUpload(port: number, path: string) {
  const rows = Buffer.from(arrowRows({ a: Array.from({ length: 4_096 }, (_, i) => i) }))
  // A stream is its columns, batches of rows, and its end.
  const columns = rows.subarray(0, 8 + rows.readInt32LE(4))
  const batch = rows.subarray(columns.length, -8)
  const headers = { ...arrowStream, expect: '100-continue' }
  const request = httpRequest({ host: '127.0.0.1', port, path, method: 'POST', headers })
  const answered = once(request, 'response') as Promise<[IncomingMessage]>
  request.flushHeaders()
  await once(request, 'continue')
  request.write(columns)
  const going = setInterval(() => request.write(batch), 100)
  request.once('close', () => clearInterval(going))
  return {
    async finish() {
      clearInterval(going)
      request.end(rows.subarray(-8))
      const [response] = await answered
      response.resume()
      return response.statusCode
    },
  }
}
