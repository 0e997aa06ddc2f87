import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { tableFromArrays, tableFromIPC, tableToIPC } from '@uwdata/flechette'
import fastify from 'fastify'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { keys, type TransactionRecord } from '../../src/base/store/records.ts'
import type { Store } from '../../src/base/store/store.ts'
import { heldTransactions } from '../../src/catalog/handle/handle.ts'
import { connect } from '../../src/client/index.ts'
import { memoryContent } from '../../src/contents/memory/index.ts'
import {
  catalogPlugin,
  fetchHandler,
  type RunningServer,
  type ServeOptions,
  serve,
} from '../../src/server/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { type LocalCatalog, openCatalog } from '../../src/tabularium/index.ts'
import { closedAfterwards } from '../support/catalogs.ts'
import { freePort } from '../support/free-port.ts'
import { gate } from '../support/gate.ts'
import { followGlobalTime } from '../support/global-time.ts'
import { RoundRobin } from '../support/round-robin.ts'

/*
 * Transactions of servers over one catalog. A request comes to any of them, and the one that holds the transaction
 * answers it.
 */

const token = 'a-token-of-all-servers'
const other = 'a-token-of-another-caller'
const inside = 'x-tabularium-transaction'

/** Two servers, each with a handle of its own, over the same records and rows. */
async function twoServers(options: Partial<ServeOptions> = {}) {
  const memory = memoryStore()
  const store: Store = {
    features: memory.features,
    read: (body) => memory.read(body),
    write: (body) => memory.write(body),
    close: async () => {},
  }
  const content = memoryContent()
  const start = async () => {
    const catalog = closedAfterwards(await openCatalog({ store, content, root: 'memory://all' }))
    const server = await serve(catalog, {
      port: 0,
      log: 'error',
      auth: { tokens: [token, other] },
      limits: { eventLoopDelay: 0 },
      ...options,
    })
    onTestFinished(() => server.close())
    return { catalog, server, client: clientOf(server) }
  }
  return { first: await start(), second: await start(), store, content }
}

function clientOf(server: { url: string }, by = token) {
  return connect(server.url, { token: by, retries: 0 })
}

async function tablesOf(catalog: LocalCatalog) {
  return (await catalog.listTables({ id: [], include_declared: true })).tables
}

