import { once } from 'node:events'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../../src/base/store/store.ts'
import { type Catalog, storeState } from '../../../src/catalog/handle/handle.ts'
import { operations } from '../../../src/catalog/operations/index.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { icebergRest } from '../../../src/iceberg/index.ts'
import { ResponseCache } from '../../../src/server/core/response-cache.ts'
import { fetchHandler, type HttpOptions } from '../../../src/server/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { startChild } from '../../stores/children/child.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { type Ask, asking, type Reply, serveInMemory } from '../support/ask.ts'

const lancedb = { 'x-lancedb-database': 'db' }

/** Requests whose answers are kept, on a catalog in which most of what they name comes and goes. */
const keptReads: readonly Parameters<Ask>[] = [
  ['POST', '/v1/namespace/n/describe', {}],
  ['POST', '/v1/namespace/n/exists', {}],
  ['GET', '/v1/namespace/$/list'],
  ['GET', '/v1/namespace/n/table/list?limit=2'],
  ['GET', '/v1/namespace/n/table/list?delimiter=.'],
  ['GET', '/v1/namespace/n/table/list', undefined, lancedb],
  ['GET', '/v1/table'],
  ['POST', '/v1/table/n$a/describe', {}],
  ['POST', '/v1/table/n.a/describe?delimiter=.', { with_table_uri: true }],
  ['POST', '/v1/table/n$a/exists', {}],
  ['GET', '/iceberg/v1/namespaces'],
  ['GET', '/iceberg/v1/namespaces/n/tables'],
  ['GET', '/iceberg/v1/namespaces/n/tables?pageToken=&pageSize=1'],
  ['GET', '/iceberg/v1/namespaces/n/views'],
]

/** Requests whose answers depend on more. */
const otherReads: readonly Parameters<Ask>[] = [
  ['GET', '/v1/namespace/n/table/list?include_declared=false'],
  ['POST', '/v1/table/n$a/describe', { check_declared: true }],
  ['POST', '/v1/table/n$a/describe', {}, lancedb],
  ['POST', '/v1/table/n$a/count_rows', {}],
  ['POST', '/v1/table/n$a/tags/version', { tag: 'x' }],
  ['GET', '/v1/table/n$a/tags/list'],
  ['GET', '/v1/table/n$a/tags/list', undefined, lancedb],
  ['GET', '/v1/table/n$a/branches/list'],
  ['POST', '/v1/table/n$a/describe', { tag: 'x' }],
  ['POST', '/v1/table/n$a/exists', { version: 1 }],
  ['GET', '/v1/table/n$a/version/list?limit=1'],
  ['POST', '/v1/table/n$a/version/describe', { version: 1 }],
]

type Change = readonly [name: keyof typeof operations, request: object]

const changes: readonly Change[] = [
  ['createNamespace', { id: ['n'], properties: { a: 'b' } }],
  ['dropNamespace', { id: ['n'], behavior: 'Cascade' }],
  ['declareTable', { id: ['n', 'a'] }],
  ['declareTable', { id: ['n', 'b'], properties: { owner: 'me' } }],
  ['declareTable', { id: ['n', 'c'] }],
  ['declareTable', { id: ['n', 'd'], properties: { table_type: 'ICEBERG' } }],
  ['declareTable', { id: ['n', 'e'], properties: { table_type: 'iceberg' } }],
  ['updateTableProperties', { id: ['n', 'd'], updates: { table_type: 'ICEBERG_VIEW' } }],
  ['createTable', { id: ['n', 'a'], data: [{ x: 1 }] }],
  ['insertIntoTable', { id: ['n', 'a'], data: [{ x: 2 }] }],
  ['renameTable', { id: ['n', 'b'], new_table_name: 'a' }],
  ['dropTable', { id: ['n', 'a'] }],
  ['deregisterTable', { id: ['n', 'b'] }],
  ['createTableTag', { id: ['n', 'a'], tag: 'x', version: 1 }],
  ['deleteTableTag', { id: ['n', 'a'], tag: 'x' }],
  ['createTableBranch', { id: ['n', 'a'], name: 'side' }],
]

async function change(catalog: Catalog, [name, request]: Change): Promise<void> {
  await (catalog[name] as (request: object) => Promise<unknown>)(request).catch(() => {})
}

