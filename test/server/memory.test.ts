import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { type ServeOptions, serve } from '../../src/server/index.ts'
import { type CatalogOptions, type MemoryCatalog, openCatalog } from '../../src/tabularium/index.ts'
import { hostileBody } from '../support/hostile-bodies.ts'
import { limitEach } from '../support/time-limit.ts'
import { arrowRows, arrowStream, asking } from './support/ask.ts'

// It sends and reads bodies of many megabytes.
limitEach(60)

/*
 * What requests hold in memory at once, all of them together.
 */

async function running(options: Partial<ServeOptions> = {}, catalogOptions: CatalogOptions = {}) {
  const catalog: MemoryCatalog = await openCatalog('memory:', catalogOptions)
  const server = await serve(catalog, {
    auth: false,
    port: 0,
    log: false,
    ...options,
    limits: { eventLoopDelay: 0, ...options.limits },
  })
  onTestFinished(async () => {
    await server.close()
    await catalog.close()
  })
  const ask = asking(fetch, server.url)
  const held = async () =>
    Number(/^tabularium_body_bytes (\d+)/m.exec((await ask('GET', '/metrics')).text)?.[1])
  return { catalog, ask, held, port: Number(new URL(server.url).port) }
}

/** A connection on which a request was begun; what comes back is gathered in `text`. */
async function begin(
  port: number,
  request: string | Uint8Array,
): Promise<{ socket: Socket; text: () => string }> {
  const socket = connect({ port, host: '127.0.0.1' })
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  onTestFinished(() => {
    socket.destroy()
  })
  await once(socket, 'connect')
  socket.write(request)
  return { socket, text: () => text }
}

const insertOf = (length: number) =>
  `POST /v1/table/t/insert HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${arrowStream['content-type']}\r\ncontent-length: ${length}\r\n\r\n`

it('uploads that are only announced take no room from others', async () => {
  const { ask, held, port } = await running({ limits: { bodyBytes: 400_000, arrowBytes: 300_000 } })
  expect((await ask('POST', '/v1/table/t/create', arrowRows({ a: [0.5] }), arrowStream)).status).toBe(200)
  for (let i = 0; i < 4; i++) await begin(port, `${insertOf(300_000)}abcd`)
  const rows = arrowRows({ a: Array.from({ length: 20_000 }, (_, i) => i / 3) })
  expect((await ask('POST', '/v1/table/t/insert', rows, arrowStream)).status).toBe(200)
  expect(await held()).toBe(0)
})

it('an upload that stands still is answered, and gives back what it held', async () => {
  const { ask, held, port } = await running({ timeouts: { upload: 600 } })
  expect((await ask('POST', '/v1/table/t/create', arrowRows({ a: [0.5] }), arrowStream)).status).toBe(200)
  const silent = await begin(port, insertOf(300_000))
  silent.socket.write(Buffer.alloc(200_000))
  await expect.poll(silent.text).toMatch(/400 Bad Request[\s\S]*stood still/)
  expect(await held()).toBe(0)
  // A byte now and then is no progress either.
  const slow = await begin(port, insertOf(300_000))
  const dripping = setInterval(() => slow.socket.write('x'), 20)
  onTestFinished(() => clearInterval(dripping))
  await expect.poll(slow.text).toMatch(/400 Bad Request[\s\S]*stood still/)
})

it('bodies count as they arrive, and no longer than their request', async () => {
  const { ask, held, port } = await running()
  expect((await ask('POST', '/v1/table/t/create', arrowRows({ a: [0.5] }), arrowStream)).status).toBe(200)
  const half = await begin(port, insertOf(300_000))
  half.socket.write(Buffer.alloc(100_000))
  await expect.poll(held).toBe(100_000)
  half.socket.destroy()
  await expect.poll(held).toBe(0)
})

it('answers that nobody reads count until they are read, and are broken off in the end', async () => {
  const { catalog, ask, held, port } = await running({ timeouts: { download: 1_500 } })
  const name = 'n'.repeat(200)
  for (let i = 0; i < 1_000; i++) await catalog.createNamespace({ id: [`${name}${i}`] })
  const path = '/v1/namespace/$/list?limit=10000'
  // More than the buffers of a connection hold.
  const asked = `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`
  const silent = await begin(port, '')
  silent.socket.pause()
  silent.socket.write(asked.repeat(100))
  await expect.poll(held).toBeGreaterThan(200_000)
  await expect.poll(held).toBe(0)
  expect((await ask('GET', path)).status).toBe(200)
})

