import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { tokenVerifier } from '../../../src/server/auth/tokens.ts'
import { type AuthOptions, type AuthorizeRequest, fetchHandler, serve } from '../../../src/server/index.ts'
import { CatalogError, openCatalog } from '../../../src/tabularium/index.ts'
import { arrowRows, arrowStream, asking, expectProblem, serveInMemory } from '../support/ask.ts'

const path = '/v1/namespace/$/describe'
const token = 'correct-horse-battery'

describe('credentials', () => {
  const tokens: AuthOptions = { tokens: [{ token: 'the-first-token-1', name: 'one' }, token] }

  it.each([
    ['a bearer token', { authorization: `Bearer ${token}` }, 200],
    ['a bearer token in another case', { authorization: `bearer  ${token} ` }, 200],
    ['an API key', { 'x-api-key': token }, 200],
    ['the first token', { 'x-api-key': 'the-first-token-1' }, 200],
    ['both', { authorization: `Bearer ${token}`, 'x-api-key': 'wrong-token' }, 200],
    ['none', {}, 401],
    ['a wrong token', { authorization: 'Bearer correct-horse-battera' }, 401],
    ['a part of a token', { authorization: `Bearer ${token.slice(0, -1)}` }, 401],
    ['more than a token', { authorization: `Bearer ${token}x` }, 401],
    ['two tokens', { authorization: `Bearer ${token} ${token}` }, 401],
    ['an empty token', { authorization: 'Bearer ' }, 401],
    ['a wrong bearer beside a right key', { authorization: 'Bearer wrong', 'x-api-key': token }, 401],
    ['another scheme', { authorization: `Basic ${btoa(`me:${token}`)}` }, 401],
    ['the token itself by another scheme', { authorization: `Basic ${token}` }, 401],
    ['the token without its scheme', { authorization: token }, 401],
    ['an empty key', { 'x-api-key': '' }, 401],
  ] as const)('%s', async (_what, headers, status) => {
    const { ask } = await serveInMemory({ auth: tokens })
    const reply = await ask('POST', path, {}, headers)
    if (status === 200) expect(reply.status).toBe(200)
    else {
      expectProblem(reply, 401, 16, path)
      expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer realm="tabularium"/)
    }
  })

  it('are those of whoever holds exactly this token, for any tokens', () => {
    const part = fc.constantFrom('a', 'b', 'é', '€', '\0', 'aaaaaaaa')
    const anyToken = fc.array(part, { minLength: 16, maxLength: 20 }).map((parts) => parts.join(''))
    const presented = fc.oneof(
      anyToken,
      fc.array(part, { maxLength: 30 }).map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(
        fc.uniqueArray(anyToken, { minLength: 1, maxLength: 4 }),
        fc.array(presented),
        (held, tried) => {
          const whose = tokenVerifier(held.map((one, i) => ({ token: one, name: String(i) })))
          for (const one of [...tried, ...held]) {
            const index = held.indexOf(one)
            expect(whose(one)?.name).toBe(index < 0 ? undefined : String(index))
          }
        },
      ),
    )
  })

  it('in the body authenticate nobody', async () => {
    const { ask } = await serveInMemory({ auth: tokens })
    const reply = await ask('POST', path, { identity: { auth_token: token, api_key: token } })
    expectProblem(reply, 401, 16, path)
  })

  it('are looked at before the body is', async () => {
    const { ask } = await serveInMemory({ auth: tokens })
    expectProblem(await ask('POST', path, '{broken'), 401, 16, path)
    expectProblem(
      await ask('POST', '/v1/table/t/create', arrowRows(), arrowStream),
      401,
      16,
      '/v1/table/t/create',
    )
  })

  it('guard metrics too, but not health and the description', async () => {
    const { ask } = await serveInMemory({ auth: tokens })
    expectProblem(await ask('GET', '/metrics'), 401, 16, '/metrics')
    expect((await ask('GET', '/metrics', undefined, { 'x-api-key': token })).status).toBe(200)
    for (const open of ['/healthz', '/readyz', '/openapi.json', '/docs'])
      expect((await ask('GET', open)).status).toBe(200)
    const { ask: askOpen } = await serveInMemory({ auth: tokens, metrics: 'public' })
    expect((await askOpen('GET', '/metrics')).status).toBe(200)
  })

  it('may be judged by a function, which also sees requests without a token', async () => {
    const seen: unknown[] = []
    const { ask } = await serveInMemory({
      auth: {
        verify: async (given, { headers, method, path: asked }) => {
          seen.push([given, method, asked])
          return given === 'magic-word' || headers.cookie === 'session=1' ? { name: 'me' } : undefined
        },
      },
    })
    expect((await ask('POST', path, {}, { authorization: 'Bearer magic-word' })).status).toBe(200)
    expect((await ask('POST', path, {}, { cookie: 'session=1' })).status).toBe(200)
    expectProblem(await ask('POST', path, {}, { 'x-api-key': 'other' }), 401, 16, path)
    expect(seen).toStrictEqual([
      ['magic-word', 'POST', path],
      [undefined, 'POST', path],
      ['other', 'POST', path],
    ])
  })

  it('stay out of the answer when the function itself fails', async () => {
    const { ask } = await serveInMemory({
      auth: {
        verify: () => {
          throw new Error(`database password hunter2, token ${token}`)
        },
      },
    })
    const reply = await ask('POST', path, {}, { authorization: `Bearer ${token}` })
    expectProblem(reply, 500, 18, path, /request id/)
    expect(reply.text).not.toMatch(/hunter2|horse/)
  })
})