/** An HTTP server with the given handler, and its URL. */
async function plainServer(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`
}

test('any server takes the requests of a transaction, rows of any size included', async () => {
  const { first, second } = await twoServers()
  const { transaction_id: transaction } = await first.client.beginTransaction({})
  const numbers = Int32Array.from({ length: 200_000 }, (_, n) => n)
  const rows = tableToIPC(tableFromArrays({ n: numbers }), { format: 'stream' })!
  await second.client.createTable({ id: ['t'], data: rows }, { transaction })
  await first.client.insertIntoTable({ id: ['t'], data: [{ n: 7 }] }, { transaction })
  expect((await second.client.countTableRows({ id: ['t'] }, { transaction })).count).toBe(200_001)
  const { data } = await second.client.queryTable({ id: ['t'], columns: ['n'] }, { transaction })
  expect(tableFromIPC(data).numRows).toBe(200_001)
  await expect(second.client.describeTable({ id: ['t'] })).rejects.toMatchObject({ code: 'TableNotFound' })
  await expect(second.client.describeTable({ id: ['none'] }, { transaction })).rejects.toMatchObject({
    code: 'TableNotFound',
  })
  const [one, two] = [second, first].map(({ client }) => client.commitTransaction({ id: [transaction] }))
  expect([(await one!).status, (await two!).status]).toEqual(['Succeeded', 'Succeeded'])
  expect((await first.catalog.countTableRows({ id: ['t'] })).count).toBe(200_001)
  await expect(second.client.listTables({ id: [] }, { transaction })).rejects.toMatchObject({
    code: 'InvalidInput',
    message: expect.stringContaining('is committed'),
  })
})

test('functions run through a load balancer that sends each request elsewhere', async () => {
  const { first, second } = await twoServers()
  await using proxy = await RoundRobin.start([first.server.url, second.server.url])
  await using client = await openCatalog(proxy.url, { token })
  await client.createTable({ id: ['orders'], data: [{ n: 1 }] })
  await client.transaction(async (tx) => {
    await tx.insertIntoTable({ id: ['orders'], data: [{ n: 2 }] })
    await tx.declareTable({ id: ['more'] })
    await tx.deleteFromTable({ id: ['orders'], predicate: 'n = 1' })
  })
  expect(await tablesOf(first.catalog)).toEqual(['more', 'orders'])
  const failing = client.transaction(async (tx) => {
    await tx.declareTable({ id: ['never'] })
    throw new Error('enough')
  })
  await expect(failing).rejects.toThrow('enough')
  expect(await tablesOf(second.catalog)).toEqual(['more', 'orders'])
})

test('a body may name the transaction, and a rollback comes to the server that holds it', async () => {
  const { first, second } = await twoServers()
  const { transaction_id: id } = await first.client.beginTransaction({})
  const send = async (path: string, body: unknown) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const url = second.server.url + path
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    return answer.status
  }
  expect(await send('/v1/table/t/declare', { context: { [`header.${inside}`]: id } })).toBe(200)
  expect(await send('/v1/table/t/describe', {})).toBe(404)
  expect((await first.client.describeTable({ id: ['t'] }, { transaction: id })).location).toBeTypeOf('string')
  await second.client.rollbackTransaction({ id: [id], failure: 'no more', failure_code: 'InvalidInput' })
  const { status, properties } = await first.client.describeTransaction({ id: [id] })
  expect([status, properties?.failure]).toEqual(['Failed', 'no more'])
  expect(await tablesOf(first.catalog)).toEqual([])
})

test('a transaction is unknown to others on every server, and hooks are asked where it is held', async () => {
  const asked: string[] = []
  const { first, second } = await twoServers({
    authorize: (principal, operation) => {
      asked.push(`${operation} by ${principal?.name}`)
    },
  })
  const { transaction_id: transaction } = await first.client.beginTransaction({})
  const stranger = clientOf(second.server, other)
  for (const attempt of [
    () => stranger.declareTable({ id: ['t'] }, { transaction }),
    () => stranger.commitTransaction({ id: [transaction] }),
    () => stranger.rollbackTransaction({ id: [transaction] }),
  ])
    await expect(attempt()).rejects.toMatchObject({ code: 'TransactionNotFound' })
  await second.client.declareTable({ id: ['t'] }, { transaction })
  // Known to the server by now, and still not to others.
  await expect(stranger.declareTable({ id: ['u'] }, { transaction })).rejects.toMatchObject({
    code: 'TransactionNotFound',
  })
  expect(asked.filter((line) => line === 'declareTable by token-1')).toHaveLength(2)
  await expect(
    clientOf(second.server, 'no-token').declareTable({ id: ['t'] }, { transaction }),
  ).rejects.toMatchObject({ code: 'Unauthenticated' })
  await second.client.commitTransaction({ id: [transaction] })
})

describe('a server that holds a transaction', () => {
  /** Begins a transaction at the first server, and changes where its record says that it is held. */
  async function heldAt(url: string) {
    const servers = await twoServers()
    const { first, store } = servers
    const { transaction_id: id } = await first.client.beginTransaction({})
    await first.client.declareTable({ id: ['t'] }, { transaction: id })
    await store.write((writer) => {
      const record = writer.get<TransactionRecord>(keys.transaction(id))!
      const server = { ...record.session!.server!, url }
      writer.put(keys.transaction(id), { ...record, session: { ...record.session, server } })
    })
    return { ...servers, id }
  }

  async function failsForGood({ first, second, id }: Awaited<ReturnType<typeof heldAt>>) {
    for (const attempt of [
      () => second.client.declareTable({ id: ['u'] }, { transaction: id }),
      () => second.client.declareTable({ id: ['u'] }, { transaction: id }),
      () => second.client.commitTransaction({ id: [id] }),
    ]) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'TransactionNotFound',
        message: expect.stringMatching(/ended without a commit.*Begin another one/),
      })
    }
    const { status, properties } = await second.client.describeTransaction({ id: [id] })
    expect([status, properties?.failure_code]).toEqual(['Failed', 'ServiceUnavailable'])
    // The one that held it, if it is there after all, cannot commit any more.
    await expect(first.client.commitTransaction({ id: [id] })).rejects.toMatchObject({
      transaction_id: id,
    })
    expect(await tablesOf(second.catalog)).toEqual([])
  }

  test('has ended: the transaction fails at once, and cannot be committed', async () => {
    await failsForGood(await heldAt(`http://127.0.0.1:${await freePort()}`))
  })

  test('was replaced by something else at its address: nothing that this answers is believed', async () => {
    const seen: IncomingMessage[] = []
    const url = await plainServer((request, response) => {
      seen.push(request)
      response.setHeader('x-tabularium-server', 'another')
      response.end('{"status":"Succeeded","transaction_id":"x","properties":{}}')
    })
    await failsForGood(await heldAt(url))
    expect(seen).toHaveLength(1)
  })

  test('is replaced by another server over the same catalog: the same', async () => {
    const servers = await heldAt('http://127.0.0.1:1')
    const { second, store, id } = servers
    await store.write((writer) => {
      const record = writer.get<TransactionRecord>(keys.transaction(id))!
      const server = { ...record.session!.server!, url: second.server.url }
      writer.put(keys.transaction(id), { ...record, session: { ...record.session, server } })
    })
    await failsForGood(servers)
  })

  test('cannot be reached: nothing of the request was done, and the transaction goes on', async () => {
    const { first, second, store, id } = await heldAt('http://no-such-host.invalid:2333')
    for (const attempt of [
      () => second.client.declareTable({ id: ['u'] }, { transaction: id }),
      () => second.client.commitTransaction({ id: [id] }),
    ]) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'ServiceUnavailable',
        message: expect.stringContaining('nothing of this request was done'),
      })
    }
    // Its address does not stand in answers.
    const error = await second.client.commitTransaction({ id: [id] }).catch((error) => error)
    expect(error.message).not.toContain('no-such-host')
    const record = await store.read((reader) => reader.get<TransactionRecord>(keys.transaction(id)))
    expect(record?.status).toBe('Running')
    await first.client.commitTransaction({ id: [id] })
    expect(await tablesOf(second.catalog)).toEqual(['t'])
  })

  test('speaks no TLS where it advertised https: credentials are not sent in the clear', async () => {
    const heard: Buffer[] = []
    const plain = createTcpServer((socket) => {
      socket.on('data', (bytes) => heard.push(bytes)).on('error', () => {})
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
    }).listen(0, '127.0.0.1')
    await once(plain, 'listening')
    onTestFinished(() => void plain.close())
    const { second, id } = await heldAt(`https://127.0.0.1:${(plain.address() as { port: number }).port}`)
    const attempt = second.client.declareTable({ id: ['u'] }, { transaction: id })
    await expect(attempt).rejects.toMatchObject({ code: 'ServiceUnavailable' })
    expect(heard.length).toBeGreaterThan(0)
    expect(Buffer.concat(heard).includes(token)).toBe(false)
  })

  test('breaks off in the middle of a long answer: the client hears of it, and the server lives on', async () => {
    let instance = ''
    const url = await plainServer((_request, response) => {
      response.writeHead(200, { 'x-tabularium-server': instance, 'content-type': 'application/json' })
      response.write('[', () => response.destroy())
    })
    const { second, store, id } = await heldAt(url)
    const record = await store.read((reader) => reader.get<TransactionRecord>(keys.transaction(id)))
    instance = record!.session!.server!.instance
    for (let i = 0; i < 3; i++) {
      await expect(second.client.listTables({ id: [] }, { transaction: id })).rejects.toMatchObject({
        code: 'ServiceUnavailable',
      })
    }
    expect(await tablesOf(second.catalog)).toEqual([])
  })

  test('breaks off without an answer: a change says that it may have been done, and a commit is asked once more', async () => {
    const seen: string[] = []
    const url = await plainServer((request) => {
      seen.push(request.url!)
      request.socket.destroy()
    })
    const { first, second, id } = await heldAt(url)
    await expect(second.client.declareTable({ id: ['u'] }, { transaction: id })).rejects.toMatchObject({
      code: 'ServiceUnavailable',
      message: expect.stringContaining('may have done this request'),
    })
    await expect(second.client.commitTransaction({ id: [id] })).rejects.toMatchObject({
      code: 'ServiceUnavailable',
      message: expect.stringContaining('describe the transaction'),
    })
    expect(seen).toEqual(['/v1/table/u/declare', ...Array(2).fill(`/v1/transaction/${id}/commit`)])
    await first.client.commitTransaction({ id: [id] })
    expect((await second.client.commitTransaction({ id: [id] })).status).toBe('Succeeded')
    expect(await tablesOf(second.catalog)).toEqual(['t'])
  })
})