it('answers are refused when those under way take all the room', async () => {
  const { catalog, held, port } = await running({
    limits: { bodyBytes: 1_000_000, arrowBytes: 100_000, jsonBytes: 100_000 },
  })
  const name = 'n'.repeat(200)
  for (let i = 0; i < 1_000; i++) await catalog.createNamespace({ id: [`${name}${i}`] })
  const path = '/v1/namespace/$/list?limit=10000'
  const late = await begin(port, '')
  late.socket.pause()
  late.socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`.repeat(30))
  const answered = () => Array.from(late.text().matchAll(/HTTP\/1.1 (\d+)/g), ([, status]) => status)
  late.socket.resume()
  await expect.poll(() => answered().length).toBe(30)
  expect(new Set(answered())).toStrictEqual(new Set(['200', '503']))
  expect(late.text()).toMatch(/retry-after: 1/)
  await expect.poll(held).toBe(0)
})

it('requests that wait for their turn on a connection end with it', async () => {
  const { catalog, ask, port } = await running()
  await catalog.createTable({ id: ['t'], data: [{ a: 0.5 }] })
  const asked = 'POST /v1/table/t/query HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}'
  const { socket } = await begin(port, '')
  socket.pause()
  socket.write(asked.repeat(50), () => socket.destroy())
  await expect
    .poll(async () => (await ask('GET', '/metrics')).text)
    .toMatch(/^tabularium_requests_in_flight 0$/m)
})

it('an answer is made as it is read, and takes memory for a part of it only', async () => {
  const { catalog, ask, held, port } = await running({ timeouts: { download: 2_500 } })
  const rows = Array.from({ length: 3_000 }, (_, i) => ({ n: i, text: 'x'.repeat(2_000) }))
  await catalog.createTable({ id: ['t'], data: rows })
  const column_aliases = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`a${i}`, 'text']))
  const body = JSON.stringify({ columns: { column_aliases } })
  const asked = `POST /v1/table/t/query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  const silent = await begin(port, '')
  silent.socket.pause()
  silent.socket.write(asked)
  await expect.poll(held).toBeGreaterThan(1_000_000)
  expect(await held()).toBeLessThan(100_000_000)
  // Nobody reads it, so it is broken off.
  await expect.poll(held).toBe(0)
  const whole = await ask('POST', '/v1/table/t/query', { columns: { column_aliases } })
  expect(whole.status).toBe(200)
  expect(whole.bytes.length).toBeGreaterThan(3_000 * 2_000 * 20)
  expect(whole.headers.get('content-length')).toBeNull()
  await expect.poll(held).toBe(0)
  const short = await ask('POST', '/v1/table/t/query', { limit: 1 })
  expect(Number(short.headers.get('content-length'))).toBe(short.bytes.length)
})

it('answers and bodies that can never fit are refused, and say so', async () => {
  const { catalog, ask } = await running({}, { resultBytes: 1_000_000, decodedBytes: 1_000_000 })
  const rows = Array.from({ length: 300 }, (_, i) => ({ n: i, text: 'x'.repeat(1_000) }))
  await catalog.createTable({ id: ['t'], data: rows })
  const column_aliases = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`a${i}`, 'text']))
  const refused = await ask('POST', '/v1/table/t/query', { columns: { column_aliases } })
  expect(refused.status).toBe(400)
  expect(refused.text).toMatch(/would take more than 1,000,000 bytes/)
  const large = hostileBody({ codec: 'zstd', bytes: 2_000_000, text: true })
  const body = await ask('POST', '/v1/table/u/create', large, arrowStream)
  expect(body.status).toBe(400)
  expect(body.text).toMatch(/claims to take 2,000,\d+ bytes when decoded, and 1,000,000 are the most/)
})

it('many computed columns of long values are made for few rows at a time', async () => {
  const limits = { bodyBytes: 60 << 20, arrowBytes: 1 << 20, jsonBytes: 1 << 20 }
  const { catalog, ask, held } = await running({ limits })
  await catalog.createTable({ id: ['t'], data: Array.from({ length: 32 }, (_, i) => ({ x: i, s: 'x' })) })
  // About 1 MB of each column for all rows.
  const column_aliases = Object.fromEntries(
    Array.from({ length: 100 }, (_, i) => [`a${i}`, `repeat(s, ${30_000 + i})`]),
  )
  const answer = await ask('POST', '/v1/table/t/query', { columns: { column_aliases } })
  expect([answer.status, answer.status === 200 ? '' : answer.text]).toStrictEqual([200, ''])
  expect(answer.bytes.length).toBeGreaterThan(32 * 100 * 30_000)
  await expect.poll(held).toBe(0)
})

it('compressed bodies wait for the memory that they take when decoded', async () => {
  const { catalog, ask, held } = await running({
    limits: { bodyBytes: 20_000_000, arrowBytes: 1_000_000, jsonBytes: 1_000_000 },
  })
  const body = hostileBody({ codec: 'lz4', bytes: 8_000_000 })
  expect(body.length).toBeLessThan(64 * 1024)
  const most = { held: 0 }
  const look = async () => {
    most.held = Math.max(most.held, await held().catch(() => 0))
  }
  const watching = setInterval(look, 5)
  onTestFinished(() => clearInterval(watching))
  const replies = await Promise.all(
    Array.from({ length: 6 }, (_, i) => ask('POST', `/v1/table/t${i}/create`, body, arrowStream)),
  )
  expect(replies.map(({ status }) => status)).toStrictEqual([200, 200, 200, 200, 200, 200])
  expect((await catalog.listTables({ id: [] })).tables).toHaveLength(6)
  expect(most.held).toBeGreaterThanOrEqual(8_000_000)
  expect(most.held).toBeLessThanOrEqual(20_000_000)
  const never = await ask(
    'POST',
    '/v1/table/u/create',
    hostileBody({ codec: 'lz4', bytes: 24_000_000 }),
    arrowStream,
  )
  expect(never.status).toBe(400)
  expect(never.text).toMatch(/needs 24,\d+,\d+ bytes of memory, and all requests together have 20,000,000/)
})