async function handlerOf(catalog: Catalog, options: Partial<HttpOptions> = {}): Promise<Ask> {
  const handler = await fetchHandler(catalog, {
    mounts: [icebergRest(catalog as LocalCatalog)],
    limits: { eventLoopDelay: 0 },
    auth: false,
    docs: false,
    health: false,
    ...options,
  })
  onTestFinished(() => handler.close())
  return asking(handler, 'http://localhost')
}

/** Asks a server that keeps answers and one that keeps none. */
async function pair(catalog: Catalog): Promise<(request: Parameters<Ask>) => Promise<Reply[]>> {
  const keeping = await handlerOf(catalog)
  const plain = await handlerOf(catalog, { limits: { answerBytes: 0 } })
  return (request) => Promise.all([keeping(...request), plain(...request)])
}

const seen = ({ status, text, headers }: Reply) => [
  status,
  text,
  [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date'),
]

/** Follows pages to the end, as a client does, comparing each. */
async function expectSame(
  ask: (request: Parameters<Ask>) => Promise<Reply[]>,
  [method, path, ...rest]: Parameters<Ask>,
): Promise<void> {
  for (let token = ''; ; ) {
    const separator = path.includes('?') ? '&' : '?'
    const [kept, plain] = await ask([
      method,
      token ? `${path}${separator}page_token=${token}` : path,
      ...rest,
    ])
    expect(seen(kept!)).toStrictEqual(seen(plain!))
    const next = (kept!.json as { page_token?: string } | undefined)?.page_token
    if (!next || method === 'POST' || rest[1] !== undefined) return
    token = next
  }
}

const history = fc.array(
  fc.record({
    change: fc.nat(changes.length - 1),
    reads: fc.array(fc.nat(keptReads.length + otherReads.length - 1), { minLength: 1, maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 10 },
)
const reads = [...keptReads, ...otherReads]

describe('answers that are kept', () => {
  it('are what the catalog answers, over any history', async () => {
    const catalog = await openCatalog('memory:')
    onTestFinished(() => catalog.close())
    const empty = catalog.snapshot()
    const ask = await pair(catalog)
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        catalog.restore(empty)
        for (const step of steps) {
          await change(catalog, changes[step.change]!)
          for (const read of [...step.reads, ...step.reads]) await expectSame(ask, reads[read]!)
        }
      }),
      { numRuns: Number(process.env.KEPT_RUNS ?? 12) },
    )
  })

  it('are what the catalog answers while another process changes it', async () => {
    const directory = await freshFolder()
    const catalog = closedAfterwards(await openCatalog(directory))
    const child = startChild('test/server/children/changes.ts', directory)
    const ask = await pair(catalog)
    await child.printed(1)
    const [steps] = fc.sample(fc.array(fc.nat(changes.length - 1), { minLength: 6, maxLength: 6 }), 1)
    for (const step of [0, 5, ...steps!]) {
      // Looked at just before, so that there are answers that could be too old.
      for (const read of keptReads) await ask(read)
      const acknowledged = once(child.process.stdout!, 'data')
      child.process.stdin!.write(`${JSON.stringify(changes[step])}\n`)
      await acknowledged
      for (const read of keptReads) await expectSame(ask, read)
    }
  })

  it('spare the store all reading until a record changes', async () => {
    const { catalog, ask, reads } = await counted(memoryStore())
    for (const request of keptReads) {
      expect((await ask(...request)).status).toBe(200)
      const before = reads()
      const again = await ask(...request)
      expect([reads(), again.status]).toStrictEqual([before, 200])
      await catalog.declareTable({ id: [`t${before}`] })
      await ask(...request)
      expect(reads()).toBeGreaterThan(before)
    }
    for (const request of otherReads) {
      await ask(...request)
      const before = reads()
      await ask(...request)
      expect(reads()).toBeGreaterThan(before)
    }
  })

  it('take one look at the state for all requests that come together, after the last of them', async () => {
    const { catalog, ask, looks } = await counted(memoryStore())
    const list: Parameters<Ask> = ['GET', '/v1/namespace/n/table/list']
    const namesOf = (reply: Reply) => (reply.json as { readonly tables: readonly string[] }).tables
    await ask(...list)
    const before = looks()
    const replies = await Promise.all(Array.from({ length: 20 }, () => ask(...list)))
    expect(new Set(replies.map((reply) => namesOf(reply).join())).size).toBe(1)
    expect(looks()).toBe(before + 1)
    // A change between two requests of one turn.
    const early = ask(...list)
    await catalog.declareTable({ id: ['n', 'between'] })
    const late = await ask(...list)
    await early
    expect(namesOf(late)).toContain('n$between')
  })

  it('are none where the store does not tell its state', async () => {
    const store = memoryStore()
    const { ask, reads } = await counted({
      features: store.features,
      read: (body) => store.read(body),
      write: (body) => store.write(body),
      close: () => store.close(),
    })
    for (const request of keptReads) {
      await ask(...request)
      const before = reads()
      await ask(...request)
      expect(reads()).toBeGreaterThan(before)
    }
  })

  it('take no more room than they may', async () => {
    let state = 0
    const cache = new ResponseCache({ [storeState]: () => state } as unknown as Catalog, 20_000)
    let most = 0
    for (let i = 0; i < 500; i++) {
      state = Math.floor(i / 100)
      const body = Buffer.from(`{"limit":${i}}`)
      const exchange = {
        match: { operation: 'listTables' },
        dialect: { name: 'protocol' },
        path: '/v1/table',
        query: '',
      } as unknown as Parameters<ResponseCache['answer']>[0]
      const answer = { status: 200, body: 'x'.repeat((i * 37) % 6_000) }
      expect(await cache.answer(exchange, body, {}, async () => answer)).toBe(answer)
      const again = await cache.answer(exchange, body, {}, async () => ({ ...answer }))
      if (cache.bytes > 10_000) expect(again).toBe(answer)
      most = Math.max(most, cache.bytes)
    }
    expect(most).toBeGreaterThan(15_000)
    expect(most).toBeLessThanOrEqual(20_000)
  })
})

describe('for an answer that is kept', () => {
  const path = '/v1/table/t/describe'

  it('credentials, hooks and limits are asked each time, and the request has an id of its own', async () => {
    let valid = true
    let allowed = true
    const { catalog, ask } = await serveInMemory({
      auth: { verify: () => (valid ? { name: 'me' } : undefined) },
      authorize: () => allowed,
      rateLimit: { requests: 6, perMillis: 60_000 },
    })
    await catalog.declareTable({ id: ['t'] })
    const first = await ask('POST', path, {})
    const second = await ask('POST', path, {}, { 'x-request-id': 'mine' })
    expect([second.status, second.text]).toStrictEqual([200, first.text])
    expect(second.headers.get('x-request-id')).toBe('mine')
    allowed = false
    expect((await ask('POST', path, {})).status).toBe(403)
    allowed = true
    valid = false
    expect((await ask('POST', path, {})).status).toBe(401)
    valid = true
    expect((await ask('POST', path, '{"a"')).status).toBe(400)
    const metrics = await ask('GET', '/metrics')
    expect(metrics.text).toContain('tabularium_requests_total{operation="describeTable",status="200"} 2')
    expect((await ask('POST', path, {})).status).toBe(200)
    expect((await ask('POST', path, {})).status).toBe(200)
    expect((await ask('POST', path, {})).status).toBe(503)
  })

  it('of another protocol, hooks are asked each time, and a transaction sees its own changes', async () => {
    const catalog = closedAfterwards(await openCatalog('memory:'))
    const list = ['GET', '/iceberg/v1/namespaces/n/tables', undefined] as const
    const ask = await handlerOf(catalog)
    await catalog.createNamespace({ id: ['n'] })
    const before = await ask(...list)
    const { transaction_id: transaction } = await catalog.beginTransaction({})
    const properties = { table_type: 'ICEBERG' }
    await catalog.declareTable({ id: ['n', 'a'], properties }, { transaction: transaction! })
    const inside = { 'x-tabularium-transaction': transaction! }
    expect((await ask(...list, inside)).json).toMatchObject({ identifiers: [{ name: 'a' }] })
    expect((await ask(...list)).text).toBe(before.text)
    let allowed: boolean
    const guarded = await handlerOf(catalog, { authorize: () => allowed })
    for (const path of ['/iceberg/v1/namespaces', list[1]]) {
      allowed = true
      expect((await guarded('GET', path)).status).toBe(200)
      allowed = false
      expect((await guarded('GET', path)).status).toBe(403)
    }
  })

  it("the catalog's own hooks are asked each time", async () => {
    let allowed = true
    let vended = 0
    const { catalog, ask } = await serveInMemory(
      {},
      { authorize: () => allowed, storageOptions: () => ({ token: String(++vended) }) },
    )
    await catalog.declareTable({ id: ['t'] })
    for (const number of ['1', '2']) {
      const { json } = await ask('POST', path, { vend_credentials: true })
      expect(json).toMatchObject({ storage_options: { token: number } })
    }
    expect((await ask('POST', path, {})).status).toBe(200)
    allowed = false
    expect((await ask('POST', path, {})).status).toBe(403)
  })

  it('a method that was replaced is called', async () => {
    const { catalog, ask } = await serveInMemory()
    await catalog.declareTable({ id: ['t'] })
    await ask('POST', path, {})
    Object.assign(catalog, { describeTable: async () => ({ location: 'elsewhere' }) })
    expect((await ask('POST', path, {})).json).toStrictEqual({ location: 'elsewhere' })
  })

  it('a method that was replaced by one around it is called each time', async () => {
    const { catalog, ask } = await serveInMemory()
    await catalog.declareTable({ id: ['t'] })
    const before = (await ask('POST', path, {})).json as object
    const own = catalog.describeTable
    let calls = 0
    const around: typeof own = async (...given) => ({
      ...(await own(...given)),
      properties: { calls: `${++calls}` },
    })
    Object.assign(catalog, { describeTable: around })
    expect((await ask('POST', path, {})).json).toStrictEqual({ ...before, properties: { calls: '1' } })
    expect((await ask('POST', path, {})).json).toStrictEqual({ ...before, properties: { calls: '2' } })
    Object.assign(catalog, { describeTable: own })
    expect((await ask('POST', path, {})).json).toStrictEqual(before)
  })

  it('a method of another catalog answers for that one', async () => {
    const { catalog, ask } = await serveInMemory()
    const other = await openCatalog('memory:')
    onTestFinished(() => other.close())
    await catalog.declareTable({ id: ['t'] })
    await ask('POST', path, {})
    Object.assign(catalog, { describeTable: other.describeTable })
    expect((await ask('POST', path, {})).status).toBe(404)
    await other.declareTable({ id: ['t'] })
    expect((await ask('POST', path, {})).status).toBe(200)
    await other.dropTable({ id: ['t'] })
    expect((await ask('POST', path, {})).status).toBe(404)
  })

  it('a closed catalog is closed', async () => {
    const { catalog, ask } = await serveInMemory()
    await catalog.declareTable({ id: ['t'] })
    await ask('POST', path, {})
    await catalog.close()
    expect((await ask('POST', path, {})).status).toBe(503)
  })
})

it('operations that change something follow from more than the store', () => {
  const claims = Object.values(operations).filter(({ definition }) => 'isFromStore' in definition)
  expect(claims.length).toBeGreaterThan(5)
  expect(claims.filter(({ definition }) => definition.changes)).toStrictEqual([])
})

/** A server on a store whose reads are counted, with the tables that `keptReads` ask for. */
async function counted(store: Store) {
  let count = 0
  const read: Store['read'] = (body) => {
    count++
    return store.read(body)
  }
  let looks = 0
  const state = store.state && {
    state: () => {
      looks++
      return store.state!()
    },
  }
  const catalog = await openCatalog({
    store: {
      features: store.features,
      read,
      write: (body) => store.write(body),
      close: () => store.close(),
      ...state,
    },
    content: memoryContent(),
  })
  onTestFinished(() => catalog.close())
  // It would read and write, too.
  await catalog.createNamespace({ id: ['n'] })
  await catalog.createTable({ id: ['n', 'a'], data: [{ x: 1 }] })
  await catalog.createTableTag({ id: ['n', 'a'], tag: 'x', version: 1 })
  return { catalog, ask: await handlerOf(catalog), reads: () => count, looks: () => looks }
}
