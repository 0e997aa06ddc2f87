import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Connection } from '@lancedb/lancedb'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { failsAtOnce, requestsOf, type Served, served } from './support/served.ts'

/*
 * LanceDB's namespace client, `connectNamespace('rest', …)`, against a served catalog on disk: the client
 * writes rows itself, as a Lance data set, where the catalog tells it to.
 */

const people = [
  { id: 1, name: 'Ada' },
  { id: 2, name: 'Bob' },
]

const plain = (rows: readonly object[]) => rows.map((row) => ({ ...row }))

describe.each([
  ['that keep versions beside the rows', false],
  ['that keep versions through the catalog', true],
])('namespace clients %s', (_, managedVersioning) => {
  let server: Served
  let db: Connection
  beforeEach(async () => {
    server = await served('lmdb', { managedVersioning, listing: 'children' })
    db = await server.namespace()
    await db.createNamespace(['prod'])
  })
  afterEach(() => server[Symbol.asyncDispose]())

  const id = ['prod', 'people']
  const paths = (seen: readonly { method: string; url: string }[]) =>
    seen.map(({ url }) => url.slice('/v1/table/prod%24people/'.length).replace(/\?.*/, ''))

  it('create, list, describe and drop namespaces', async () => {
    expect(await db.createNamespace(['prod', 'eu'], { properties: { owner: 'Ada' } })).toMatchObject({
      properties: { owner: 'Ada' },
    })
    expect(await db.createNamespace(['prod'], { mode: 'exist_ok' })).toMatchObject({ properties: {} })
    expect((await db.listNamespaces()).namespaces).toEqual(['prod'])
    expect((await db.listNamespaces(['prod'])).namespaces).toEqual(['eu'])
    expect(await db.describeNamespace(['prod', 'eu'])).toMatchObject({ properties: { owner: 'Ada' } })
    await db.createTable('people', people, ['prod', 'eu'])
    await db.dropNamespace(['prod'], { behavior: 'cascade' })
    await db.dropNamespace(['prod'], { mode: 'skip' })
    expect((await db.listNamespaces()).namespaces).toEqual([])
  })

  it('create a table by declaring it and writing rows at its location', async () => {
    const seen = await requestsOf(server.proxy, () => db.createTable('people', people, ['prod']))
    const versions = ['version/list', 'version/list', 'version/create']
    expect(paths(seen)).toEqual(['declare', ...(managedVersioning ? versions : [])])
    const { location } = await server.catalog.describeTable({ id })
    const files = await readdir(fileURLToPath(location))
    expect(files.sort()).toEqual(['_transactions', '_versions', 'data'])
    expect(await db.tableNames(['prod'])).toEqual(['people'])
  })

  it('open a table by describing it, read it and change it', async () => {
    await db.createTable('people', people, ['prod'])
    const seen = await requestsOf(server.proxy, () => db.openTable('people', ['prod']))
    expect(paths(seen)).toEqual(['describe', ...(managedVersioning ? ['version/list'] : [])])
    const table = await db.openTable('people', ['prod'])
    await table.add([{ id: 3, name: 'Eve' }])
    expect(await table.delete('id = 1')).toMatchObject({ numDeletedRows: 1 })
    expect(plain(await table.query().where('id > 2').toArray())).toEqual([{ id: 3, name: 'Eve' }])
    const again = await db.openTable('people', ['prod'])
    expect([await again.countRows(), await again.version()]).toEqual([2, 3])
    await again.checkout(1)
    expect(await again.countRows()).toBe(2)
    await again.restore()
    expect(await again.countRows("name = 'Ada'")).toBe(1)
    const { versions } = await server.catalog.listTableVersions({ id })
    expect(versions.map(({ version }) => version)).toEqual([1, 2, 3, 4])
  })

  it('tell tables that were created from those only declared', async () => {
    await server.catalog.declareTable({ id: ['prod', 'a'] })
    await server.catalog.declareTable({ id: ['prod', 'z'] })
    await db.createTable('people', people, ['prod'])
    const only = async (name: string) =>
      (await server.catalog.describeTable({ id: ['prod', name], check_declared: true })).is_only_declared
    expect([await only('a'), await only('people')]).toEqual([true, false])
    const created = { id: ['prod'], include_declared: false }
    expect(await server.catalog.listTables(created)).toEqual({ tables: ['prod$people'] })
    expect(await server.catalog.listTables({ ...created, limit: 1 })).toEqual({ tables: ['prod$people'] })
    expect(await db.tableNames(['prod'])).toEqual(['a', 'people', 'z'])

    await db.createTable('z', people, ['prod'])
    expect(await only('z')).toBe(false)
    const first = await server.catalog.listTables({ ...created, limit: 1 })
    expect(first.tables).toEqual(['prod$people'])
    expect(await server.catalog.listTables({ ...created, limit: 1, page_token: first.page_token })).toEqual({
      tables: ['prod$z'],
    })
    await expect(db.openTable('a', ['prod'])).rejects.toThrow("Table 'a' was not found")
  })

  it('create over what is there only when asked to', async () => {
    await db.createTable('people', people, ['prod'])
    await expect(db.createTable('people', people, ['prod'])).rejects.toThrow("Table 'people' already exists")
    const kept = await db.createTable('people', people.slice(1), ['prod'], { existOk: true })
    expect(await kept.countRows()).toBe(2)
    const replaced = await db.createTable('people', people.slice(1), ['prod'], { mode: 'overwrite' })
    expect(await replaced.countRows()).toBe(1)
  })

  it('do not write over rows that the catalog keeps, and read what it changes in theirs', async () => {
    const remote = await server.remote()
    await remote.createTable('ours', people, ['prod'])
    await expect(db.createTable('ours', people, ['prod'])).rejects.toThrow("Table 'ours' already exists")
    await expect(db.openTable('ours', ['prod'])).rejects.toThrow("Table 'ours' was not found")

    await db.createTable('people', people, ['prod'])
    await expect(remote.createTable('people', people, ['prod'])).rejects.toThrow('already exists')
    const { catalog } = server
    await catalog.insertIntoTable({ id, data: people })
    expect((await catalog.countTableRows({ id })).count).toBe(4)
    expect(await (await db.openTable('people', ['prod'])).countRows()).toBe(4)

    const taken = await remote.createTable('people', people.slice(1), ['prod'], { mode: 'overwrite' })
    expect(await taken.countRows()).toBe(1)
  })

  it('rename tables, also into other namespaces', async () => {
    await db.createNamespace(['test'])
    await db.createTable('people', people, ['prod'])
    await db.renameTable('people', 'users', { namespacePath: ['prod'] })
    await db.renameTable('users', 'staff', { namespacePath: ['prod'], newNamespacePath: ['test'] })
    expect([await db.tableNames(['prod']), await db.tableNames(['test'])]).toEqual([[], ['staff']])
    expect(await (await db.openTable('staff', ['test'])).countRows()).toBe(2)
  })

  it('find all rows after adding at once', async () => {
    await db.createTable('people', [{ id: 0 }], ['prod'])
    const tables = await Promise.all([1, 2, 3, 4].map(() => db.openTable('people', ['prod'])))
    await Promise.all(tables.map((table, n) => table.add([{ id: n + 1 }])))
    const rows = await (await db.openTable('people', ['prod'])).query().toArray()
    expect(rows.map(({ id }) => id).sort()).toEqual([0, 1, 2, 3, 4])
  })

  it('drop a table with its rows', async () => {
    await db.createTable('people', people, ['prod'])
    const { location } = await server.catalog.describeTable({ id })
    await db.dropTable('people', ['prod'])
    await expect(readdir(fileURLToPath(location))).rejects.toMatchObject({ code: 'ENOENT' })
    await db.createTable('a', people, ['prod'])
    await db.createTable('b', people, ['prod'])
    await db.dropAllTables(['prod'])
    expect(await db.tableNames(['prod'])).toEqual([])
  })

  it('list names a page at a time', async () => {
    for (const name of ['c', 'a', 'b']) await server.catalog.declareTable({ id: ['prod', name] })
    expect(await db.tableNames(['prod'], { limit: 2 })).toEqual(['a', 'b'])
    expect(await db.tableNames(['prod'], { startAfter: 'b' })).toEqual(['c'])
    const page = await db.listTables(['prod'], { limit: 2 })
    expect((await db.listTables(['prod'], { limit: 2, pageToken: page.pageToken! })).tables).toEqual(['c'])
  })

  it('are refused once, with the error that it is', async () => {
    await db.createTable('people', people, ['prod'])
    const { proxy } = server
    await failsAtOnce(proxy, () => db.openTable('nope', ['prod']), "Table 'nope' was not found")
    await failsAtOnce(proxy, () => db.dropTable('nope', ['prod']), "Table 'nope' was not found")
    await failsAtOnce(proxy, () => db.createTable('t', people, ['nope']), 'There is no namespace nope')
    await failsAtOnce(proxy, () => db.createNamespace(['prod']), 'Namespace already exists')
    await failsAtOnce(proxy, () => db.describeNamespace(['nope']), 'Namespace not found')
    await failsAtOnce(proxy, () => db.dropNamespace(['nope']), 'Namespace not found')
    await failsAtOnce(proxy, () => db.dropNamespace(['prod']), 'Namespace not empty')
    await failsAtOnce(proxy, () => db.renameTable('nope', 'x', { namespacePath: ['prod'] }), /not found/)
    const stranger = await server.namespace('not-the-token')
    await failsAtOnce(proxy, () => stranger.tableNames(), 'credentials are not valid')
    await failsAtOnce(proxy, () => stranger.createTable('t', people), 'credentials are not valid')
    await failsAtOnce(proxy, () => stranger.openTable('people', ['prod']), 'credentials are not valid')
  })

  it('keep their files when the catalog is vacuumed', async () => {
    await db.createTable('people', people, ['prod'])
    await server.catalog.vacuum({ graceMillis: 0 })
    expect(await (await db.openTable('people', ['prod'])).countRows()).toBe(2)
  })
})

it('namespace clients get credentials that they do not ask for, and others none', async () => {
  const storageOptions = (location: string) => ({ of: location })
  for (const [listing, isVended] of [
    ['children', true],
    ['recursive', false],
  ] as const) {
    await using server = await served('memory', { listing, storageOptions })
    const ask = async (path: string, body: object) => {
      const answer = await fetch(`${server.proxy.url}/v1/table/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer a-token-for-tests' },
        body: JSON.stringify(body),
      })
      return (await answer.json()) as { location: string; storage_options?: object }
    }
    for (const path of ['t/declare', 't/describe']) {
      const { location, storage_options } = await ask(path, {})
      expect(storage_options).toEqual(isVended ? { of: location } : undefined)
    }
    expect(await ask('t/describe', { vend_credentials: false })).not.toHaveProperty('storage_options')
  }
})
