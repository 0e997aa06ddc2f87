import { once } from 'node:events'
import { connect as dial } from 'node:net'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { arrowFileType, arrowStreamType, bytesType, jsonType, wire } from '../../src/protocol/wire.ts'
import { serve } from '../../src/server/index.ts'
import { type Catalog, openCatalog } from '../../src/tabularium/index.ts'
import { bytesUsed, collect } from '../support/garbage.ts'
import { limitEach } from '../support/time-limit.ts'
import { type Ask, arrowRows, asking } from './support/ask.ts'

// It sends hundreds of broken requests, and collects garbage.
limitEach(120)

const half = 2_000
const atOnce = 16
const mebibyte = 1024 * 1024

const rows = Buffer.from(arrowRows({ a: Array.from({ length: 3_000 }, (_, i) => i / 3) }))
const manyRows = Buffer.concat([rows, Buffer.alloc(300_000, 'garbage')])

/** Bodies are described rather than kept, so that what is measured is not the requests themselves. */
const body = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('text' as const), text: fc.json() }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('bytes' as const), bytes: fc.uint8Array({ maxLength: 300 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('text' as const), text: fc.string() }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('rows' as const), length: fc.nat(rows.length - 1) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('large' as const),
      length: fc.integer({ min: 30_000, max: manyRows.length }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('deep' as const), depth: fc.nat(50_000) }) },
)
type Body = typeof body extends fc.Arbitrary<infer Value> ? Value : never

const garbage = fc.record({
  route: fc.constantFrom(...Object.values(wire)),
  segment: fc.constantFrom('missing', 'n$missing', 't', 'n', '$', '%zz', '%00', '..%2F..', '%F0%9F%92%A9'),
  query: fc.constantFrom(
    '',
    '',
    '?limit=-1',
    '?delimiter=',
    '?page_token=x',
    '?properties=%7B',
    '?%zz=%',
    '?mode=x',
  ),
  body,
  type: fc.constantFrom(
    jsonType,
    jsonType,
    arrowStreamType,
    arrowFileType,
    bytesType,
    'text/html',
    ';',
    'x/',
  ),
  encoding: fc.option(fc.constantFrom('gzip', 'br', 'identity'), { freq: 10, nil: undefined }),
  /** How it gets there: whole; in pieces and broken off; with headers too large; as no HTTP at all. */
  way: fc.constantFrom('whole', 'whole', 'whole', 'whole', 'broken', 'broken chunk', 'headers', 'no HTTP'),
  cut: fc.nat(99).map((percent) => percent / 100),
})
type Garbage = typeof garbage extends fc.Arbitrary<infer Value> ? Value : never

it('garbage of any kind is answered, and leaves nothing behind', async () => {
  await using catalog = await openCatalog('memory:')
  const server = await serve(catalog, {
    auth: false,
    port: 0,
    log: false,
    limits: { jsonBytes: 200_000, arrowBytes: 250_000, eventLoopDelay: 0 },
  })
  onTestFinished(() => server.close())
  await catalog.createNamespace({ id: ['n'] })
  const ask = asking(fetch, server.url)
  const port = Number(new URL(server.url).port)
  const all = fc.sample(garbage, 2 * half)

  const before = await statuses(ask, port, all.slice(0, half), catalog)
  const first = await held()
  const after = await statuses(ask, port, all.slice(half), catalog)
  const second = await held()
  for (const seen of [before, after])
    expect([...seen.keys()]).toEqual(expect.arrayContaining([400, 404, 406]))
  expect(second - first).toBeLessThan(0.1 * first + 8 * mebibyte)

  expect((await ask('POST', '/v1/namespace/n/describe', {})).json).toEqual({ properties: {} })
  // What a client broke off is over for the server a moment later.
  await expect.poll(async () => gauge(ask, 'tabularium_requests_in_flight')).toBe(0)
  expect(await gauge(ask, 'tabularium_body_bytes')).toBe(0)
})

