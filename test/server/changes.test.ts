import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { eventsOf, type ReceivedEvent } from '../../src/protocol/events.ts'
import { type ServeOptions, serve } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { take } from '../catalog/handle/watch-model.ts'
import { freePort } from '../support/free-port.ts'
import { fails } from '../support/refusals.ts'

const ada = 'correct-horse-battery'
const bob = 'another-horse-battery'
const auth = {
  tokens: [
    { token: ada, name: 'ada' },
    { token: bob, name: 'bob' },
  ],
}

async function running({ timeouts, ...options }: Partial<ServeOptions> = {}) {
  const catalog = await openCatalog('memory:')
  const server = await serve(catalog, {
    auth,
    port: 0,
    log: false,
    limits: { eventLoopDelay: 0 },
    // A server that waits for its clients to go would wait for the whole test.
    timeouts: { shutdown: 3_600_000, ...timeouts },
    ...options,
  })
  onTestFinished(async () => {
    await server.close()
    await catalog.close()
  })
  /** Opens a stream; `next` gives its events. */
  const listen = async (query = '', headers: Record<string, string> = {}) => {
    const stop = new AbortController()
    onTestFinished(() => stop.abort())
    const response = await fetch(`${server.url}/v1/changes${query}`, {
      headers: { authorization: `Bearer ${ada}`, ...headers },
      signal: stop.signal,
    })
    const events = response.body === null ? undefined : eventsOf(response.body)
    const next = async (): Promise<ReceivedEvent> => (await events!.next()).value!
    return { response, next, stop: () => stop.abort() }
  }
  return { catalog, server, listen }
}

test('changes come as server-sent events, and a client resumes by the id of the last one', async () => {
  const { catalog, listen } = await running()
  const { response, next } = await listen()
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  expect(response.headers.get('cache-control')).toBe('no-store')
  const first = await next()
  expect(first).toMatchObject({ kind: 'token', id: JSON.parse(first.data).token })
  await catalog.declareTable({ id: ['a'], context: { principal: 'eve' } })
  await catalog.declareTable({ id: ['b'] })
  const [a, b] = [await next(), await next()]
  expect(a.kind).toBe('message')
  expect(JSON.parse(a.data)).toEqual({
    token: a.id,
    timestamp_millis: expect.any(Number),
    transaction_id: expect.any(String),
    changes: [{ operation: 'DeclareTable', kind: 'table', id: ['a'], effect: 'created' }],
  })
  for (const again of [
    await listen('', { 'last-event-id': a.id! }),
    await listen(`?since=${a.id}`),
    // What a browser sends when it reconnects.
    await listen(`?since=${first.id}`, { 'last-event-id': a.id! }),
  ]) {
    await again.next()
    expect(await again.next()).toEqual(b)
  }
})

test('a stream gives what concerns an identifier, with any delimiter', async () => {
  const { catalog, listen } = await running()
  await catalog.createNamespace({ id: ['a'] })
  const streams = [await listen('?id=a%24t'), await listen('?id=a.t&delimiter=.'), await listen('?id=%24')]
  for (const { next } of streams) await next()
  await catalog.declareTable({ id: ['a', 'u'] })
  await catalog.declareTable({ id: ['a', 't'] })
  const named = async ({ next }: (typeof streams)[number]) => JSON.parse((await next()).data).changes[0].id
  expect(await named(streams[0]!)).toEqual(['a', 't'])
  expect(await named(streams[1]!)).toEqual(['a', 't'])
  expect(await named(streams[2]!)).toEqual(['a', 'u'])
})

test('what is wrong with a request is answered as a problem, before a stream begins', async () => {
  const { catalog, listen, server } = await running()
  await catalog.declareTable({ id: ['a'] })
  const other = await openCatalog('memory:')
  const foreign = await other.watch().token()
  await other.close()
  for (const [query, detail] of [
    ['?since=x', /no token/],
    [`?since=${foreign}`, /another catalog/],
    ['?sinse=x', /takes no query parameter/],
    ['?id=a&id=b', /more than once/],
    ['?id=a%24%24b', /empty segment/],
    ['?delimiter=', /delimiter/],
  ] as const) {
    const { response } = await listen(query)
    expect([query, response.status]).toEqual([query, 400])
    expect(await response.json()).toMatchObject({ detail: expect.stringMatching(detail) })
  }
  expect((await fetch(`${server.url}/v1/changes`)).status).toBe(401)
  const { response: inside } = await listen('', { 'x-tabularium-transaction': '01ARZ3NDEKTSV4RRFFQ69G5FAV' })
  expect(inside.status).toBe(406)
  const posted = await fetch(`${server.url}/v1/changes`, { method: 'POST', headers: { 'x-api-key': ada } })
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  const head = await fetch(`${server.url}/v1/changes`, { method: 'HEAD', headers: { 'x-api-key': ada } })
  expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
})

