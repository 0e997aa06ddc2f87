import { request as ask } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { memoryContent } from '../../src/contents/memory/index.ts'
import { catalogPlugin, fetchHandler, type HttpOptions, serve } from '../../src/server/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { CatalogError, type CatalogOptions, openCatalog } from '../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../support/catalogs.ts'

const header = 'x-tabularium-transaction'
const tokens = ['token-of-the-first', 'token-of-the-second']

/** A served catalog, with a client for each token, and for sending plain requests. */
async function served(options: Partial<HttpOptions> = {}, catalogOptions: CatalogOptions = {}) {
  const catalog = closedAfterwards(await openCatalog('memory:', catalogOptions))
  const handler = await fetchHandler(catalog, {
    auth: { tokens },
    limits: { eventLoopDelay: 0 },
    ...options,
  })
  onTestFinished(() => handler.close())
  const [first, second] = tokens.map((token) => connect('http://catalog.test', { token, fetch: handler }))
  const post = async (path: string, body: unknown = {}, headers: Record<string, string> = {}) => {
    const response = await handler(
      new Request(`http://catalog.test${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${tokens[0]}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    )
    return { status: response.status, json: (await response.json()) as { location?: string } }
  }
  return { catalog, handler, first: first!, second: second!, post }
}

test('a body may name the transaction as a header entry of its context, and no kept answer is given', async () => {
  const { first, post } = await served()
  const listing = async (transaction?: string) =>
    (
      await first.listTables(
        { id: [], include_declared: true },
        transaction === undefined ? {} : { transaction },
      )
    ).tables
  expect([await listing(), await listing()]).toEqual([[], []])
  const { transaction_id: id } = await first.beginTransaction({})
  const context = { [`header.${header}`]: id }
  expect((await post('/v1/table/t/declare', { context })).status).toBe(200)
  expect((await post('/v1/table/t/describe', { context })).json.location).toBeTypeOf('string')
  expect((await post('/v1/table/t/describe', { context })).json.location).toBeTypeOf('string')
  expect((await post('/v1/table/t/describe')).status).toBe(404)
  // The same text of a body outside finds nothing of it, whatever was answered inside.
  expect((await post('/v1/table/t/describe', {}, { [header]: id })).status).toBe(200)
  expect((await post('/v1/table/t/describe')).status).toBe(404)
  expect([await listing(id), await listing(), await listing(id)]).toEqual([['t'], [], ['t']])
  for (const name of [header, header.toUpperCase()]) {
    const differs = await post(
      '/v1/table/t/describe',
      { context: { [`header.${name}`]: id } },
      { [header]: 'another' },
    )
    expect(differs).toMatchObject({
      status: 400,
      json: { detail: expect.stringContaining(`two transactions, "another" and "${id}"`) },
    })
  }
  expect((await post('/v1/table/t/describe', { context }, { [header]: id })).status).toBe(200)
  await first.commitTransaction({ id: [id] })
  expect(await listing()).toEqual(['t'])
})

test('a transaction belongs to the token that began it', async () => {
  const { first, second, catalog } = await served({}, { openTransactions: { perPrincipal: 1 } })
  const { transaction_id: transaction } = await first.beginTransaction({ context: { principal: 'token-2' } })
  const unknown = await second.commitTransaction({ id: ['0'.repeat(26)] }).catch((error) => error)
  const same = { code: unknown.code, message: unknown.message.replace('0'.repeat(26), transaction) }
  for (const attempt of [
    () => second.declareTable({ id: ['t'] }, { transaction }),
    () => second.declareTable({ id: ['t'], context: { principal: 'token-1' } }, { transaction }),
    () => second.commitTransaction({ id: [transaction] }),
    () => second.rollbackTransaction({ id: [transaction] }),
    () => second.describeTransaction({ id: [transaction] }),
    () => catalog.commitTransaction({ id: [transaction] }),
  ])
    await expect(attempt()).rejects.toMatchObject(same)
  await expect(first.beginTransaction({})).rejects.toMatchObject({ code: 'Throttling' })
  await second.rollbackTransaction({ id: [(await second.beginTransaction({})).transaction_id] })
  await first.declareTable({ id: ['t'] }, { transaction })
  await first.commitTransaction({ id: [transaction] })
})

test('one caller cannot fill what the transactions of all may hold', async () => {
  const { first, second, catalog } = await served({}, { openTransactions: { bytes: 400_000 } })
  const fill = async (client: typeof first) => {
    const { transaction_id: transaction } = await client.beginTransaction({})
    for (let i = 0; ; i++)
      await client.declareTable(
        { id: [`${transaction}-${i}`], properties: { a: 'x'.repeat(9_000) } },
        { transaction },
      )
  }
  for (let i = 0; i < 3; i++) {
    await expect(fill(first)).rejects.toMatchObject({
      code: 'Throttling',
      message: expect.stringContaining('Your open transactions hold more than 100,000 bytes together'),
    })
  }
  await second.transaction((tx) => tx.declareTable({ id: ['mine'] }))
  // In process nobody is named, and so nobody has a share.
  await expect(fill(catalog as unknown as typeof first)).rejects.toMatchObject({
    message: expect.stringContaining('The open transactions hold 400,000 bytes together'),
  })
})

test('authorize is asked about each operation inside, and about the end', async () => {
  const asked: string[] = []
  const { first } = await served({
    authorize: (_principal, operation, id) => {
      asked.push(operation)
      return id?.[0] !== 'secret'
    },
  })
  const { transaction_id: transaction } = await first.beginTransaction({})
  await expect(first.declareTable({ id: ['secret'] }, { transaction })).rejects.toMatchObject({
    code: 'PermissionDenied',
  })
  await first.commitTransaction({ id: [transaction] })
  expect(asked).toEqual(['beginTransaction', 'declareTable', 'commitTransaction'])
})

test('a commit whose answer was lost is sent again, and is done once', async () => {
  const { handler, catalog } = await served()
  let lost = 0
  const client = connect('http://catalog.test', {
    token: tokens[0]!,
    fetch: async (request) => {
      const answer = await handler(request)
      if (!request.url.endsWith('/commit') || lost++ > 0) return answer
      throw new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNRESET' }) })
    },
  })
  let runs = 0
  await client.transaction(async (tx) => {
    runs++
    await tx.createTable({ id: ['t'], data: [{ k: 1 }] })
    await tx.insertIntoTable({ id: ['t'], data: [{ k: 2 }] })
  })
  expect([runs, lost, (await catalog.countTableRows({ id: ['t'] })).count]).toEqual([1, 2, 2])
})

test('a change inside whose answer was lost is not sent again; the transaction is given up', async () => {
  const { handler, catalog } = await served()
  const sent: string[] = []
  const client = connect('http://catalog.test', {
    token: tokens[0]!,
    fetch: async (request) => {
      sent.push(new URL(request.url).pathname.split('/').at(-1)!)
      const answer = await handler(request)
      if (sent.at(-1) === 'declare') throw new TypeError('fetch failed')
      return answer
    },
  })
  const failing = client.transaction((tx) => tx.declareTable({ id: ['t'] }))
  const error = await failing.catch((error) => error)
  expect(error).toMatchObject({ code: 'ServiceUnavailable', transaction_id: expect.any(String) })
  expect(sent).toEqual(['begin', 'declare', 'rollback'])
  const { status, properties } = await catalog.describeTransaction({ id: [error.transaction_id] })
  expect([status, properties?.failure_code]).toEqual(['Failed', 'ServiceUnavailable'])
  expect((await catalog.listTables({ id: [], include_declared: true })).tables).toEqual([])
})

test('an operation inside that is stopped leaves the transaction open', async () => {
  const { first } = await served()
  await first.createTable({ id: ['t'], data: [{ k: 1 }] })
  const { transaction_id: transaction } = await first.beginTransaction({})
  const stop = new AbortController()
  stop.abort(new Error('enough'))
  const stopped = first.insertIntoTable({ id: ['t'], data: [{ k: 2 }] }, { transaction, signal: stop.signal })
  await expect(stopped).rejects.toThrow('enough')
  await first.insertIntoTable({ id: ['t'], data: [{ k: 3 }] }, { transaction })
  await first.commitTransaction({ id: [transaction] })
  expect((await first.countTableRows({ id: ['t'] })).count).toBe(2)
})

describe('a server that closes gives up what is open', () => {
  const ways = {
    serve: async (catalog: Awaited<ReturnType<typeof openCatalog>>) => {
      const server = await serve(catalog, {
        limits: { eventLoopDelay: 0 },
        auth: { tokens },
        port: 0,
        log: false,
      })
      return { url: server.url, close: () => server.close() }
    },
    plugin: async (catalog: Awaited<ReturnType<typeof openCatalog>>) => {
      const { default: fastify } = await import('fastify')
      const app = fastify()
      await app.register(catalogPlugin, { catalog, auth: { tokens } })
      return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
    },
  }
  test.each(Object.entries(ways))('by %s', async (_name, open) => {
    const catalog = closedAfterwards(await openCatalog('memory:'))
    const { url, close } = await open(catalog)
    const client = connect(url, { token: tokens[0]!, headers: { connection: 'close' } })
    const { transaction_id: left } = await client.beginTransaction({})
    await client.declareTable({ id: ['t'] }, { transaction: left })
    const { transaction_id: done } = await client.beginTransaction({})
    await client.commitTransaction({ id: [done] })
    const { transaction_id: own } = await catalog.beginTransaction({})
    await close()
    const { status, properties } = await catalog.describeTransaction({ id: [left] })
    expect([status, properties?.failure]).toEqual(['Failed', 'The server closed before its commit.'])
    // What was begun in process is not the server's.
    await catalog.declareTable({ id: ['u'] }, { transaction: own })
    await catalog.commitTransaction({ id: [own] })
    expect((await catalog.listTables({ id: [], include_declared: true })).tables).toEqual(['u'])
  })
})

test('a server that closes asks a store that is away once for what is open, and not again', async () => {
  const store = memoryStore()
  const asked: string[] = []
  let isAway = false
  const away = <T>(what: string, go: () => Promise<T>): Promise<T> => {
    if (!isAway) return go()
    asked.push(what)
    return Promise.reject(new CatalogError('ServiceUnavailable', 'The store is away. Try again later.'))
  }
  const catalog = closedAfterwards(
    await openCatalog({
      content: memoryContent(),
      store: {
        features: store.features,
        read: (body) => away('read', () => store.read(body)),
        write: (body) => away('write', () => store.write(body)),
        close: () => store.close(),
      },
    }),
  )
  const handler = await fetchHandler(catalog, { auth: { tokens }, limits: { eventLoopDelay: 0 } })
  const client = connect('http://catalog.test', { token: tokens[0]!, fetch: handler })
  const open = [await client.beginTransaction({}), await client.beginTransaction({})]
  isAway = true
  await handler.close()
  // Each takes as long as a store is patient: one after the other would add up.
  expect(asked).toEqual(['write', 'write'])
  isAway = false
  const refusal = { code: 'TransactionNotFound' }
  for (const { transaction_id } of open)
    await expect(catalog.commitTransaction({ id: [transaction_id] })).rejects.toMatchObject(refusal)
})

test('another process says that a transaction is not open there, and tells of one that is committed', async () => {
  const folder = await freshFolder()
  const [here, there] = [await openCatalog(folder), await openCatalog(folder)]
  for (const catalog of [here, there]) closedAfterwards(catalog)
  const { transaction_id: transaction } = await here.beginTransaction({})
  await here.declareTable({ id: ['t'] }, { transaction })
  const elsewhere = {
    code: 'TransactionNotFound',
    message: expect.stringContaining('not open in this process'),
  }
  await expect(there.listTables({ id: [] }, { transaction })).rejects.toMatchObject(elsewhere)
  await expect(there.commitTransaction({ id: [transaction] })).rejects.toMatchObject(elsewhere)
  await expect(there.rollbackTransaction({ id: [transaction] })).rejects.toMatchObject(elsewhere)
  const first = await here.commitTransaction({ id: [transaction] })
  expect(await there.commitTransaction({ id: [transaction] })).toEqual(first)
  const { transaction_id: second } = await here.beginTransaction({})
  const actions = [{ setStatusAction: { status: 'Canceled' as const } }]
  await there.alterTransaction({ id: [second], actions })
  await expect(here.commitTransaction({ id: [second] })).rejects.toMatchObject({
    code: 'ConcurrentModification',
    message: expect.stringContaining('canceled'),
  })
})

test('the header sent twice is refused', async () => {
  const catalog = closedAfterwards(await openCatalog('memory:'))
  await using server = await serve(catalog, {
    limits: { eventLoopDelay: 0 },
    auth: false,
    port: 0,
    log: false,
  })
  const { transaction_id: id } = await catalog.beginTransaction({})
  const status = await new Promise<number>((resolve, reject) => {
    const sent = ask(`${server.url}/v1/table/t/exists`, { method: 'POST' }, (answer) => {
      answer.resume()
      resolve(answer.statusCode!)
    })
    sent.on('error', reject)
    sent.setHeader(header, [id, id])
    sent.setHeader('content-type', 'application/json')
    sent.end('{}')
  })
  expect(status).toBe(400)
})
