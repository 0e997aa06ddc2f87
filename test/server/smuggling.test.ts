import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import fastify from 'fastify'
import { expect, it, onTestFinished } from 'vitest'
import { icebergRest } from '../../src/iceberg/index.ts'
import { catalogPlugin, fetchHandler, type PluginOptions, serve } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'

/* Requests that a proxy may read in another way than this server, and so another number of requests. */

const token = 'a-long-random-token'

async function running() {
  const catalog = await openCatalog('memory:')
  const server = await serve(catalog, {
    limits: { eventLoopDelay: 0 },
    auth: { tokens: [token] },
    port: 0,
    log: false,
  })
  onTestFinished(async () => {
    await server.close()
    await catalog.close()
  })
  const port = Number(new URL(server.url).port)
  const send = (bytes: string, breaksOff = false) => exchanged(port, bytes, breaksOff)
  return { catalog, send }
}

/** What comes back until the server ends the connection. */
async function exchanged(port: number, bytes: string, breaksOff = false) {
  const socket = connect({ port, host: '127.0.0.1' })
  onTestFinished(() => void socket.destroy())
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  socket.write(Buffer.from(bytes, 'latin1'), () => {
    if (breaksOff) socket.destroy()
  })
  await closed
  return { text, statuses: Array.from(text.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => Number(status)) }
}

const allowed = `host: localhost\r\nauthorization: Bearer ${token}\r\n`
const begin = `POST /v1/namespace/outer/create HTTP/1.1\r\n${allowed}`
/** The request that a shape would hide. It would end the connection, too. */
const hidden = `POST /v1/namespace/inner/create HTTP/1.1\r\n${allowed}connection: close\r\ncontent-length: 2\r\n\r\n{}`

const shapes: Readonly<Record<string, string>> = {
  'a length and chunks': `${begin}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
  'chunks and a length': `${begin}transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n${hidden}`,
  'two lengths': `${begin}content-length: 2\r\ncontent-length: 3\r\n\r\n{} ${hidden}`,
  'the same length twice': `${begin}content-length: 2\r\ncontent-length: 2\r\n\r\n{}${hidden}`,
  'a list of lengths': `${begin}content-length: 2, 2\r\n\r\n{}${hidden}`,
  'a length with a sign': `${begin}content-length: +2\r\n\r\n{}${hidden}`,
  'a negative length': `${begin}content-length: -1\r\n\r\n${hidden}`,
  'a length in hexadecimal': `${begin}content-length: 0x2\r\n\r\n{}${hidden}`,
  'a length beyond all numbers': `${begin}content-length: 99999999999999999999\r\n\r\n{}${hidden}`,
  'a space before the colon': `${begin}content-length : 2\r\n\r\n{}${hidden}`,
  'a folded header': `${begin}content-length:\r\n 2\r\n\r\n{}${hidden}`,
  'an encoding that is not chunked': `${begin}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n${hidden}`,
  'an encoding after chunked': `${begin}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n${hidden}`,
  'two encodings': `${begin}transfer-encoding: chunked\r\ntransfer-encoding: x\r\n\r\n0\r\n\r\n${hidden}`,
  'a chunk with a sign': `${begin}transfer-encoding: chunked\r\n\r\n+2\r\n{}\r\n0\r\n\r\n${hidden}`,
  'a chunk size beyond all numbers': `${begin}transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n${hidden}`,
  'a chunk that is longer than it says': `${begin}transfer-encoding: chunked\r\n\r\n2\r\n{}x\r\n0\r\n\r\n${hidden}`,
  'a chunk that ends in a line feed': `${begin}transfer-encoding: chunked\r\n\r\n2\n{}\n0\n\n${hidden}`,
  'lines that end in a carriage return': `${begin}x: y\rcontent-length: 2\r\n\r\n{}${hidden}`,
  'a zero byte in a header': `${begin}x: a\0b\r\ncontent-length: 2\r\n\r\n{}${hidden}`,
  'a header without a name': `${begin}: y\r\ncontent-length: 2\r\n\r\n{}${hidden}`,
  'no such version of HTTP': `POST /v1/namespace/outer/create HTTP/3.7\r\n${allowed}content-length: 2\r\n\r\n{}${hidden}`,
}

it.each(Object.keys(shapes))('%s: no request, and none is hidden', async (name) => {
  const { catalog, send } = await running()
  const { statuses, text } = await send(shapes[name]!)
  expect(statuses.length, text).toBeLessThanOrEqual(1)
  for (const status of statuses) expect(status).toBe(400)
  expect((await catalog.listNamespaces({ id: [] })).namespaces).not.toContain('inner')
})

it('as many headers count as there is room for', async () => {
  const { send } = await running()
  const many = 'a:b\r\n'.repeat(2_500)
  const { statuses } = await send(
    `GET /v1/table HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${many}authorization: Bearer ${token}\r\n\r\n`,
  )
  expect(statuses).toStrictEqual([200])
})

/** The statuses of two headers of a name, the right one first and the right one last. */
const twice: Readonly<Record<string, readonly [value: string, first: number, last: number]>> = {
  authorization: [`Bearer ${token}`, 200, 401],
  'x-api-key': [token, 401, 401],
  'content-type': ['application/json', 200, 400],
  'x-tabularium-transaction': ['01JDZ6Y4M8Q3V0S1T2R3N4P5K6', 400, 400],
}

it.each(Object.keys(twice))('a second %s does not count', async (name) => {
  const { catalog, send } = await running()
  const [value, first, last] = twice[name]!
  const credentials = first === 401 || name === 'authorization' ? '' : `authorization: Bearer ${token}\r\n`
  for (const [values, expected] of [
    [[value, 'other'], first],
    [['other', value], last],
  ] as const) {
    const headers = values.map((given) => `${name}: ${given}\r\n`).join('')
    const { statuses, text } = await send(
      `POST /v1/namespace/n/create HTTP/1.1\r\nhost: localhost\r\n${credentials}${headers}connection: close\r\ncontent-length: 2\r\n\r\n{}`,
    )
    expect(statuses, text).toStrictEqual([expected])
    if (expected === 200) await catalog.dropNamespace({ id: ['n'] })
  }
  expect((await catalog.listNamespaces({ id: [] })).namespaces).toStrictEqual([])
})

it('a body counts after however many headers', async () => {
  const { catalog, send } = await running()
  const many = 'a:b\r\n'.repeat(2_500)
  const body = '{"properties":{"a":"b"}}'
  const { statuses } = await send(
    `${begin}connection: close\r\n${many}content-length: ${body.length}\r\n\r\n${body}`,
  )
  expect(statuses).toStrictEqual([200])
  expect((await catalog.describeNamespace({ id: ['outer'] })).properties).toStrictEqual({ a: 'b' })
})

it('an upload that breaks off leaves its idempotency key free', async () => {
  const { catalog, send } = await running()
  const keyed = `${begin}connection: close\r\nidempotency-key: one-key-for-all\r\n`
  const body = '{"properties":{"a":"b"}}'
  const cut = `${keyed}content-length: ${body.length}\r\n\r\n${body.slice(0, 10)}`
  await Promise.all(Array.from({ length: 5 }, () => send(cut, true)))
  const whole = `${keyed}content-length: ${body.length}\r\n\r\n${body}`
  for (let n = 0; n < 2; n++) expect((await send(whole)).statuses).toStrictEqual([200])
  expect((await catalog.listNamespaces({ id: [] })).namespaces).toStrictEqual(['outer'])
})

it('HTTP/1.0 is answered without chunks, and the connection ends', async () => {
  const { catalog, send } = await running()
  await catalog.createTable({ id: ['t'], data: [{ n: 1 }] })
  const { text } = await send(
    `POST /v1/table/t/query HTTP/1.0\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`,
  )
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nARROW1[\s\S]*ARROW1$/)
  expect(text).not.toMatch(/transfer-encoding/i)
})

const adapters = {
  serve: async ({ catalog, ...options }: PluginOptions) => {
    const server = await serve(catalog, { ...options, port: 0, log: false })
    return { port: Number(new URL(server.url).port), close: () => server.close() }
  },
  'the plugin of Fastify': async (options: PluginOptions) => {
    const app = fastify()
    await app.register(catalogPlugin, { ...options, page: true })
    return { port: Number(new URL(await app.listen({ port: 0 })).port), close: () => app.close() }
  },
  // As frameworks over Node do, it hands over all values of a header.
  'the handler of requests': async ({ catalog, ...options }: PluginOptions) => {
    const handle = await fetchHandler(catalog, options)
    const server = createServer(async ({ rawHeaders, url, method = '' }, response) => {
      const headers = new Headers()
      for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i]!, rawHeaders[i + 1]!)
      const body = method === 'POST' ? Buffer.from('{}') : null
      const request = new Request(`http://localhost${url}`, { method, headers, body })
      const answer = await handle(request, { remoteAddress: '127.0.0.1' })
      response.writeHead(answer.status).end(await answer.text())
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return { port: (server.address() as AddressInfo).port, close: async () => server.close() }
  },
}

