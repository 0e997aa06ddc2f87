import fastify from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import { icebergRest } from '../../src/iceberg/index.ts'
import { catalogPlugin, fetchHandler } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { schema } from './rest.ts'

type Ask = (method: string, path: string, body?: object) => Promise<{ status: number; text: string }>

const token = 'token-token-token'
const headersOf = (body?: object) => ({
  authorization: `Bearer ${token}`,
  ...(body && { 'content-type': 'application/json' }),
})

async function throughFetch(): Promise<Ask> {
  const catalog = await openCatalog('memory:')
  const handle = await fetchHandler(catalog, { auth: { tokens: [token] }, mounts: [icebergRest(catalog)] })
  onTestFinished(async () => {
    await handle.close()
    await catalog.close()
  })
  return async (method, path, body) => {
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: headersOf(body),
      ...(body && { body: JSON.stringify(body) }),
    })
    const response = await handle(request)
    return { status: response.status, text: await response.text() }
  }
}

async function throughPlugin(prefix: string | undefined, base = prefix ?? ''): Promise<Ask> {
  const catalog = await openCatalog('memory:')
  const app = fastify()
  await app.register(catalogPlugin, {
    catalog,
    auth: { tokens: [token] },
    mounts: [icebergRest(catalog)],
    ...(prefix !== undefined && { prefix }),
  })
  onTestFinished(async () => {
    await app.close()
    await catalog.close()
  })
  return async (method, path, body) => {
    const asked = { method: method as 'GET', url: base + path, headers: headersOf(body) }
    const { statusCode, payload } = await app.inject({ ...asked, ...(body && { payload: body }) })
    return { status: statusCode, text: payload }
  }
}

describe.each<[string, () => Promise<Ask>]>([
  ['the fetch handler', throughFetch],
  ['a plugin without a prefix', () => throughPlugin(undefined)],
  ['a plugin with a prefix', () => throughPlugin('/catalog')],
  ['a plugin with a parameter in its prefix', () => throughPlugin('/my/:tenant/catalog', '/my/acme/catalog')],
])('Iceberg REST behind %s', (_name, open) => {
  it('has names of all characters, bodies, answers without a body, and errors of its own', async () => {
    const ask = await open()
    expect((await ask('GET', '/iceberg/v1/config?warehouse=a')).status).toBe(200)
    expect((await ask('POST', '/iceberg/v1/namespaces', { namespace: ['a/b', 'c'] })).status).toBe(404)
    expect((await ask('POST', '/iceberg/v1/namespaces', { namespace: ['a/b'] })).status).toBe(200)
    expect((await ask('POST', '/iceberg/v1/namespaces', { namespace: ['a/b', 'é.%'] })).status).toBe(200)
    const space = '/iceberg/v1/namespaces/a%2Fb%1F%C3%A9.%25'
    expect((await ask('POST', `${space}/tables`, { name: 't ü', schema })).status).toBe(200)
    expect(await ask('HEAD', `${space}/tables/t+%C3%BC`)).toEqual({ status: 204, text: '' })
    const { text } = await ask('GET', `${space}/tables?pageToken=&pageSize=1`)
    expect(JSON.parse(text)).toEqual({
      identifiers: [{ namespace: ['a/b', 'é.%'], name: 't ü' }],
      'next-page-token': null,
    })
    const missing = await ask('GET', `${space}/tables/none`)
    expect([missing.status, JSON.parse(missing.text).error.type]).toEqual([404, 'NoSuchTableException'])
    for (const path of ['/iceberg', '/iceberg/', '/iceberg/v2/config', '/iceberg/v1/v1/config'])
      expect([path, JSON.parse((await ask('GET', path)).text).error?.type]).toEqual([
        path,
        'BadRequestException',
      ])
    // The catalog's own protocol is beside it.
    expect((await ask('GET', '/v1/table')).status).toBe(200)
  })
})
