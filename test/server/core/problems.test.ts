import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import { statusOfCode } from '../../../src/protocol/status.ts'
import { catalogPlugin, serve } from '../../../src/server/index.ts'
import { CatalogError, type ErrorCode, errorNumbers, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { arrowRows, arrowStream, expectProblem, serveInMemory } from '../support/ask.ts'

const json = { 'content-type': 'application/json' }

describe('every failure is an error body', () => {
  it.each([
    ['an unknown path', 'GET', '/nothing', 404, 0],
    ['an unknown path of the API', 'POST', '/v1/table/x/nothing', 404, 0],
    ['an unknown version of the API', 'GET', '/v2/table', 404, 0],
    ['a method nothing takes', 'DELETE', '/v1/table/x', 404, 0],
    ['a broken percent-encoding', 'POST', '/v1/table/%zz/describe', 400, 13],
    ['half a UTF-8 character', 'POST', '/v1/table/%c3/describe', 400, 13],
    ['an identifier with an empty name', 'POST', '/v1/table/a$$b/describe', 400, 13],
    ['the root as a table', 'POST', '/v1/table/$/describe', 400, 13],
    ['a control character in a name', 'POST', '/v1/table/a%00b/describe', 400, 13],
    ['a name that is too long', 'POST', `/v1/table/${'x'.repeat(256)}/describe`, 400, 13],
    ['a depth that is too great', 'POST', `/v1/table/${'x$'.repeat(33)}x/describe`, 400, 13],
  ] as const)('%s', async (_what, method, path, status, code) => {
    const { ask } = await serveInMemory()
    expectProblem(await ask(method, path), status, code, path)
  })

  it.each([
    ['malformed JSON', '{"a":', json],
    ['JSON with a tail', '{} x', json],
    ['text', 'hello', json],
    ['a list', '[]', json],
    ['a number', '7', json],
    ['a string', '"x"', json],
    ['the wrong type', '{}', { 'content-type': 'text/plain' }],
    ['a form', 'a=b', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['Arrow', '{}', arrowStream],
    ['a type that is none', '{}', { 'content-type': 'json' }],
    ['compression', '{}', { ...json, 'content-encoding': 'gzip' }],
    ['a field of the wrong type', '{"with_table_uri":"yes"}', json],
    ['a context that is no map of strings', '{"context":{"a":1}}', json],
    ['an identity that is no object', '{"identity":"me"}', json],
  ])('a body that is %s', async (_what, body, headers) => {
    const { ask } = await serveInMemory()
    expectProblem(await ask('POST', '/v1/table/x/describe', body, headers), 400, 13, '/v1/table/x/describe')
  })

  it('a body of the wrong type where rows belong', async () => {
    const { ask } = await serveInMemory()
    expectProblem(
      await ask('POST', '/v1/table/x/create', '{}', json),
      400,
      13,
      '/v1/table/x/create',
      /vnd\.apache\.arrow/,
    )
  })

  it.each(Object.keys(errorNumbers) as ErrorCode[])('%s has the status of the design', async (code) => {
    const cause = new Error('at /srv/catalog/data.mdb: password=hunter2')
    const { ask } = await serveInMemory(
      {},
      {
        authorize: () => {
          throw new CatalogError(code, 'What was wrong. What to do.', { cause })
        },
      },
    )
    const path = '/v1/namespace/$/describe'
    const reply = await ask('POST', `${path}?delimiter=$`, {})
    const status = statusOfCode[code]
    expectProblem(
      reply,
      status,
      errorNumbers[code],
      path,
      code === 'Internal' ? /request id/ : /^What was wrong\. What to do\.$/,
    )
    expect(reply.text).not.toMatch(/hunter2|data\.mdb|at .*\.ts/)
    expect(reply.headers.get('retry-after')).toBe(status === 503 ? '1' : null)
  })

  it('what is unexpected tells nothing but the request id', async () => {
    const { ask, catalog } = await serveInMemory()
    Object.assign(catalog, { describeNamespace: () => Promise.reject(new TypeError('secret internals')) })
    const path = '/v1/namespace/$/describe'
    const reply = await ask('POST', path, {}, { 'x-request-id': 'req-77' })
    expectProblem(reply, 500, 18, path, /req-77/)
    expect(reply.text).not.toMatch(/secret internals|TypeError/)
  })
})

it('a wrong method is told the right ones', async () => {
  const { ask } = await serveInMemory()
  expect((await ask('DELETE', '/v1/table/x/count_rows')).headers.get('allow')).toBe(
    'POST, GET, HEAD, OPTIONS',
  )
})

it('TRACE is not a method, and nothing is sent back', async () => {
  const catalog = closedAfterwards(await openCatalog('memory:'))
  const server = await serve(catalog, { limits: { eventLoopDelay: 0 }, auth: false, port: 0, log: false })
  onTestFinished(() => server.close())
  const app = fastify()
  await app.register(catalogPlugin, { catalog, auth: false })
  onTestFinished(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  for (const base of [server.url, `http://127.0.0.1:${port}`]) {
    const sent = request(`${base}/v1/table/x/describe`, {
      method: 'TRACE',
      headers: { 'x-secret': 'hunter2' },
    }).end()
    const [reply] = (await once(sent, 'response')) as [IncomingMessage]
    const text = (await reply.toArray()).join('')
    expect([reply.statusCode, reply.headers.allow]).toStrictEqual([405, 'POST, OPTIONS'])
    expect(JSON.parse(text)).toMatchObject({ status: 405, type: '/errors/unsupported-operation' })
    expect(text).not.toMatch(/hunter2/)
  }
})

describe('operations that the catalog does not have', () => {
  it.each([
    ['backfill_column', arrowStream, arrowRows()],
    ['backfill_column', { 'content-type': 'text/plain' }, 'x'],
  ] as const)('say so whatever the body is: %s with %j', async (verb, headers, body) => {
    const { ask } = await serveInMemory()
    const path = `/v1/table/t/${verb}`
    expectProblem(await ask('POST', path, body, headers), 406, 0, path, /not supported/)
  })
})

describe('limits', () => {
  it('bound JSON bodies, said or unsaid', async () => {
    const { ask, handler } = await serveInMemory({ limits: { jsonBytes: 1_000 } })
    const path = '/v1/namespace/$/describe'
    const body = (size: number) => `{"context":{"a":"${'x'.repeat(size - 20)}"}}`
    expect(body(1_000)).toHaveLength(1_000)
    expect((await ask('POST', path, body(1_000), json)).status).toBe(200)
    expectProblem(await ask('POST', path, body(1_001), json), 400, 13, path, /larger than 1,000 bytes/)
    const chunked = (size: number) =>
      handler(
        new Request(`http://localhost${path}`, {
          method: 'POST',
          headers: json,
          body: new Blob([body(size)]).stream(),
          duplex: 'half',
        } as RequestInit),
      )
    expect((await chunked(1_000)).status).toBe(200)
    expect((await chunked(1_001)).status).toBe(400)
  })

  it('bound Arrow bodies on their own', async () => {
    const { ask } = await serveInMemory({ limits: { jsonBytes: 10, arrowBytes: 2_000 } })
    expect((await ask('POST', '/v1/table/small/create', arrowRows(), arrowStream)).status).toBe(200)
    const large = arrowRows({ a: Array.from({ length: 1_000 }, (_, i) => i) })
    expectProblem(
      await ask('POST', '/v1/table/large/create', large, arrowStream),
      400,
      13,
      '/v1/table/large/create',
      /larger/,
    )
  })

  it('bound deep JSON', async () => {
    const { ask } = await serveInMemory()
    const deep = (open: string, close: string) => `${open.repeat(100_000)}1${close.repeat(100_000)}`
    for (const value of [deep('[', ']'), deep('{"a":', '}')]) {
      for (const field of ['vector', 'columns', 'identity', 'context', 'id', 'other']) {
        const reply = await ask('POST', '/v1/table/x/query', `{"${field}":${value}}`, json)
        expect(reply.status, field).toBeGreaterThanOrEqual(400)
        expect(reply.status, field).toBeLessThan(500)
      }
    }
  })

  it('bound the requests of one caller, in the words of the document', async () => {
    const { ask } = await serveInMemory({
      auth: { tokens: ['token-of-caller-one', 'token-of-caller-two'] },
      rateLimit: { requests: 3, perMillis: 60_000 },
    })
    const path = '/v1/namespace/$/describe'
    const as = (token: string) => ask('POST', path, {}, { 'x-api-key': token })
    for (let i = 0; i < 3; i++) expect((await as('token-of-caller-one')).status).toBe(200)
    const reply = await as('token-of-caller-one')
    expectProblem(reply, 503, 21, path)
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(50)
    expect((await as('token-of-caller-two')).status).toBe(200)
  })

  it('count no request that failed with the hook for refused ones', async () => {
    const onRefused = () => {
      throw new Error('the audit log is full')
    }
    const auth = { tokens: ['the-right-token-1'] }
    const { ask } = await serveInMemory({ auth, onRefused, limits: { inFlight: 2 } })
    const path = '/v1/namespace/$/list'
    for (const [method, refused] of [
      ['GET', path],
      ['POST', '/v1/table/t/query'],
    ] as const)
      for (let i = 0; i < 3; i++) await expect(ask(method, refused)).rejects.toThrow('the audit log is full')
    expect((await ask('GET', path, undefined, { 'x-api-key': 'the-right-token-1' })).status).toBe(200)
  })

  it('bound what is under way at once, and let in again who comes later', async () => {
    const { ask, catalog } = await serveInMemory({ limits: { inFlight: 2, retryAfter: 7 } })
    const held: (() => void)[] = []
    const describe = catalog.describeNamespace
    Object.assign(catalog, {
      describeNamespace: async (request: never) => {
        await new Promise<void>((resolve) => held.push(resolve))
        return describe(request)
      },
    })
    const path = '/v1/namespace/$/describe'
    const running = [ask('POST', path, {}), ask('POST', path, {})]
    await expect.poll(() => held.length).toBe(2)
    const refused = await ask('POST', path, {})
    expectProblem(refused, 503, 21, path)
    expect(refused.headers.get('retry-after')).toBe('7')
    expect((await ask('GET', '/healthz')).status).toBe(200)
    for (const release of held.splice(0)) release()
    for (const reply of await Promise.all(running)) expect(reply.status).toBe(200)
    const later = ask('POST', path, {})
    await expect.poll(() => held.length).toBe(1)
    held[0]!()
    expect((await later).status).toBe(200)
  })
})