test('a server that vanished without a word is waited for until the lease of the transaction has ended', async () => {
  const { first, second, store } = await twoServers()
  const { open: isAsked, opened: asked } = gate()
  const url = await plainServer(() => isAsked())
  const { transaction_id: id } = await first.client.beginTransaction({})
  const change = (next: (record: TransactionRecord) => TransactionRecord) =>
    store.write((writer) => {
      writer.put(keys.transaction(id), next(writer.get<TransactionRecord>(keys.transaction(id))!))
    })
  await change(({ session, ...rest }) => ({
    ...rest,
    session: { ...session, server: { ...session!.server!, url } },
  }))
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  followGlobalTime()
  onTestFinished(() => void vi.useRealTimers())
  const waiting = second.client.declareTable({ id: ['t'] }, { transaction: id })
  let isOver = false
  const watched = waiting.catch((error) => error).finally(() => (isOver = true))
  await asked
  await vi.advanceTimersByTimeAsync(60_000)
  expect(isOver).toBe(false)
  await change((record) => ({ ...record, lease_until: 1 }))
  while (!isOver) await vi.advanceTimersByTimeAsync(10_000)
  expect(await watched).toMatchObject({ code: 'TransactionNotFound' })
})

test('a request whose caller has left is not passed on', async () => {
  const { first, second } = await twoServers()
  const { transaction_id: transaction } = await first.client.beginTransaction({})
  const handler = await fetchHandler(second.catalog, { auth: { tokens: [token] } })
  onTestFinished(() => handler.close())
  const held = second.catalog[heldTransactions]!
  const serverOf = held.serverOf.bind(held)
  const [searching, found] = [gate(), gate()]
  vi.spyOn(held, 'serverOf').mockImplementation(async (id, owner) => {
    const server = await serverOf(id, owner)
    searching.open()
    await found.opened
    return server
  })
  const leaving = new AbortController()
  const client = connect('http://localhost', { fetch: handler, token, retries: 0 })
  const { signal } = leaving
  const declaring = client.declareTable({ id: ['t'] }, { transaction, signal })
  await searching.opened
  leaving.abort()
  await expect(declaring).rejects.toBe(signal.reason)
  found.open()
  await handler.close()
  await first.client.commitTransaction({ id: [transaction] })
  expect(await tablesOf(first.catalog)).toEqual([])
})