/** Sends all of it, some at a time, and counts the statuses of the answers. */
async function statuses(
  ask: Ask,
  port: number,
  requests: readonly Garbage[],
  catalog: Catalog,
): Promise<Map<number, number>> {
  const seen = new Map<number, number>()
  let next = 0
  const sender = async () => {
    for (let given = requests[next++]; given !== undefined; given = requests[next++]) {
      const status = given.way === 'whole' ? await sendWhole(ask, given) : await sendBroken(port, given)
      seen.set(status, (seen.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, sender))
  // What little of it was taken as a change must not count.
  const { tables } = await catalog.listAllTables({ include_declared: true })
  for (const name of tables) await catalog.deregisterTable({ id: name.split('$') })
  await catalog.createNamespace({ id: ['n'], mode: 'ExistOk' })
  return seen
}

function pathOf({ route, segment, query }: Garbage): string {
  return route.path.replace('{id}', () => segment).replace('{index_name}', 'i') + query
}

function bytesOf(given: Body): Uint8Array {
  if (given.kind === 'text') return Buffer.from(given.text)
  if (given.kind === 'bytes') return given.bytes
  if (given.kind === 'rows') return rows.subarray(0, given.length)
  if (given.kind === 'large') return manyRows.subarray(0, given.length)
  return Buffer.from('['.repeat(given.depth) + ']'.repeat(given.depth))
}

async function sendWhole(ask: Ask, given: Garbage): Promise<number> {
  const { route, type, encoding } = given
  const path = pathOf(given)
  const [method] = route.methods
  const headers = {
    'content-type': type,
    ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
  }
  const reply = await ask(method, path, method === 'GET' ? undefined : bytesOf(given.body), headers)
  const what = `${method} ${path} ${type} ${given.body.kind}: ${reply.status} ${reply.text.slice(0, 300)}`
  expect(reply.status < 500 || reply.status === 503, what).toBe(true)
  if (reply.status === 200) return 200
  expect(reply.headers.get('content-type'), what).toBe('application/json; charset=utf-8')
  expect(reply.json, what).toMatchObject({ status: reply.status, detail: expect.stringMatching(/./) })
  return reply.status
}

/** Sends what is no whole request, and answers with the status that came back; 0 if none did. */
async function sendBroken(port: number, given: Garbage): Promise<number> {
  const socket = dial({ port, host: '127.0.0.1' })
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  // The other end may cut the connection while this one still writes.
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  const bytes = Buffer.from(bytesOf(given.body))
  const head = `${given.route.methods[0]} ${pathOf(given)} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${given.type}\r\n`
  const part = bytes.subarray(0, Math.floor(bytes.length * given.cut))
  if (given.way === 'headers') {
    socket.end(`${head}x-large: ${'x'.repeat(17_000 + given.cut * 50_000)}\r\n\r\n`)
  } else if (given.way === 'no HTTP') {
    socket.end(Buffer.concat([bytes, Buffer.from('\r\n\r\n')]))
  } else if (given.way === 'broken chunk') {
    socket.write(`${head}transfer-encoding: chunked\r\n\r\n${part.length.toString(16)}\r\n`)
    socket.end(Buffer.concat([part, Buffer.from('zz\r\n')]))
  } else {
    socket.write(`${head}content-length: ${bytes.length + 1}\r\n\r\n`)
    socket.write(part, () => (given.cut < 0.5 ? socket.destroy() : socket.end()))
  }
  await closed
  if (text === '') return 0
  // Of several answers on the connection, the last one is to the part that was broken.
  const answer = text.slice(text.lastIndexOf('HTTP/1.1 '))
  const status = Number(answer.slice(9, 12))
  const reason = `${given.way} ${pathOf(given)}: ${text.slice(0, 500)}`
  expect(status < 500 || status === 503, reason).toBe(true)
  if (status >= 400) expect(JSON.parse(answer.split('\r\n\r\n')[1]!), reason).toMatchObject({ status })
  return status
}

async function gauge(ask: Ask, name: string): Promise<number> {
  const { text } = await ask('GET', '/metrics')
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)![1])
}

/** Bytes that are held once all garbage is collected, in the heap and outside. */
async function held(): Promise<number> {
  // What ends in callbacks is let go of a few turns of the event loop later.
  for (let i = 0; i < 5; i++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    collect()
  }
  return bytesUsed()
}
