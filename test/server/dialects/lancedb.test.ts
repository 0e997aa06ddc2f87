import { float64, int32, tableFromArrays, tableToIPC } from '@uwdata/flechette'
import { describe, expect, it } from 'vitest'
import { arrowRows, arrowStream, expectProblem, serveInMemory } from '../support/ask.ts'

/** The headers that LanceDB's remote client is known by. */
const headers = { 'x-lancedb-database': 'db', 'x-api-key': 'key' }

async function served() {
  const { ask, catalog } = await serveInMemory()
  await catalog.createNamespace({ id: ['n'] })
  return {
    catalog,
    ask: (method: string, path: string, body?: unknown, more = {}) =>
      ask(method, path, body, { ...headers, ...more }),
  }
}

describe("the dialect of LanceDB's remote client", () => {
  it('has quotation marks in mode and behavior', async () => {
    const { ask } = await served()
    expect((await ask('POST', '/v1/namespace/m/create/', { mode: '"Create"' })).status).toBe(200)
    expect((await ask('POST', '/v1/namespace/m/create/', { mode: '"exist_ok"' })).status).toBe(200)
    const dropped = await ask('POST', '/v1/namespace/m/drop/', { mode: '"Fail"', behavior: '"Cascade"' })
    expect(dropped.status).toBe(200)
    const skipped = await ask('POST', '/v1/namespace/m/drop/', { mode: '"Skip"', behavior: '"Restrict"' })
    expect([skipped.status, skipped.json]).toStrictEqual([200, {}])
  })

  it('is told 400, code 5 and "already exists" of a duplicate, and 409 of what to try again', async () => {
    const { ask, catalog } = await served()
    const path = '/v1/table/n$t/create/'
    expect((await ask('POST', path, arrowRows(), arrowStream)).status).toBe(200)
    const again = await ask('POST', path, arrowRows(), arrowStream)
    expect(again.status).toBe(400)
    expect(again.json).toMatchObject({
      status: 400,
      type: '/errors/bad-request',
      code: 5,
      error: expect.stringMatching(/already exists/),
    })
    await catalog.createTableTag({ id: ['n', 't'], tag: 'x', version: 1 })
    expect((await ask('POST', '/v1/table/n$t/tags/create/', { tag: 'x', version: 1 })).status).toBe(400)
    const conflict = await ask('POST', '/v1/table/n$t/version/create/', { version: 9, manifest_path: 'm' })
    expectProblem(conflict, 409, 14, '/v1/table/n$t/version/create/', /./, { next_version: 2 })
  })

  it('adds columns by an Arrow stream that has their schema', async () => {
    const { ask, catalog } = await served()
    const id = ['n', 't']
    await catalog.createTable({ id, data: [{ a: 1 }] })
    await catalog.createTableBranch({ id, name: 'dev' })
    const path = '/v1/table/n$t/add_columns/'
    const stream = (name: string) =>
      tableToIPC(tableFromArrays({ [name]: [] }, { types: { [name]: int32() } }), { format: 'stream' })!
    expect((await ask('POST', `${path}?branch=dev`, stream('d'), arrowStream)).json).toMatchObject({
      version: 2,
    })
    expect((await ask('POST', path, stream('m'), arrowStream)).json).toMatchObject({ version: 2 })
    const last = async (branch?: string) => {
      const { schema } = await catalog.describeTable({ id, branch, load_detailed_metadata: true })
      return schema!.fields.at(-1)!.name
    }
    expect([await last(), await last('dev')]).toEqual(['m', 'd'])
    const rename = await ask('POST', '/v1/table/n$t/rename/', stream('m'), arrowStream)
    expectProblem(rename, 400, 13, '/v1/table/n$t/rename/')
    const others = await (await serveInMemory()).ask('POST', path, stream('x'), arrowStream)
    expectProblem(others, 400, 13, path)
  })

  it('merges by several columns, each in a parameter of its own', async () => {
    const { ask, catalog } = await served()
    const row = (first: number, second: number, value: number) => ({ a: first, 'b,c': second, d: value })
    await catalog.createTable({ id: ['n', 't'], data: [row(1, 1, 1), row(1, 2, 1)] })
    const types = { a: float64(), 'b,c': float64(), d: float64() }
    const rows = tableToIPC(tableFromArrays({ a: [1, 1], 'b,c': [2, 3], d: [9, 9] }, { types }), {
      format: 'stream',
    })!
    const path = '/v1/table/n$t/merge_insert/?when_matched_update_all=true&when_not_matched_insert_all=true'
    const merged = await ask('POST', `${path}&use_rte=false&on=a&on=b%2Cc`, rows, arrowStream)
    expect(merged.json).toMatchObject({ num_updated_rows: 1, num_inserted_rows: 1, version: 2 })
    const refused = await ask('POST', `${path}&on=a&on=none`, rows, arrowStream)
    expect(refused.text).toContain('none')
  })

  it('hears 404 of the table itself only', async () => {
    const { ask, catalog } = await served()
    await catalog.createTable({ id: ['n', 't'], data: [{ a: 1 }] })
    expect((await ask('POST', '/v1/table/n$no/describe/', {})).status).toBe(404)
    expect((await ask('POST', '/v1/table/n$t/describe/', { version: 9 })).status).toBe(404)
    expect((await ask('POST', '/v1/table/n$t/query/', { columns: ['no'] })).status).toBe(400)
    expect((await ask('POST', '/v1/table/n$t/count_rows/', { predicate: 'no > 1' })).status).toBe(400)
    expect((await ask('POST', '/v1/table/n$t/tags/version/', { tag: 'no' })).status).toBe(400)
    expect((await ask('POST', '/v1/table/n$t/branches/list/', {})).json).toEqual({ branches: {} })
  })

  it('hears the statuses of which the client makes errors of branches', async () => {
    const { ask, catalog } = await served()
    await catalog.createTable({ id: ['n', 't'], data: [{ a: 1 }] })
    await catalog.createTableBranch({ id: ['n', 't'], name: 'dev' })
    const statusOf = async (path: string, body: object) =>
      (await ask('POST', `/v1/table/n$t/branches/${path}/`, body)).status
    expect(await statusOf('create', { name: 'dev' })).toBe(409)
    expect(await statusOf('create', { name: 'x', from_branch: 'no' })).toBe(404)
    expect(await statusOf('create', { name: 'x', from_version: 9 })).toBe(404)
    expect(await statusOf('create', { name: 'a b' })).toBe(400)
    expect(await statusOf('delete', { name: 'no' })).toBe(404)
  })

  it('lists bare names of children, and goes on after a name', async () => {
    const { ask, catalog } = await served()
    for (const name of ['b', 'a', 'ab', 'c']) await catalog.declareTable({ id: ['n', name] })
    await catalog.createNamespace({ id: ['n', 'aa'] })
    await catalog.declareTable({ id: ['n', 'aa', 'deep'] })
    await catalog.declareTable({ id: ['top'] })
    const list = async (path: string) => (await ask('GET', path)).json
    expect(await list('/v1/namespace/n/table/list')).toStrictEqual({ tables: ['a', 'ab', 'b', 'c'] })
    expect(await list('/v1/namespace/n/table/list?limit=2')).toStrictEqual({
      tables: ['a', 'ab'],
      page_token: 'ab',
    })
    expect(await list('/v1/namespace/n/table/list?limit=2&page_token=ab')).toStrictEqual({
      tables: ['b', 'c'],
    })
    expect(await list('/v1/namespace/n/table/list?page_token=aab')).toStrictEqual({
      tables: ['ab', 'b', 'c'],
    })
    expect(await list('/v1/table/?limit=10')).toStrictEqual({ tables: ['top'] })
    expect(await list('/v1/namespace/$/list?limit=0')).toStrictEqual({ namespaces: [], page_token: '\0' })
    expect(await list('/v1/namespace/$/list?page_token=%00')).toStrictEqual({ namespaces: ['n'] })
  })

  it('calls the new namespace of a rename otherwise', async () => {
    const { ask, catalog } = await served()
    await catalog.declareTable({ id: ['t'] })
    const reply = await ask('POST', '/v1/table/t/rename/', { new_table_name: 'u', new_namespace: ['n'] })
    expect(reply.status).toBe(200)
    expect((await catalog.listTables({ id: [] })).tables).toStrictEqual(['n$u'])
  })

  it('gives columns as a list or as aliases', async () => {
    const { ask, catalog } = await served()
    await catalog.createTable({ id: ['t'], data: [{ a: 1, b: 2 }] })
    for (const columns of [['a'], { x: 'b' }, { column_names: ['a'] }, [['x', 'b + 1']]]) {
      const reply = await ask('POST', '/v1/table/t/query/', {
        columns,
        search_effort: 0.5,
        use_rte: false,
        vector: [],
        prefilter: true,
        k: 2 ** 63,
        version: null,
      })
      expect(reply.status, reply.text).toBe(200)
      const explained = await ask('POST', '/v1/table/t/explain_plan/', { query: { columns, use_rte: true } })
      expect(explained.status, explained.text).toBe(200)
    }
    const twice = [['x', 'a'], ['x', 'b']] // biome-ignore format: pairs
    expect((await ask('POST', '/v1/table/t/query/', { columns: twice })).status).toBe(400)
  })

  it('reads the times of versions as text, too', async () => {
    const { ask, catalog } = await served()
    await catalog.createTable({ id: ['t'], data: [{ a: 1 }] })
    const [version] = (await catalog.listTableVersions({ id: ['t'] })).versions
    const timestamp = new Date(version!.timestamp_millis!).toISOString()
    const { json } = await ask('POST', '/v1/table/t/version/list/', undefined)
    expect(json).toEqual({ versions: [{ ...version, timestamp }] })
  })

  it('opens a table by its version and schema, and reads tags at the top', async () => {
    const { ask, catalog } = await served()
    await catalog.createTable({ id: ['t'], data: [{ a: 1 }] })
    await catalog.createTableTag({ id: ['t'], tag: 'x', version: 1 })
    expect((await ask('POST', '/v1/table/t/describe/', {})).json).toMatchObject({
      version: 1,
      schema: { fields: [{ name: 'a' }] },
    })
    const tags = await ask('POST', '/v1/table/t/tags/list/', undefined)
    expect(tags.json).toStrictEqual({ x: { version: 1, manifestSize: expect.any(Number) } })
  })

  it('writes a plus for a plus', async () => {
    const { ask, catalog } = await served()
    await catalog.declareTable({ id: ['a+b'] })
    expect((await ask('POST', '/v1/table/a+b/exists/', {})).status).toBe(200)
  })
})