test('a request that was passed on is not passed on again, and a server without address says what to do', async () => {
  const { first, second } = await twoServers()
  const { transaction_id: id } = await first.client.beginTransaction({})
  const headers = { 'x-tabularium-passed-on': '1' }
  const again = connect(second.server.url, { token, headers, retries: 0 })
  await expect(again.declareTable({ id: ['t'] }, { transaction: id })).rejects.toMatchObject({
    code: 'TransactionNotFound',
  })
  const hidden = await twoServers({ advertise: false })
  const { transaction_id: transaction } = await hidden.first.client.beginTransaction({})
  const attempt = hidden.second.client.declareTable({ id: ['t'] }, { transaction })
  await expect(attempt).rejects.toMatchObject({
    code: 'TransactionNotFound',
    message: expect.stringContaining('--advertise'),
  })
  await hidden.first.client.declareTable({ id: ['t'] }, { transaction })
  await hidden.first.client.commitTransaction({ id: [transaction] })
})

test('the headers and the body of a request arrive as they were sent, and too long a body does not', async () => {
  const infos: { id: string; userAgent: string | undefined; context: unknown }[] = []
  const { first, second } = await twoServers({
    limits: { eventLoopDelay: 0, jsonBytes: 1_000 },
    authorize: (_principal, operation, _id, { requestId, headers, body }) => {
      if (operation === 'declareTable' && body === undefined)
        infos.push({ id: requestId, userAgent: headers['user-agent'], context: headers['x-mine'] })
    },
  })
  const { transaction_id: id } = await first.client.beginTransaction({})
  const declare = (properties: Record<string, string>, headers = {}) =>
    fetch(`${second.server.url}/v1/table/t/declare`, {
      method: 'POST',
      body: JSON.stringify({ properties }),
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'x-request-id': 'the-same',
        'x-mine': 'kept',
        'user-agent': 'tests',
        [inside]: id,
        ...headers,
      },
    })
  const answer = await declare({ a: 'b' })
  expect([answer.status, answer.headers.get('x-request-id')]).toEqual([200, 'the-same'])
  expect(answer.headers.get('x-tabularium-server')).toBeNull()
  expect(infos).toEqual(Array(2).fill({ id: 'the-same', userAgent: 'tests', context: 'kept' }))
  const tooLong = await declare({ a: 'b'.repeat(2_000) })
  expect([tooLong.status, ((await tooLong.json()) as { code: number }).code]).toEqual([400, 13])
})

