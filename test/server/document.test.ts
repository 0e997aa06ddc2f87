import { tableFromIPC } from '@uwdata/flechette'
import { describe, expect, it } from 'vitest'
import type { LocalCatalog } from '../../src/tabularium/index.ts'
import { arrowRows, arrowStream, expectProblem, type Reply, serveInMemory } from './support/ask.ts'

/*
 * The service document, rule by rule. Section numbers are the document's.
 */

async function withFlights() {
  const served = await serveInMemory()
  await served.catalog.createNamespace({ id: ['prod'] })
  await served.catalog.createTable({
    id: ['prod', 'flights'],
    data: [{ delay: 10 }, { delay: 70 }, { delay: 90 }],
  })
  return served
}

const rowsOf = async (catalog: LocalCatalog, id: string[], version?: number) =>
  (await catalog.countTableRows({ id, ...(version === undefined ? {} : { version }) })).count

describe('4.1 delete rows', () => {
  it('answers with the commit version', async () => {
    const { catalog, ask } = await withFlights()
    const reply = await ask('POST', '/v1/table/prod$flights/delete', {
      predicate: 'delay > 60',
      id: ['prod', 'flights'],
    })
    expect(reply.status).toBe(200)
    expect(reply.json).toMatchObject({ version: 2, transaction_id: expect.any(String) })
    expect(await rowsOf(catalog, ['prod', 'flights'])).toBe(1)
  })

  it('works on the branch that the body names', async () => {
    const { catalog, ask } = await withFlights()
    await catalog.createTableBranch({ id: ['prod', 'flights'], name: 'dev' })
    await ask('POST', '/v1/table/prod$flights/delete', { predicate: 'true', branch: 'dev' })
    expect(await rowsOf(catalog, ['prod', 'flights'])).toBe(3)
    expect((await catalog.countTableRows({ id: ['prod', 'flights'], branch: 'dev' })).count).toBe(0)
  })
})

describe('4.2 deregister', () => {
  it('answers with id, location and properties, and keeps the content', async () => {
    const { catalog, ask } = await withFlights()
    const { json } = await ask('POST', '/v1/table/prod$flights/deregister', {})
    const { location, ...rest } = json as { location: string }
    expect(rest).toMatchObject({
      id: ['prod', 'flights'],
      properties: {},
      transaction_id: expect.any(String),
    })
    await catalog.registerTable({ id: ['back'], location })
    expect(await rowsOf(catalog, ['back'])).toBe(3)
  })
})

describe('4.3 schema metadata', () => {
  it('has bare maps as bodies, and says its transaction in a header', async () => {
    const { catalog, ask } = await withFlights()
    const metadata = { source: 'FAA', id: 'not an identifier', context: 'nor a context' }
    const reply = await ask('POST', '/v1/table/prod$flights/schema_metadata/update', metadata)
    expect(reply.status).toBe(200)
    expect(reply.json).toStrictEqual(metadata)
    const transaction = reply.headers.get('x-tabularium-transaction-id')!
    expect(await catalog.describeTransaction({ id: [transaction] })).toMatchObject({ status: 'Succeeded' })
    const replaced = await ask('POST', '/v1/table/prod$flights/schema_metadata/update', {})
    expect(replaced.json).toStrictEqual({})
  })

  it('takes the branch from the query', async () => {
    const { catalog, ask } = await withFlights()
    await catalog.createTableBranch({ id: ['prod', 'flights'], name: 'dev' })
    await ask('POST', '/v1/table/prod$flights/schema_metadata/update?branch=dev', { a: 'b' })
    const describe = (branch?: string) =>
      catalog.describeTable({
        id: ['prod', 'flights'],
        load_detailed_metadata: true,
        ...(branch ? { branch } : {}),
      })
    expect((await describe('dev')).metadata).toStrictEqual({ a: 'b' })
    expect((await describe()).metadata).toStrictEqual({})
  })

  it.each([
    ['a list', []],
    ['a number', { a: 1 }],
    ['null', 'null'],
  ])('refuses %s', async (_what, body) => {
    const { ask } = await withFlights()
    const path = '/v1/table/prod$flights/schema_metadata/update'
    expectProblem(await ask('POST', path, body, { 'content-type': 'application/json' }), 400, 13, path)
  })
})