it.each(Object.keys(adapters) as (keyof typeof adapters)[])(
  'several hosts are refused together by %s, on each path, and what they ask is not done',
  async (adapter) => {
    const catalog = await openCatalog('memory:')
    const { port, close } = await adapters[adapter]({
      catalog,
      auth: { tokens: [token] },
      limits: { eventLoopDelay: 0 },
      mounts: [icebergRest(catalog)],
    })
    onTestFinished(async () => {
      await close()
      await catalog.close()
    })
    const send = (head: string, hosts: readonly string[]) =>
      exchanged(
        port,
        `${head} HTTP/1.1\r\n${hosts.map((host, i) => `${i === 1 ? 'HOST' : 'host'}: ${host}\r\n`).join('')}authorization: Bearer ${token}\r\nconnection: close\r\n${head.startsWith('POST') ? 'content-length: 2\r\n\r\n{}' : '\r\n'}`,
      )
    const heads = [
      'POST /v1/namespace/outer/create',
      'GET /healthz',
      'GET /openapi.json',
      'GET /iceberg/v1/config',
    ]
    for (const head of [...heads, 'GET /']) {
      for (const hosts of [
        ['localhost', 'localhost'],
        ['localhost', 'other.example'],
        ['other.example', 'localhost'],
        ['a', 'b', 'c'],
      ]) {
        const { statuses, text } = await send(head, hosts)
        expect(statuses, text).toStrictEqual([400])
        expect(text).toContain('several Host headers')
      }
    }
    expect((await catalog.listNamespaces({ id: [] })).namespaces).toStrictEqual([])
    for (const head of heads) expect((await send(head, ['localhost'])).statuses).toStrictEqual([200])
  },
)

it('compressed bodies are refused, and never decompressed', async () => {
  const { send } = await running()
  for (const encoding of ['gzip', 'deflate', 'br', 'zstd', 'gzip, gzip', 'x']) {
    const { statuses, text } = await send(
      `${begin}connection: close\r\ncontent-encoding: ${encoding}\r\ncontent-length: 2\r\n\r\n{}`,
    )
    expect(statuses, text).toStrictEqual([400])
    expect(text).toContain('Send it without Content-Encoding')
  }
})