test('a catalog that is mounted in an application advertises where that is', async () => {
  const { first, store, content } = await twoServers()
  const port = await freePort()
  const catalog = closedAfterwards(await openCatalog({ store, content, root: 'memory://all' }))
  const app = fastify()
  onTestFinished(() => app.close())
  const advertise = `http://127.0.0.1:${port}/at/catalog`
  const auth = { tokens: [token] }
  await app.register(catalogPlugin, { prefix: '/at/catalog', catalog, auth, advertise })
  await app.listen({ port, host: '127.0.0.1' })
  const mounted = clientOf({ url: advertise })
  for (const [here, there] of [
    [mounted, first.client],
    [first.client, mounted],
  ] as const) {
    const name = here === mounted ? 'mounted' : 'served'
    const { transaction_id: transaction } = await here.beginTransaction({})
    await there.createTable({ id: [name], data: [{ n: 1 }] }, { transaction })
    expect((await here.countTableRows({ id: [name] }, { transaction })).count).toBe(1)
    expect(
      (await there.queryTable({ id: [name], columns: ['n'] }, { transaction })).data.length,
    ).toBeGreaterThan(0)
    await there.commitTransaction({ id: [transaction] })
  }
  expect(await tablesOf(catalog)).toEqual(['mounted', 'served'])
})

test('an address that others cannot use is refused when the server starts', async () => {
  const catalog = closedAfterwards(await openCatalog('memory:'))
  for (const advertise of ['10.0.0.3:2333', 'ftp://10.0.0.3', 'http://user:secret@10.0.0.3', '']) {
    const error = await serve(catalog, { port: 0, auth: false, advertise }).then(
      (server: RunningServer) => server.close(),
      (error: Error) => error,
    )
    expect(error).toMatchObject({ code: 'InvalidInput' })
    expect(String(error)).not.toContain('secret')
  }
})