describe('4.4 count rows', () => {
  it('answers with a bare integer', async () => {
    const { ask } = await withFlights()
    const path = '/v1/table/prod$flights/count_rows'
    for (const [body, count] of [
      [{}, '3'],
      [{ predicate: 'delay > 60' }, '2'],
      [{ version: 1, predicate: null }, '3'],
    ] as const) {
      const reply = await ask('POST', path, body)
      expect([reply.status, reply.text]).toStrictEqual([200, count])
      expect(reply.headers.get('content-type')).toMatch(/^application\/json/)
    }
    const got = await ask('GET', `${path}?version=1&predicate=${encodeURIComponent('delay > 60')}`)
    expect(got.text).toBe('2')
  })
})

describe('4.5 rename', () => {
  it('renames, and moves to another namespace or to the root', async () => {
    const { catalog, ask } = await withFlights()
    await catalog.createNamespace({ id: ['archive'] })
    const steps: [path: string, body: object][] = [
      ['prod$flights', { new_table_name: 'old' }],
      ['prod$old', { new_table_name: 'older', new_namespace_id: ['archive'] }],
      ['archive$older', { new_table_name: 'oldest', new_namespace_id: [] }],
    ]
    for (const [id, body] of steps) {
      const reply = await ask('POST', `/v1/table/${id}/rename`, body)
      const { transaction_id, context } = reply.json as Record<string, unknown>
      expect(transaction_id).toEqual(expect.any(String))
      const moved = 'new_namespace_id' in body
      expect(context).toEqual(moved ? { renamed_to: expect.stringMatching(/old/) } : undefined)
    }
    expect((await catalog.listTables({ id: [] })).tables).toStrictEqual(['oldest'])
  })

  it('answers 409 for a taken name and 404 for a missing namespace', async () => {
    const { catalog, ask } = await withFlights()
    await catalog.declareTable({ id: ['prod', 'taken'] })
    const path = '/v1/table/prod$flights/rename'
    expectProblem(await ask('POST', path, { new_table_name: 'taken' }), 409, 5, path)
    expectProblem(await ask('POST', path, { new_table_name: 'x', new_namespace_id: ['no'] }), 404, 1, path)
  })
})

describe('4.6 update a tag', () => {
  it('moves the tag', async () => {
    const { catalog, ask } = await withFlights()
    const id = ['prod', 'flights']
    await catalog.createTableTag({ id, tag: 'stable', version: 1 })
    await catalog.deleteFromTable({ id, predicate: 'false' })
    const reply = await ask('POST', '/v1/table/prod$flights/tags/update', { tag: 'stable', version: 2 })
    expect(reply.json).toStrictEqual({ transaction_id: expect.any(String) })
    expect((await catalog.getTableTagVersion({ id, tag: 'stable' })).version).toBe(2)
    const path = '/v1/table/prod$flights/tags/update'
    expectProblem(await ask('POST', path, { tag: 'none', version: 1 }), 404, 8, path)
    expectProblem(await ask('POST', path, { tag: 'stable', version: 9 }), 404, 11, path)
    expectProblem(await ask('POST', path, { tag: 'stable', version: -1 }), 400, 13, path)
  })
})

describe('4.7 describe a transaction', () => {
  it('takes the id in all its forms', async () => {
    const { catalog, ask } = await withFlights()
    const id = ['prod', 'flights']
    const { transaction_id } = await catalog.deleteFromTable({ id, predicate: 'true' })
    const path = (form: string) => `/v1/transaction/${form}/describe`
    for (const [form, body] of [
      [transaction_id, {}],
      [`prod$flights$${transaction_id}`, {}],
      [transaction_id, { id: [...id, transaction_id] }],
      [`prod$flights$${transaction_id}`, { id: [...id, transaction_id] }],
    ] as [string, object][]) {
      const { status, json } = await ask('POST', path(form), body)
      expect(status, JSON.stringify([form, body])).toBe(200)
      expect(json).toMatchObject({ status: 'Succeeded', properties: { operation: 'DeleteFromTable' } })
    }
    expectProblem(await ask('POST', path('nothing'), {}), 404, 10, path('nothing'))
    for (const [form, body] of [
      [`prod$flights$${transaction_id}`, { id: ['other', transaction_id] }],
      [transaction_id!, { id }],
    ] as const) {
      expectProblem(await ask('POST', path(form), body), 400, 13, path(form))
    }
  })
})

