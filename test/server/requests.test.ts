import { beforeEach, describe, expect, it } from 'vitest'
import { arrowRows, arrowStream, expectProblem, type Served, serveInMemory } from './support/ask.ts'

/*
 * The path, the query and the body of a request: no part is ignored, and the parts must agree.
 */

const rows = '/v1/table/t/count_rows'
let served: Served

beforeEach(async () => {
  served = await serveInMemory()
  const { catalog } = served
  await catalog.createTable({ id: ['t'], data: [{ x: 1 }, { x: 2 }] })
  await catalog.deleteFromTable({ id: ['t'], predicate: 'x = 1' })
  await catalog.createTableTag({ id: ['t'], tag: 'whole', version: 1 })
  await catalog.createTableBranch({ id: ['t'], name: 'b' })
})

const post = async (path: string, body?: unknown) => {
  const { status, text } = await served.ask('POST', path, body)
  return { status, text }
}

describe('a query parameter', () => {
  it('whose place is the body must say what the body says', async () => {
    for (const [path, body] of [
      [`${rows}?version=1`, { version: 99 }],
      [`${rows}?version=1`, {}],
      [`${rows}?version=1`, undefined],
      [`${rows}?branch=b`, { branch: 'c' }],
      ['/v1/table/t/describe?load_detailed_metadata=true', { load_detailed_metadata: false }],
    ] as const) {
      expect(await post(path, body), path).toMatchObject({
        status: 400,
        text: expect.stringMatching(/in the query/),
      })
    }
    expect(await post(`${rows}?version=1`, { version: 1 })).toEqual({ status: 200, text: '2' })
    const described = await post('/v1/table/t/describe?load_detailed_metadata=true', {
      load_detailed_metadata: true,
    })
    expect(described).toMatchObject({ status: 200, text: expect.stringContaining('"version":2') })
  })

  it('is taken of a GET, which has no body', async () => {
    expect((await served.ask('GET', `${rows}?version=1`)).text).toBe('2')
    expect((await served.ask('GET', `${rows}?tag=whole`)).text).toBe('2')
    expect((await served.ask('GET', rows)).text).toBe('1')
  })

  it('that the operation does not read is refused, and nothing is done', async () => {
    for (const [path, body, says] of [
      ['/v1/table/t/delete?branch=b', { predicate: 'true' }, /branch.*Send it in the body/],
      ['/v1/table/t/rename?new_table_name=u', { new_table_name: 'v' }, /Send it in the body/],
      [`${rows}?verison=1`, {}, /Did you mean version/],
      ['/v1/table/t/schema_metadata/update?brunch=b', { a: 'b' }, /Did you mean branch/],
      ['/v1/table/t/version/list?recursive=false', undefined, /no query parameter "recursive"/],
    ] as const) {
      const reply = await served.ask('POST', path, body)
      expectProblem(reply, 400, 13, path.split('?')[0]!, says)
    }
    const listed = await served.ask('GET', '/v1/namespace/$/table/list?recursive=false')
    expectProblem(listed, 400, 13, '/v1/namespace/$/table/list', /page_token, limit, include_declared/)
    const inserted = await served.ask('POST', '/v1/table/t/insert?version=1', arrowRows(), arrowStream)
    expect(inserted.status).toBe(400)
    expect((await served.catalog.countTableRows({ id: ['t'] })).count).toBe(1)
  })

  it('is no matter for what is not supported', async () => {
    expect((await served.ask('POST', '/v1/materialized_view/t/create?anything=1', { more: 1 })).status).toBe(
      406,
    )
  })
})

describe('a field that the operation does not have', () => {
  it('is 400, with the nearest name', async () => {
    expectProblem(
      await served.ask('POST', rows, { filter: 'x > 1' }),
      400,
      13,
      rows,
      /Did you mean predicate\?/,
    )
  })

  it('is ignored by a server that is set so, at any depth; its place is not', async () => {
    const { ask, catalog } = await serveInMemory({ unknownFields: 'ignore' })
    await catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
    const counted = await ask('POST', `${rows}?later=1`, { newer: { a: 1 }, predicate: 'x = 1' })
    expect([counted.status, counted.text]).toEqual([200, '1'])
    const operations = [{ declare_table: { id: ['u'], hints: [], properties: { newer: 'kept' } } }]
    const { status } = await ask('POST', '/v1/table/batch-commit', { operations, newer: 1 })
    expect(status).toBe(200)
    expect(await catalog.describeTable({ id: ['u'] })).toMatchObject({ properties: { newer: 'kept' } })
    expect((await ask('POST', '/v1/table/t/delete?branch=b', { predicate: 'true' })).status).toBe(400)
    expect((await ask('POST', '/v1/table/t/query', { full_text_query: 'a' })).status).toBe(406)
  })

  it('is not made of the delimiter, which all operations take', async () => {
    expect((await served.ask('POST', '/v1/table/t/describe?delimiter=.', {})).status).toBe(200)
    expect((await served.ask('POST', '/v1/table/t/count_rows?delimiter=.')).text).toBe('1')
  })
})

describe('the id of a body', () => {
  it('that is empty is none, where the path names something', async () => {
    expect(await post(rows, { id: [] })).toEqual({ status: 200, text: '1' })
    expect(await post('/v1/table/t/describe', { id: [] })).toMatchObject({ status: 200 })
    const { transaction_id } = await served.catalog.createNamespace({ id: ['n'] })
    expect(await post(`/v1/transaction/${transaction_id}/describe`, { id: [] })).toMatchObject({
      status: 200,
    })
    expect(await post('/v1/namespace/n/exists', { id: [] })).toMatchObject({ status: 200 })
  })

  it('that is another than the path has is 400', async () => {
    const { transaction_id } = await served.catalog.createTable({ id: ['u'], data: [{ x: 1 }] })
    const transaction = `/v1/transaction/${transaction_id}/describe`
    for (const [path, id] of [
      [rows, ['u']],
      [rows, ['n', 't']],
      [transaction, ['u']],
      [transaction, ['u', 'other']],
      [transaction, [transaction_id, 'u']],
      [`/v1/transaction/u$${transaction_id}/describe`, [transaction_id]],
    ] as const) {
      expect(await post(path, { id }), String(id)).toMatchObject({ status: 400 })
    }
    expect(await post(transaction, { id: [transaction_id] })).toMatchObject({ status: 200 })
    expect(await post(transaction, { id: ['u', transaction_id] })).toMatchObject({ status: 200 })
  })
})

describe('a value that cannot be read', () => {
  it('is told when it is text that is not UTF-8', async () => {
    const body = Buffer.concat([Buffer.from('{"properties":{"a":"'), Buffer.from([0xff]), Buffer.from('"}}')])
    const type = { 'content-type': 'application/json' }
    const reply = await served.ask('POST', '/v1/namespace/n/create', new Uint8Array(body), type)
    expectProblem(reply, 400, 13, '/v1/namespace/n/create', /not valid UTF-8/)
    expect((await served.catalog.listNamespaces({ id: [] })).namespaces).toEqual([])
  })

  it('says the bound of a limit', async () => {
    const path = '/v1/namespace/$/table/list'
    const reply = await served.ask('GET', `${path}?limit=9223372036854775807`)
    expectProblem(reply, 400, 13, path, /limit must be a whole number from 0 to 2\^53 − 1/)
  })
})