describe('without credentials', () => {
  it('nothing is served unless that was said, and then on this machine only', async () => {
    const catalog = await openCatalog('memory:')
    const refused = (options: unknown, message: RegExp) =>
      expect(serve(catalog, { port: 0, ...(options as object) } as never)).rejects.toThrow(message)
    await refused({}, /auth is missing/)
    await refused({ auth: {} }, /names no way to know a caller/)
    await refused({ auth: { tokens: [] } }, /names no way to know a caller/)
    await refused({ auth: { tokens: ['fifteen-letters'] } }, /at least 16 characters/)
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.com']) {
      await refused({ auth: false, host }, /loopback/)
    }
    await expect(fetchHandler(catalog, {} as never)).rejects.toThrow(/auth is missing/)
    await catalog.close()
  })

  it.each([
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ host: 'evil.example:2333' }, 403],
    [{ host: '127.0.0.1:2333', origin: 'http://localhost:3000' }, 200],
    [{ host: '[::1]:2333' }, 200],
  ])('a browser may not be used to get in: %j', async (headers, status) => {
    const { handler } = await serveInMemory({ auth: false })
    const ask = asking((request) => handler(request, { remoteAddress: '127.0.0.1' }), 'http://localhost')
    expect((await ask('POST', path, {}, headers as Record<string, string>)).status).toBe(status)
  })
})

describe('the authorize hook', () => {
  async function asked(hook: AuthorizeRequest) {
    return serveInMemory({ auth: { tokens: [{ token, name: 'ada' }] }, authorize: hook })
  }

  const credentials = { authorization: `Bearer ${token}` }

  it('gets principal, operation, identifier and request', async () => {
    const seen: unknown[] = []
    const { ask } = await asked((principal, operation, id, { method, headers, body }) => {
      seen.push([principal?.name, operation, id, method, headers['x-team'], body])
    })
    await ask('POST', '/v1/table/a.b/describe?delimiter=.', {}, { ...credentials, 'x-team': 'x' })
    await ask('GET', '/v1/table', undefined, credentials)
    expect(seen).toStrictEqual([
      ['ada', 'describeTable', ['a', 'b'], 'POST', 'x', undefined],
      ['ada', 'listAllTables', undefined, 'GET', undefined, undefined],
    ])
  })

  it.each([
    ['false', () => false],
    ['a promise of false', async () => false],
    [
      'an error',
      () => {
        throw new Error('secret reason')
      },
    ],
    [
      'an error of the catalog',
      () => {
        throw new CatalogError('PermissionDenied', 'Ask Ada.')
      },
    ],
  ])('refuses with %s, before the body is read', async (_what, hook) => {
    const { ask } = await asked(hook)
    const reply = await ask('POST', '/v1/table/t/declare', '{broken', credentials)
    expectProblem(reply, 403, 15, '/v1/table/t/declare')
    expect(reply.text).not.toMatch(/secret reason/)
  })

  it('is asked for the tables that only the body names', async () => {
    const seen: unknown[] = []
    const { ask, catalog } = await asked((_principal, operation, id) => {
      seen.push([operation, id])
      return !id?.includes('private')
    })
    await catalog.createNamespace({ id: ['private'] })
    await catalog.declareTable({ id: ['t'] })
    const moves = [{ new_table_name: 'x', new_namespace_id: ['private'] }, { new_table_name: 'private' }]
    for (const body of moves)
      expect((await ask('POST', '/v1/table/t/rename', body, credentials)).status).toBe(403)
    const steps = [
      { declare_table: { id: ['private', 'x'] } },
      { deregister_table: { id: ['private', 't'] } },
      { create_table_version: { id: ['private', 't'], version: 1, manifest_path: 'm' } },
      { delete_table_versions: { id: ['private', 't'], ranges: [] } },
    ]
    for (const step of steps) {
      const operations = [{ declare_table: { id: ['fine'] } }, step]
      expect((await ask('POST', '/v1/table/batch-commit', { operations }, credentials)).status).toBe(403)
    }
    const entries = [{ id: ['private', 't'], version: 1, manifest_path: 'm' }]
    expect((await ask('POST', '/v1/table/version/batch-create', { entries }, credentials)).status).toBe(403)
    expect((await catalog.listTables({ id: [] })).tables).toStrictEqual(['t'])
    expect(seen).toContainEqual(['declareTable', ['fine']])
    expect(seen).toContainEqual(['batchCommitTables', undefined])
    expect(seen).toContainEqual(['batchDeleteTableVersions', ['private', 't']])
  })

  it('is told the location that the body names, so that content of others can be kept from a caller', async () => {
    const { ask, catalog } = await asked((_principal, _operation, id, { location }) => {
      return id?.[0] !== 'secret' && (location === undefined || location.startsWith('s3://bucket/mine/'))
    })
    await catalog.declareTable({ id: ['secret'] })
    const { location } = await catalog.deregisterTable({ id: ['secret'] })
    for (const given of [location, `${location}/`]) {
      for (const verb of ['register', 'declare']) {
        const reply = await ask('POST', `/v1/table/mine/${verb}`, { location: given }, credentials)
        expect(reply.status).toBe(403)
      }
      const operations = [{ declare_table: { id: ['mine'], location: given } }]
      expect((await ask('POST', '/v1/table/batch-commit', { operations }, credentials)).status).toBe(403)
    }
    const mine = { location: 's3://bucket/mine/t' }
    expect((await ask('POST', '/v1/table/mine/register', mine, credentials)).status).toBe(200)
    expect((await ask('POST', '/v1/table/other/declare', {}, credentials)).status).toBe(200)
  })
})