describe('4.8 batch commit', () => {
  it('does everything, in order, with results in the members of the operations', async () => {
    const { catalog, ask } = await withFlights()
    const { status, json } = await ask('POST', '/v1/table/batch-commit', {
      operations: [
        { declare_table: { id: ['prod', 'new'], properties: { a: 'b' } } },
        { create_table_version: { id: ['prod', 'new'], version: 1, manifest_path: 'm/1' } },
        { delete_table_versions: { id: ['prod', 'new'], ranges: [{ start_version: 0, end_version: -1 }] } },
        { deregister_table: { id: ['prod', 'flights'] } },
      ],
    })
    expect(status).toBe(200)
    expect(json).toMatchObject({
      transaction_id: expect.any(String),
      results: [
        { declare_table: { properties: { a: 'b' } } },
        { create_table_version: { version: { version: 1, manifest_path: 'm/1' } } },
        { delete_table_versions: { deleted_count: 1 } },
        { deregister_table: { id: ['prod', 'flights'] } },
      ],
    })
    expect((await catalog.listTables({ id: [] })).tables).toStrictEqual(['prod$new'])
  })

  it('does nothing when one fails', async () => {
    const { catalog, ask } = await withFlights()
    const path = '/v1/table/batch-commit'
    const operations = [
      { declare_table: { id: ['prod', 'new'] } },
      { deregister_table: { id: ['prod', 'no'] } },
    ]
    expectProblem(await ask('POST', path, { operations }), 404, 4, path, /^operations\[1\] failed/)
    expect((await catalog.listTables({ id: ['prod'] })).tables).toStrictEqual(['prod$flights'])
    expectProblem(await ask('POST', path, { operations: [] }), 400, 13, path)
  })
})

describe('4.9 list tables', () => {
  async function withTables() {
    const served = await serveInMemory()
    for (const id of [['a'], ['a', 'b']]) await served.catalog.createNamespace({ id })
    for (const id of [['a', 'b', 'deep'], ['a', 't1'], ['a', 't2'], ['top']])
      await served.catalog.declareTable({ id })
    await served.catalog.createTable({ id: ['a', 'created'], data: [{ x: 1 }] })
    return served
  }

  const tables = (reply: Reply) => (reply.json as { tables: string[] }).tables

  it('gives full identifiers of all tables below, joined by the delimiter', async () => {
    const { ask } = await withTables()
    expect(tables(await ask('GET', '/v1/namespace/a/table/list'))).toStrictEqual([
      'a$b$deep',
      'a$created',
      'a$t1',
      'a$t2',
    ])
    expect(tables(await ask('GET', '/v1/namespace/a.b/table/list?delimiter=.'))).toStrictEqual(['a.b.deep'])
    expect(tables(await ask('GET', '/v1/namespace/$/table/list'))).toHaveLength(5)
    expect(tables(await ask('GET', '/v1/namespace/%24/table/list'))).toHaveLength(5)
    expect(tables(await ask('GET', '/v1/table?limit=2'))).toStrictEqual(['a$b$deep', 'a$created'])
  })

  it('leaves out declared tables when asked to', async () => {
    const { ask } = await withTables()
    expect(tables(await ask('GET', '/v1/namespace/a/table/list?include_declared=false'))).toStrictEqual([
      'a$created',
    ])
  })

  it('gives every table once, page by page, and no token at the end', async () => {
    const { ask } = await withTables()
    for (const limit of [1, 2, 3, 5]) {
      const seen: string[] = []
      let token = ''
      do {
        const reply = await ask(
          'GET',
          `/v1/namespace/$/table/list?limit=${limit}&page_token=${encodeURIComponent(token)}`,
        )
        expect(tables(reply).length).toBeLessThanOrEqual(limit)
        seen.push(...tables(reply))
        token = (reply.json as { page_token?: string }).page_token ?? ''
      } while (token !== '')
      expect(seen).toStrictEqual(['a$b$deep', 'a$created', 'a$t1', 'a$t2', 'top'])
    }
  })

  it.each([
    'limit=-1',
    'limit=1.5',
    'limit=x',
    'limit=%2B1',
    'limit=+1',
    'page_token=made-up',
    'delimiter=',
    'delimiter=123456789',
    'delimiter=%F0%9F%8C%8D%F0%9F%8C%8D%F0%9F%8C%8D%F0%9F%8C%8D%F0%9F%8C%8D%F0%9F%8C%8D%F0%9F%8C%8D%F0%9F%8C%8D%F0%9F%8C%8D',
    'include_declared=maybe',
  ])('answers 400 for %s', async (query) => {
    const { ask } = await withTables()
    expectProblem(
      await ask('GET', `/v1/namespace/$/table/list?${query}`),
      400,
      13,
      '/v1/namespace/$/table/list',
    )
  })

  it('answers 404 for a missing namespace, and 400 where the delimiter is in a name', async () => {
    const { catalog, ask } = await withTables()
    expectProblem(await ask('GET', '/v1/namespace/no/table/list'), 404, 1, '/v1/namespace/no/table/list')
    const path = '/v1/namespace/%7C/table/list'
    expect((await ask('GET', `${path}?delimiter=%7C`)).status).toBe(200)
    await catalog.declareTable({ id: ['with|bar'] })
    expectProblem(await ask('GET', `${path}?delimiter=%7C`), 400, 13, path, /delimiter "\|" occurs/)
  })
})

