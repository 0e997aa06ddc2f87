import { tableFromArrays, tableFromIPC, tableToIPC } from '@uwdata/flechette'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type ClientOptions, connect } from '../../src/client/index.ts'
import { fetchHandler } from '../../src/server/index.ts'
import { type CatalogOptions, openCatalog, operations } from '../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../support/catalogs.ts'
import { fails } from '../support/refusals.ts'

/** A client of a server over a fresh catalog in memory, and every request it sent. */
async function client(options: ClientOptions = {}, catalogOptions?: CatalogOptions) {
  const local = closedAfterwards(await openCatalog('memory:', catalogOptions))
  const handler = await fetchHandler(local, {
    limits: { eventLoopDelay: 0 },
    auth: { tokens: ['a-good-long-token', 'another-long-token'] },
  })
  onTestFinished(() => handler.close())
  const sent: Request[] = []
  const catalog = connect('http://catalog.test/', {
    token: 'a-good-long-token',
    fetch: (request) => {
      sent.push(request.clone())
      return handler(request)
    },
    ...options,
  })
  return { catalog, local, sent }
}

const pathOf = ({ url }: Request) => url.slice('http://catalog.test'.length)

describe('requests', () => {
  it('join names by $, encode them, and send the root as $', async () => {
    const { catalog, sent } = await client()
    await catalog.createNamespace({ id: ['a b/ü?'] })
    await catalog.listTables({ id: [], limit: 3, include_declared: false })
    await catalog.listTables({ id: ['a b/ü?'], delimiter: '.' })
    expect(sent.map((request) => `${request.method} ${pathOf(request)}`)).toEqual([
      'POST /v1/namespace/a%20b%2F%C3%BC%3F/create',
      'GET /v1/namespace/%24/table/list?limit=3&include_declared=false',
      'GET /v1/namespace/a%20b%2F%C3%BC%3F/table/list',
    ])
    expect(await sent[0]!.json()).toEqual({ id: ['a b/ü?'] })
  })

  it('send header entries of the context as headers, and the others in the body', async () => {
    const seen: unknown[] = []
    const { catalog, sent } = await client({}, { authorize: ({ context }) => seen.push(context) })
    await catalog.createNamespace({ id: ['n'], context: { 'header.X-Team': 'blue', region: 'eu' } })
    expect(sent[0]!.headers.get('x-team')).toBe('blue')
    expect(await sent[0]!.json()).toEqual({ id: ['n'], context: { region: 'eu' } })
    expect(seen[0]).toMatchObject({ 'header.x-team': 'blue', region: 'eu' })
  })

  it('are refused here by the schemas of the catalog, before anything is sent', async () => {
    const { catalog, local, sent } = await client()
    for (const request of [{}, { id: [''] }, { id: ['a$b'] }, { id: ['t'], version: -1 }] as never[]) {
      const there = await local.countTableRows(request).catch((error: Error) => error.message)
      expect(there).toEqual(expect.any(String))
      const { message } = await fails(catalog.countTableRows(request), 'InvalidInput')
      expect(message).toBe(there)
    }
    await fails(catalog.listTables({ id: [], delimiter: '123456789' }), 'InvalidInput', 'delimiter')
    expect(sent).toEqual([])
  })

  it('refuses names that a URL takes for steps in its path', async () => {
    const { catalog, local, sent } = await client()
    await local.declareTable({ id: ['..'] })
    await fails(catalog.describeTable({ id: ['..'] }), 'InvalidInput', 'cannot be sent in a URL')
    expect(sent).toEqual([])
    expect((await catalog.listTables({ id: [] })).tables).toEqual(['..'])
  })

  it('reach every operation, those that are not supported too', async () => {
    const { catalog, sent } = await client()
    for (const { definition } of Object.values(operations)) {
      if (definition.errors.join() !== 'Unsupported') continue
      const call = catalog[definition.name] as (request: object) => Promise<unknown>
      await fails(call({ id: ['t'], index_name: 'i' }), 'Unsupported', definition.name)
    }
    await fails(catalog.dropTableIndex({ id: ['t'], index_name: 'i/1' }), 'TableNotFound')
    expect(sent.map(pathOf)).toContain('/v1/table/t/index/i%2F1/drop')
  })
})

describe('answers', () => {
  it('carry the headers of the response in their context', async () => {
    const { catalog } = await client({ headers: { 'X-Request-Id': 'mine-1' } })
    await catalog.createTable({ id: ['t'], data: [{ a: 1 }] })
    const counted = await catalog.countTableRows({ id: ['t'] })
    expect(counted).toEqual({
      count: 1,
      context: expect.objectContaining({ 'header.x-request-id': 'mine-1' }),
    })
    const { context = {} } = await catalog.listTables({ id: [] })
    expect(Object.keys(context)).toContain('header.x-request-id')
    expect(context).toHaveProperty(['header.content-type'], 'application/json; charset=utf-8')
  })

  it('name bare bodies, with the transaction', async () => {
    const { catalog } = await client()
    await catalog.createTable({ id: ['t'], data: [{ a: 1 }] })
    const { metadata, transaction_id } = await catalog.updateTableSchemaMetadata({
      id: ['t'],
      metadata: { unit: 'm', context: 'x' },
    })
    expect(metadata).toEqual({ unit: 'm', context: 'x' })
    expect((await catalog.describeTransaction({ id: [transaction_id!] })).status).toBe('Succeeded')
  })

  it('listings have the delimiter that was asked for, and a clash is told', async () => {
    const { catalog } = await client()
    await catalog.createNamespace({ id: ['a'] })
    await catalog.declareTable({ id: ['a', 'b'] })
    expect((await catalog.listAllTables({ delimiter: '.' })).tables).toEqual(['a.b'])
    expect((await catalog.listTables({ id: ['a'], delimiter: '::' })).tables).toEqual(['a::b'])
    await catalog.declareTable({ id: ['x.y'] })
    await fails(catalog.listTables({ id: [], delimiter: '.' }), 'InvalidInput', 'occurs in a listed name')
  })
})