test('a caller sees no more than the authorize hook lets it read, and not who the others are', async () => {
  const { catalog, listen } = await running({
    authorize: (principal, _operation, id) => principal?.name === 'ada' || id?.[0] !== 'secret',
  })
  const streams = [await listen(), await listen('', { authorization: `Bearer ${bob}` })]
  for (const { next } of streams) await next()
  await catalog.createNamespace({ id: ['secret'], context: { principal: 'eve' } })
  await catalog.declareTable({ id: ['open'] })
  const [all, some] = streams
  expect((await all!.next()).data).toMatch(/secret/)
  expect((await all!.next()).data).toMatch(/open/)
  const { data } = await some!.next()
  expect(data).toMatch(/open/)
  expect(data).not.toMatch(/secret|eve/)
})

test('a caller is told which changes are its own', async () => {
  const { server, listen } = await running()
  const streams = [await listen(), await listen('', { authorization: `Bearer ${bob}` })]
  for (const { next } of streams) await next()
  const response = await fetch(`${server.url}/v1/namespace/a/create`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${ada}`, 'x-request-id': 'mine' },
    body: '{}',
  })
  expect(response.status).toBe(200)
  const [own, other] = streams
  expect(JSON.parse((await own!.next()).data)).toMatchObject({ principal: 'ada', request_id: 'mine' })
  expect((await other!.next()).data).not.toMatch(/ada|mine|principal|request_id/)
})

test('streams are bounded, for each caller and in all, and make room when they end', async () => {
  const { listen } = await running({ limits: { streams: 3, streamsPerCaller: 2 } })
  const status = async (token: string) => {
    const stream = await listen('', { authorization: `Bearer ${token}` })
    return { ...stream, status: stream.response.status }
  }
  const first = await status(ada)
  expect(first.status).toBe(200)
  expect((await status(ada)).status).toBe(200)
  const refused = await status(ada)
  expect([refused.status, refused.response.headers.get('retry-after')]).toEqual([503, '1'])
  expect((await status(bob)).status).toBe(200)
  expect((await status(bob)).status).toBe(503)
  first.stop()
  await expect.poll(async () => (await status(bob)).status).toBe(200)
})

test('many streams at once warn of no leak', async () => {
  const warnings: string[] = []
  const note = ({ name, message }: Error) => void warnings.push(`${name}: ${message}`)
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))
  const { catalog, listen } = await running()
  const streams = await Promise.all(Array.from({ length: 32 }, () => listen()))
  for (const { next } of streams) await next()
  await catalog.declareTable({ id: ['t'] })
  for (const { next } of streams) expect((await next()).kind).toBe('message')
  expect(warnings).toEqual([])
})

test('a stream without changes goes on telling where it is, and ends with the server', async () => {
  const { server, listen } = await running({ timeouts: { download: 150 } })
  const { next } = await listen()
  const { id } = await next()
  for (let i = 0; i < 3; i++) expect(await next()).toMatchObject({ kind: 'token', id })
  const closed = server.close()
  let last = await next()
  while (last.kind === 'token') last = await next()
  expect(last).toMatchObject({ kind: 'end', id })
  await closed
})

test('a client goes on over a restart of the server, and loses nothing', async () => {
  const catalog = await openCatalog('memory:')
  const port = await freePort()
  let server = await serve(catalog, { limits: { eventLoopDelay: 0 }, auth, port, log: false })
  await using client = connect(server.url, { token: ada })
  const watch = client.watch()
  await watch.token()
  const seen: string[] = []
  const reading = (async () => {
    for await (const { changes } of watch) {
      seen.push(...changes.map(({ id }) => id[0]!))
      if (seen.length === 30) return
    }
  })()
  for (let i = 0; i < 30; i++) {
    await catalog.declareTable({ id: [`t${i}`] })
    if (i % 10 !== 4) continue
    await server.close()
    server = await serve(catalog, { limits: { eventLoopDelay: 0 }, auth, port, log: false })
  }
  await reading
  expect(seen).toEqual(Array.from({ length: 30 }, (_, i) => `t${i}`))
  await server.close()
  await catalog.close()
})

test('a client without retries tells that the stream ended', async () => {
  const { server, catalog } = await running()
  await using client = connect(server.url, { token: ada, retries: 0 })
  const watch = client.watch()
  await watch.token()
  await catalog.declareTable({ id: ['a'] })
  expect(await take(watch, 1)).toHaveLength(1)
  const refused = fails(watch.next(), 'ServiceUnavailable', /Watch again/)
  await server.close()
  await refused
})