describe('rows as Arrow', () => {
  it('go in as a stream or file and come out as a file', async () => {
    const { catalog, ask } = await serveInMemory()
    const created = await ask(
      'POST',
      '/v1/table/t/create?mode=create&properties={"owner":"me"}',
      arrowRows(),
      arrowStream,
    )
    expect(created.json).toMatchObject({
      version: 1,
      properties: { owner: 'me' },
      location: expect.any(String),
    })
    const inserted = await ask('POST', '/v1/table/t/insert?mode=append', arrowRows({ a: [4] }), {
      'content-type': 'application/octet-stream',
    })
    expect(inserted.json).toMatchObject({ version: 2 })
    const answer = await ask('POST', '/v1/table/t/query', {
      filter: 'a > 1',
      vector: [],
      k: 2 ** 63,
    })
    expect(answer.headers.get('content-type')).toBe('application/vnd.apache.arrow.file')
    expect(tableFromIPC(answer.bytes).toArray()).toEqual([{ a: 2 }, { a: 3 }, { a: 4 }])
    const again = await ask('POST', '/v1/table/t/insert?mode=overwrite', answer.bytes, {
      'content-type': 'application/vnd.apache.arrow.file',
    })
    expect(again.json).toMatchObject({ version: 3 })
    expect(await rowsOf(catalog, ['t'])).toBe(3)
  })

  it('are refused when they are damaged', async () => {
    const { ask } = await serveInMemory()
    for (const bytes of [new Uint8Array(), new Uint8Array(100), arrowRows().subarray(0, 100)]) {
      expectProblem(
        await ask('POST', '/v1/table/t/create', bytes, arrowStream),
        400,
        13,
        '/v1/table/t/create',
      )
    }
  })
})