describe('rows', () => {
  it('travel as they are when they are bytes, and as Arrow otherwise', async () => {
    const { catalog, sent } = await client()
    const table = tableFromArrays({ a: [1, 2] })
    const stream = tableToIPC(table, { format: 'stream' })!
    await catalog.createTable({ id: ['stream'], data: stream })
    await catalog.createTable({ id: ['file'], data: tableToIPC(table, { format: 'file' })! })
    await catalog.createTable({ id: ['buffer'], data: new Uint8Array(stream).buffer })
    await catalog.createTable({ id: ['table'], data: table })
    await catalog.createTable({ id: ['objects'], data: [{ a: 1 }, { a: 2 }] })
    expect(new Uint8Array(await sent[0]!.arrayBuffer())).toEqual(new Uint8Array(stream))
    expect(sent.map(({ headers }) => headers.get('content-type')!.split('.').at(-1))).toEqual([
      'stream',
      'file',
      'stream',
      'stream',
      'stream',
    ])
    for (const name of ['stream', 'file', 'buffer', 'table', 'objects']) {
      const { data } = await catalog.queryTable({ id: [name] })
      expect(tableFromIPC(data).toArray()).toEqual([{ a: 1 }, { a: 2 }])
    }
  })

  it('row objects get the types of the table they are inserted into', async () => {
    const { catalog } = await client()
    const schema = { fields: [{ name: 'n', type: { type: 'int64' }, nullable: true }] }
    await catalog.createTable({ id: ['t'], data: [{ n: 1 }], schema })
    await catalog.insertIntoTable({ id: ['t'], data: [{ n: 2 }] })
    await fails(catalog.insertIntoTable({ id: ['t'], data: [{ n: 'x' }] }), 'TableSchemaValidationError', 'n')
    await fails(catalog.insertIntoTable({ id: ['u'], data: [{ n: 1 }] }), 'TableNotFound')
    expect((await catalog.countTableRows({ id: ['t'] })).count).toBe(2)
    await catalog.insertIntoTable({ id: ['t'], data: [{ n: 'x' }], mode: 'Overwrite' })
    expect((await catalog.countTableRows({ id: ['t'] })).count).toBe(1)
  })

  it('row objects are inserted also by who may not describe the table', async () => {
    const { catalog } = await client({}, { authorize: ({ operation }) => operation !== 'describeTable' })
    await catalog.createTable({ id: ['t'], data: [{ a: 1.5 }] })
    await catalog.insertIntoTable({ id: ['t'], data: [{ a: 2.5 }] })
    expect((await catalog.countTableRows({ id: ['t'] })).count).toBe(2)
  })
})

describe('the handle', () => {
  it('openCatalog gives it for a URL; upkeep is told to be done elsewhere', async () => {
    const { catalog } = await client()
    const local = closedAfterwards(await openCatalog(await freshFolder()))
    const handler = await fetchHandler(local, { limits: { eventLoopDelay: 0 }, auth: false })
    onTestFinished(() => handler.close())
    await using remote = await openCatalog('http://localhost', { fetch: handler })
    await remote.createNamespace({ id: ['n'] })
    expect((await local.listNamespaces({ id: [] })).namespaces).toEqual(['n'])
    const { vacuum } = (await openCatalog('http://localhost' as string)) as typeof local
    await fails(vacuum(), 'Unsupported', 'where the catalog lies')
    const upkeep = [
      'vacuum',
      'verify',
      'backup',
      'withBackupLease',
      'exportTo',
      'importFrom',
      'metrics',
      'isCopy',
    ]
    expect(membersOf(catalog)).toEqual(membersOf(local).filter((name) => !upkeep.includes(name)))
  })

  it('refuses what comes after it was closed', async () => {
    const { catalog } = await client()
    await catalog.close()
    await fails(catalog.listTables({ id: [] }), 'ServiceUnavailable', 'closed')
  })

  it.each([
    ['not a url', /Give a URL/],
    ['ftp://host', /Give a URL/],
    ['http://user:pass@host', /token or apiKey/],
    ['http://host/?x=1', /query/],
  ])('refuses to connect to %s', (url, message) => {
    expect(() => connect(url)).toThrow(message)
  })

  it('refuses credentials that are no header, without repeating them', () => {
    for (const options of [{ token: 'secret\n' }, { apiKey: '' }, { headers: { 'x-a': 'secret\n' } }]) {
      expect(() => connect('http://host', options)).toThrow(
        /^(token|apiKey|headers\["x-a"\]) is empty, or holds characters/,
      )
    }
    expect(() => connect('http://host', { timeout: -1 })).toThrow('timeout must be a number from 0')
  })

  it('keeps the path of its URL', async () => {
    const urls: string[] = []
    const catalog = connect('https://host/catalogs/one//', {
      fetch: async ({ url }) => {
        urls.push(url)
        return Response.json({ tables: [] })
      },
    })
    await catalog.listAllTables({})
    expect(urls).toEqual(['https://host/catalogs/one/v1/table'])
  })
})

/** The names of all members, those included that handles inherit. */
function membersOf(handle: object): string[] {
  const names: string[] = []
  for (const name in handle) names.push(name)
  return names.sort()
}
