import { type AddressInfo, connect } from 'node:net'
import fastify from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import { catalogPlugin } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'

async function mounted(prefix: string | undefined) {
  const catalog = await openCatalog('memory:')
  const app = fastify()
  app.get('/own', async () => ({ mine: true }))
  app.post('/own', async (request) => request.body)
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('x-app', 'yes')
  })
  await app.register(catalogPlugin, {
    catalog,
    auth: { tokens: ['token-token-token'] },
    ...(prefix ? { prefix } : {}),
  })
  onTestFinished(async () => {
    await app.close()
    await catalog.close()
  })
  const ask = (method: 'GET' | 'POST', url: string, payload?: object) =>
    app.inject({
      method,
      url,
      headers: { 'x-api-key': 'token-token-token' },
      ...(payload ? { payload } : {}),
    })
  return { app, ask, catalog }
}

describe.each([['/catalog'], ['/my/:tenant/catalog'], [undefined]])('mounted at %s', (prefix) => {
  const base = (prefix ?? '').replace(':tenant', 'acme')

  it('serves operations and pages there', async () => {
    const { ask } = await mounted(prefix)
    const created = await ask('POST', `${base}/v1/namespace/n/create`, {})
    expect([created.statusCode, created.headers['x-app']]).toStrictEqual([200, 'yes'])
    expect((await ask('GET', `${base}//v1/namespace/$/list/`)).json()).toStrictEqual({ namespaces: ['n'] })
    expect((await ask('GET', `${base}/healthz`)).json()).toStrictEqual({ status: 'ok' })
    expect((await ask('GET', `${base}/openapi.json`)).json()).toMatchObject({
      servers: [{ url: prefix ?? '/' }],
    })
    const missing = await ask('POST', `${base}/v1/table/t/describe`, {})
    expect([missing.statusCode, missing.json().code]).toStrictEqual([404, 4])
    expect((await ask('GET', `${base}/v1/nothing`)).json()).toMatchObject({
      type: '/errors/not-found-error',
      code: 0,
    })
  })

  it('leaves the application around it as it was', async () => {
    const { app, ask } = await mounted(prefix)
    expect((await ask('GET', '/own')).json()).toStrictEqual({ mine: true })
    expect((await ask('POST', '/own', { a: 1 })).json()).toStrictEqual({ a: 1 })
    expect((await ask('GET', '/other')).json()).toMatchObject({ error: 'Not Found', statusCode: 404 })
    expect(app.hasRequestDecorator('tabularium')).toBe(false)
  })
})

it('two catalogs live in one application', async () => {
  const app = fastify()
  const catalogs = [await openCatalog('memory:'), await openCatalog('memory:')]
  await catalogs[1]!.createNamespace({ id: ['second'] })
  for (const [i, catalog] of catalogs.entries())
    await app.register(catalogPlugin, {
      prefix: `/c${i}`,
      catalog,
      auth: false,
      rateLimit: { requests: 100, perMillis: 1_000 },
    })
  expect((await app.inject('/c0/v1/namespace/$/list')).json()).toStrictEqual({ namespaces: [] })
  expect((await app.inject('/c1/v1/namespace/$/list')).json()).toStrictEqual({ namespaces: ['second'] })
  await app.close()
  for (const catalog of catalogs) await catalog.close()
})

it('the log tells of what went wrong, and never of credentials', async () => {
  let log = ''
  const stream = {
    write: (line: string) => {
      log += line
    },
  }
  const app = fastify({ logger: { level: 'trace', stream } })
  const catalog = await openCatalog('memory:')
  Object.assign(catalog, { describeNamespace: () => Promise.reject(new Error('disk on fire')) })
  await app.register(catalogPlugin, { catalog, auth: { tokens: ['a-secret-token-of-ada'] } })
  const headers = {
    authorization: 'Bearer a-secret-token-of-ada',
    cookie: 'c=secret-cookie',
    'x-request-id': 'req-1',
  }
  const url = '/v1/namespace/$/describe'
  await app.inject({ method: 'POST', url, headers, payload: { identity: { api_key: 'secret-key' } } })
  await app.inject({ method: 'POST', url, headers: { 'x-api-key': 'a-secret-token-of-bob' } })
  await app.close()
  await catalog.close()
  expect(log).toMatch(/disk on fire/)
  expect(log).toMatch(/"requestId":"req-1","operation":"describeNamespace"/)
  expect(log).not.toMatch(/secret-/)
})

it('without credentials, answers no caller who hung up before the address was read', async () => {
  const app = fastify()
  const catalog = await openCatalog('memory:')
  await catalog.createNamespace({ id: ['kept'] })
  // An application may do slow work before the catalog has its turn. The address is lost with the connection.
  app.addHook('onRequest', async ({ raw }) => {
    await new Promise<void>((resolve) => {
      raw.socket.once('close', () => resolve())
    })
  })
  const refused: number[] = []
  const onRefused = ({ status }: { status: number }) => refused.push(status)
  await app.register(catalogPlugin, { prefix: '/catalog', catalog, auth: false, onRefused })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const caller = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  app.server.once('request', () => caller.resetAndDestroy())
  caller.write(
    'POST /catalog/v1/namespace/kept/drop HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n',
  )
  await expect.poll(() => refused).toStrictEqual([401])
  expect(await catalog.listNamespaces({ id: [] })).toStrictEqual({ namespaces: ['kept'] })
  await app.close()
  await catalog.close()
})