describe('a client of the protocol', () => {
  const others: [string, string, Record<string, string>][] = [
    ['one that asks for fresh answers', 'n$a+b', { 'x-lancedb-min-timestamp': '2026-11-22T00:00:00Z' }],
    ['one with a key', 'n$a%20b', { 'x-api-key': 'key' }],
    [
      'both',
      'n$a+b',
      { 'x-api-key': 'key', 'x-lancedb-min-version': '3', 'x-lancedb-min-read-version': '3' },
    ],
  ]

  it.each(others)('is not taken for the remote client: %s', async (_what, path, sent) => {
    const { ask, catalog } = await serveInMemory()
    await catalog.createNamespace({ id: ['n'] })
    await catalog.createTable({ id: ['n', 'a b'], data: [{ x: 1 }] })
    await catalog.insertIntoTable({ id: ['n', 'a b'], data: [{ x: 2 }] })
    const versions = await ask(
      'GET',
      `/v1/table/${path}/version/list?limit=1&descending=true`,
      undefined,
      sent,
    )
    expect(versions.json).toMatchObject({ versions: [{ version: 2 }] })
    expect((await ask('GET', '/v1/namespace/$/table/list', undefined, sent)).json).toStrictEqual({
      tables: ['n$a b'],
    })
    expect((await ask('POST', `/v1/table/${path}/tags/version`, { tag: 'no' }, sent)).status).toBe(404)
    expect((await ask('GET', '/v1/no', undefined, sent)).status).toBe(404)
  })
})

it('the children listing may be chosen for everybody', async () => {
  const { ask, catalog } = await serveInMemory({ listing: 'children' })
  await catalog.createNamespace({ id: ['n'] })
  for (const id of [['n', 'a'], ['n', 'b'], ['top']]) await catalog.declareTable({ id })
  expect((await ask('GET', '/v1/namespace/n/table/list?limit=1')).json).toStrictEqual({
    tables: ['a'],
    page_token: 'a',
  })
  expect((await ask('GET', '/v1/namespace/n/table/list?page_token=a')).json).toStrictEqual({ tables: ['b'] })
  expect((await ask('GET', '/v1/namespace/n/table/list?delimiter=b')).json).toStrictEqual({
    tables: ['a', 'b'],
  })
  expect((await ask('GET', '/v1/table')).json).toStrictEqual({ tables: ['n$a', 'n$b', 'top'] })
})