describe('conventions', () => {
  it('success is 200 for every kind of operation', async () => {
    const { ask } = await serveInMemory()
    for (const [method, path, body] of [
      ['POST', '/v1/namespace/n/create', {}],
      ['POST', '/v1/namespace/n/exists', {}],
      ['POST', '/v1/namespace/n/describe', {}],
      ['GET', '/v1/namespace/$/list', undefined],
      ['POST', '/v1/table/n$t/declare', {}],
      ['POST', '/v1/table/n$t/exists', {}],
      ['POST', '/v1/table/n$t/version/create', { version: 1, manifest_path: 'm' }],
      ['POST', '/v1/table/n$t/version/describe', { version: 1 }],
      ['POST', '/v1/table/n$t/version/list', undefined],
      ['POST', '/v1/table/n$t/tags/create', { tag: 'x', version: 1 }],
      ['POST', '/v1/table/n$t/tags/list', undefined],
      ['POST', '/v1/table/n$t/tags/version', { tag: 'x' }],
      ['POST', '/v1/table/n$t/tags/delete', { tag: 'x' }],
      ['POST', '/v1/table/n$t/branches/create', { name: 'b' }],
      ['POST', '/v1/table/n$t/branches/list', undefined],
      ['POST', '/v1/table/n$t/branches/delete', { name: 'b' }],
      ['POST', '/v1/table/n$t/version/delete', { ranges: [] }],
      [
        'POST',
        '/v1/table/version/batch-create',
        { entries: [{ id: ['n', 't'], version: 2, manifest_path: 'm' }] },
      ],
      ['POST', '/v1/table/n$t/drop', undefined],
      ['POST', '/v1/namespace/n/drop', {}],
      ['POST', '/v1/namespace/n/drop', { mode: 'skip' }],
    ] as const) {
      const { status, text } = await ask(method, path, body)
      expect([path, status, text]).toStrictEqual([path, 200, text])
    }
  })

  it('answers 406 for what the protocol knows and the catalog does not', async () => {
    const { ask } = await serveInMemory()
    const backfill = '/v1/table/t/backfill_column'
    expectProblem(await ask('POST', backfill, {}), 406, 0, backfill, /not supported/)
    const view = '/v1/materialized_view/t/create'
    expectProblem(await ask('POST', view, {}), 406, 0, view)
  })

  it('takes GET and POST where clients disagree', async () => {
    const { ask } = await withFlights()
    for (const verb of ['count_rows', 'tags/list', 'branches/list', 'version/list']) {
      const path = `/v1/table/prod$flights/${verb}`
      const [got, posted] = [await ask('GET', path), await ask('POST', path)]
      expect([got.status, posted.status]).toStrictEqual([200, 200])
      expect(got.text).toBe(posted.text)
    }
  })

  it('takes nothing, an empty body, null or an object where a question needs no fields', async () => {
    const { ask } = await withFlights()
    const json = { 'content-type': 'application/json' }
    for (const body of [undefined, '', 'null', '{}', '{"identity":{"api_key":"x"}}']) {
      expect((await ask('POST', '/v1/table/prod$flights/version/list', body, json)).status).toBe(200)
      expect((await ask('POST', '/v1/table/prod$flights/describe', body, json)).status).toBe(200)
    }
  })

  it.each(['null', '[]', '"x"', '1', 'true'])('changes nothing for the body %s', async (body) => {
    const { ask, catalog } = await withFlights()
    const path = '/v1/table/prod$flights'
    for (const action of ['deregister', 'drop', 'restore', 'optimize']) {
      const reply = await ask('POST', `${path}/${action}`, body, { 'content-type': 'application/json' })
      expectProblem(reply, 400, 13, `${path}/${action}`, /body must be a JSON object/)
    }
    expect(await catalog.countTableRows({ id: ['prod', 'flights'] })).toStrictEqual({ count: 3 })
  })

  it('refuses a body whose id is not that of the path', async () => {
    const { ask } = await withFlights()
    const path = '/v1/table/prod$flights/describe'
    expect((await ask('POST', path, { id: ['prod', 'flights'] })).status).toBe(200)
    expectProblem(await ask('POST', path, { id: ['prod', 'other'] }), 400, 13, path, /not that of the path/)
    expectProblem(await ask('POST', path, { id: 'prod$flights' }), 400, 13, path)
  })

  it('takes any name in any encoding', async () => {
    const { catalog, ask } = await serveInMemory()
    const names = [
      'a b',
      'a+b',
      'a/b',
      'a%20b',
      'ünïcode ☃',
      '?#&=',
      '..',
      "it's",
      'create',
      'batch-commit',
      '[]{}|\\^`"<>',
    ]
    for (const name of names) {
      await catalog.createNamespace({ id: [name] })
      await catalog.declareTable({ id: [name, name] })
      const encoded = encodeURIComponent(`${name}$${name}`)
      for (const id of [encoded, encoded.replaceAll('%2B', '+')]) {
        const reply = await ask('POST', `/v1/table/${id}/describe`, { id: [name, name] })
        expect(reply.status, `${name} as ${id}: ${reply.text}`).toBe(200)
      }
    }
  })

  it('hands headers to hooks as context, but no credentials, and only believes itself about the caller', async () => {
    const contexts: unknown[] = []
    const { ask } = await serveInMemory(
      { auth: { tokens: [{ token: 'a-secret-token-of-ada', name: 'ada' }] } },
      { authorize: ({ context }) => contexts.push(context) },
    )
    const context = { team: 'x', principal: 'root', 'header.x-team': 'forged' }
    const headers = {
      authorization: 'Bearer a-secret-token-of-ada',
      'x-api-key': 'other',
      cookie: 'c',
      'x-team': 'flights',
    }
    await ask('POST', '/v1/namespace/$/describe', { context }, headers)
    expect(contexts).toStrictEqual([
      expect.objectContaining({ team: 'x', principal: 'ada', 'header.x-team': 'flights' }),
    ])
    expect(JSON.stringify(contexts)).not.toMatch(/secret-token-of-ada|other|cookie/)
  })

  it('gives a request id, or gives back a sane one', async () => {
    const { ask } = await serveInMemory()
    const id = async (given?: string) =>
      (
        await ask('GET', '/v1/table', undefined, given === undefined ? {} : { 'x-request-id': given })
      ).headers.get('x-request-id')
    expect(await id('trace-1')).toBe('trace-1')
    expect(await id()).not.toBe(await id())
    expect(await id('a b')).not.toBe('a b')
    expect(await id('x'.repeat(500))).toHaveLength((await id())!.length)
  })

  it('answers HEAD as GET without a body, and OPTIONS with the methods', async () => {
    const { ask } = await serveInMemory()
    const head = await ask('HEAD', '/v1/table')
    expect([head.status, head.text]).toStrictEqual([200, ''])
    const options = await ask('OPTIONS', '/v1/table/x/count_rows')
    expect([options.status, options.text, options.headers.get('allow')]).toStrictEqual([
      200,
      '',
      'POST, GET, HEAD, OPTIONS',
    ])
  })
})
