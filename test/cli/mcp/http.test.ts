import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { type Catalog, openCatalog } from '../../../src/tabularium/index.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { limitEach } from '../../support/time-limit.ts'
import { run } from '../run.ts'
import { overHttp, serving } from './clients.ts'

limitEach(60)

const token = 'a-long-random-token'
const bearer = { authorization: `Bearer ${token}` }
const usual = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}

interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly text: string
}

/** Sends a message without the SDK, so that every header can be set. */
function send(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  method = 'POST',
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: { ...usual, ...headers } }, async (response) => {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      resolve({ status: response.statusCode!, headers: response.headers, text })
    })
    sent.on('error', reject)
    sent.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
}

async function sessionOf(url: string, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const { status, headers: answered } = await send(url, initialize, headers)
  expect(status).toBe(200)
  return answered['mcp-session-id'] as string
}

async function running(catalog: Catalog) {
  return (await catalog.listTransactions({ status: ['Running'] })).transactions
}

describe('over HTTP', () => {
  it('16 clients at once change their own tables and one that they share, and none fails', async () => {
    const folder = await freshFolder()
    const url = await serving([folder, '--write', '--no-auth'])
    const seed = await overHttp(url)
    await seed.ask('create_table', { id: ['shared'], data: [{ who: -1 }] })
    await seed.ask('commit')
    const tools = await Promise.all(Array.from({ length: 16 }, () => overHttp(url)))
    await Promise.all(
      tools.map(async (tool, who) => {
        const mine = [`mine${who}`]
        await tool.ask('create_table', { id: mine, data: [{ n: 0 }] })
        for (let n = 1; n <= 3; n++) {
          await tool.ask('insert_into_table', { id: mine, data: [{ n }] })
          await tool.ask('insert_into_table', { id: ['shared'], data: [{ who }] })
          const asked = { id: mine, order_by: ['n desc'], limit: 1 }
          expect(await tool.ask('query_table', asked)).toEqual({ rows: [{ n }], more: true, next_offset: 1 })
        }
        await tool.ask('undo')
        expect(await tool.ask('commit')).toEqual({ committed_changes: 6, uncommitted_changes: 0 })
      }),
    )
    expect(await seed.ask('count_table_rows', { id: ['shared'] })).toEqual({ count: 1 + 16 * 2 })
    for (const who of tools.keys())
      expect(await seed.ask('count_table_rows', { id: [`mine${who}`] })).toEqual({ count: 4 })
  })

  it('a session that its client ends leaves nothing', async () => {
    const folder = await freshFolder()
    const url = await serving([folder, '--write', '--no-auth'])
    const tool = await overHttp(url)
    await tool.ask('create_table', { id: ['t'], data: [{ n: 1 }] })
    await tool.transport.terminateSession()
    await using catalog = await openCatalog(folder)
    await expect.poll(() => running(catalog)).toEqual([])
    expect((await catalog.listTables({ id: [] })).tables).toEqual([])
  })

  it('a session that sends nothing ends, leaves nothing, and makes room', async () => {
    const folder = await freshFolder()
    const url = await serving([folder, '--write', '--no-auth', '--idle', '500ms', '--sessions', '1'])
    const session = { 'mcp-session-id': await sessionOf(url) }
    const params = { name: 'create_table', arguments: { id: ['t'], data: [{ n: 1 }] } }
    // On a slow machine it has ended already.
    const { status } = await send(url, { jsonrpc: '2.0', id: 2, method: 'tools/call', params }, session)
    expect([200, 404]).toContain(status)
    await using catalog = await openCatalog(folder)
    await expect.poll(async () => (await send(url, initialize)).status).toBe(200)
    expect((await send(url, { jsonrpc: '2.0', id: 3, method: 'tools/list' }, session)).status).toBe(404)
    await expect.poll(() => running(catalog)).toEqual([])
    expect((await catalog.listTables({ id: [] })).tables).toEqual([])
  })

  it('has so many sessions, and a busy one does not end', async () => {
    const url = await serving(['memory:', '--no-auth', '--sessions', '2', '--idle', '10m'])
    const [first] = [await sessionOf(url), await sessionOf(url)]
    const refused = await send(url, initialize)
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '10'])
    expect(JSON.parse(refused.text)).toMatchObject({ jsonrpc: '2.0', error: { code: -32_000 }, id: null })
    expect((await send(url, '', { 'mcp-session-id': first }, 'DELETE')).status).toBe(200)
    expect((await send(url, '', { 'mcp-session-id': first }, 'DELETE')).status).toBe(404)
    await sessionOf(url)
  })

  it('asks for credentials, and a session is its callers own', async () => {
    const others = 'another-random-token'
    const url = await serving(['memory:', '--token', token, '--token', others])
    const wrong: Record<string, string>[] = [{}, { authorization: 'Bearer wrong-and-long-enough' }]
    for (const headers of wrong) {
      const { status, text } = await send(url, initialize, headers)
      expect([status, JSON.parse(text)]).toMatchObject([401, { jsonrpc: '2.0', error: { code: -32_000 } }])
    }
    const tool = await overHttp(url, bearer)
    expect(await tool.ask('list_tables', { id: [] })).toEqual({ tables: [] })
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
    const session = { 'mcp-session-id': tool.transport.sessionId! }
    expect((await send(url, list, { ...bearer, ...session })).status).toBe(200)
    expect((await send(url, list, { authorization: `Bearer ${others}`, ...session })).status).toBe(404)
    expect((await send(url, list, session)).status).toBe(401)
  })

  it('answers no web page, and nobody through a proxy, without credentials', async () => {
    const url = await serving(['memory:', '--no-auth'])
    const foreign: Record<string, string>[] = [
      { host: 'evil.example' },
      { host: 'evil.example:2334' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'x-forwarded-for': '203.0.113.9' },
    ]
    for (const headers of foreign) {
      const { status, text } = await send(url, initialize, headers)
      expect([401, 403], JSON.stringify(headers)).toContain(status)
      expect(JSON.parse(text).error.message).toMatch(/^(Unauthenticated|PermissionDenied): /)
    }
    await sessionOf(url, { origin: 'http://localhost:3000' })
  })

  it('serves no operations beside, whatever callers may', async () => {
    const url = await serving(['memory:', '--write', '--token', token])
    const base = url.replace(/\/mcp$/, '')
    const asked: [string, string, string?][] = [
      ['POST', '/v1/namespace/n/create', '{}'],
      ['POST', '/v1/table/t/describe', '{}'],
      ['GET', '/v1/namespace/$/list'],
      ['POST', '/v1/transaction/begin', '{}'],
      ['POST', '/v1/table/batch-commit', '{"operations":[{"declare_table":{"id":["t"]}}]}'],
    ]
    for (const [method, path, body = ''] of asked) {
      const { status, text } = await send(`${base}${path}`, body, bearer, method)
      expect([status, JSON.parse(text).detail], path).toEqual([403, expect.stringContaining('at /mcp')])
    }
    for (const path of ['/', '/docs', '/openapi.json', '/iceberg/v1/config'])
      expect((await send(`${base}${path}`, '', bearer, 'GET')).status, path).toBe(404)
  })

  it('refuses what is no message, and goes on', async () => {
    const url = await serving(['memory:', '--no-auth'])
    const session = { 'mcp-session-id': await sessionOf(url) }
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
    const refusals: [unknown, Record<string, string>, number, string?][] = [
      ['{', session, 400],
      ['', session, 400],
      ['[]', session, 400],
      [[list, list], session, 400],
      [{ jsonrpc: '1.0', id: 1, method: 'x' }, session, 400],
      [list, {}, 400],
      [list, { 'mcp-session-id': 'none' }, 404],
      [list, { ...session, accept: 'text/html' }, 406],
      [list, { ...session, 'mcp-protocol-version': '1999-01-01' }, 400],
      [initialize, session, 400],
      ['', session, 405, 'GET'],
      ['{}', session, 405, 'PUT'],
      [`{"a":${'['.repeat(100_000)}`, session, 400],
      [`"${'x'.repeat(17 * 1024 * 1024)}"`, session, 400],
    ]
    for (const [body, headers, status, method] of refusals) {
      const answered = await send(url, body, headers, method)
      expect(answered.status, `${String(body).slice(0, 60)} ${method}`).toBe(status)
      expect(JSON.parse(answered.text), answered.text.slice(0, 200)).toMatchObject({
        jsonrpc: '2.0',
        error: { message: expect.any(String) },
      })
    }
    expect((await send(url, list, session)).status).toBe(200)
  })

  it('answers a request that its client cancels, and takes no id twice at a time', async () => {
    const url = await serving(['memory:', '--no-auth', '--write'])
    const session = { 'mcp-session-id': await sessionOf(url) }
    const call = (id: number, name: string, given: unknown) =>
      send(url, { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: given } }, session)
    const data = Array.from({ length: 50_000 }, (_, n) => ({ n, text: `row ${n}` }))
    const slow = call(7, 'create_table', { id: ['t'], data })
    const other = call(7, 'list_tables', { id: [] })
    await send(url, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } }, session)
    const answers = await Promise.all([slow, other])
    for (const { status } of answers) expect([200, 202, 400]).toContain(status)
    expect((await call(8, 'commit', {})).status).toBe(200)
  })

  it('is refused where nobody could use it, and for a server', async () => {
    expect((await run(['mcp', 'memory:', '--http'])).err).toMatch(/no caller could use this server/)
    expect((await run(['mcp', 'https://tables.example', '--http'])).err).toMatch(/leave --http out/)
    expect(
      (await run(['mcp', 'memory:', '--http', '--no-auth', '--host', '0.0.0.0', '--port', '0'])).err,
    ).toMatch(/loopback address only/)
    expect((await run(['mcp', await freshFolder()])).err).toMatch(/There is no catalog/)
  })
})
