import { type Connection, Index, type Table } from '@lancedb/lancedb'
import { Field, FixedSizeList, Float32, List, Schema } from 'apache-arrow'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { limitEach } from '../../../support/time-limit.ts'
import { type Kind, requestsOf, type Served, served } from './support/served.ts'

// Each test loads LanceDB's client and talks with it.
limitEach(60)

/*
 * LanceDB's remote client, `connect('db://…', { hostOverride })`, against a served catalog: the rows go
 * through the server.
 */

const people = [
  { id: 1, name: 'Ada', height: 1.5 },
  { id: 2, name: 'Bob', height: 2.5 },
  { id: 3, name: 'Eve', height: 3.5 },
]

const plain = (rows: readonly object[]) => rows.map((row) => ({ ...row }))

describe.each<Kind>(['memory', 'lmdb'])('the remote client, on %s', (kind) => {
  let server: Served
  let db: Connection
  beforeEach(async () => {
    server = await served(kind)
    db = await server.remote()
  })
  afterEach(() => server[Symbol.asyncDispose]())

  const namesOf = async (table: Table) =>
    (await table.query().select(['name']).toArray()).map(({ name }) => name)

  it('creates, lists, describes and drops namespaces', async () => {
    expect(await db.createNamespace(['prod'], { properties: { owner: 'Ada' } })).toMatchObject({
      properties: { owner: 'Ada' },
    })
    await db.createNamespace(['prod', 'eu'])
    await db.createNamespace(['test'])
    expect(await db.createNamespace(['prod'], { mode: 'exist_ok' })).toMatchObject({
      properties: { owner: 'Ada' },
    })
    expect((await db.listNamespaces()).namespaces).toEqual(['prod', 'test'])
    expect((await db.listNamespaces(['prod'])).namespaces).toEqual(['eu'])
    const first = await db.listNamespaces([], { limit: 1 })
    expect(first.namespaces).toEqual(['prod'])
    const second = await db.listNamespaces([], { limit: 1, pageToken: first.pageToken! })
    expect(second.namespaces).toEqual(['test'])
    expect(second.pageToken ?? '').toBe('')
    expect(await db.describeNamespace(['prod'])).toMatchObject({ properties: { owner: 'Ada' } })

    await db.createNamespace(['prod'], { mode: 'overwrite', properties: { owner: 'Bob' } })
    expect((await db.listNamespaces(['prod'])).namespaces).toEqual([])
    await db.createTable('t', people, ['test'])
    await db.dropNamespace(['test'], { behavior: 'cascade' })
    expect(await db.dropNamespace(['test'], { mode: 'skip' })).toEqual({})
    await db.dropNamespace(['prod'])
    expect((await db.listNamespaces()).namespaces).toEqual([])
  })

  it('creates tables in each mode, and opens them', async () => {
    await db.createNamespace(['prod'])
    const table = await db.createTable('people', people, ['prod'])
    expect(plain(await table.query().toArray())).toEqual(people)
    const opened = await db.openTable('people', ['prod'])
    expect(await opened.countRows()).toBe(3)
    expect(String(await opened.schema())).toBe(
      'Schema<{ 0: id: Float64, 1: name: Utf8, 2: height: Float64 }>',
    )
    const kept = await db.createTable('people', people.slice(1), ['prod'], { existOk: true })
    expect(await kept.countRows()).toBe(3)
    const replaced = await db.createTable('people', [{ city: 'Rome' }], ['prod'], { mode: 'overwrite' })
    expect(plain(await replaced.query().toArray())).toEqual([{ city: 'Rome' }])
    expect(await replaced.version()).toBe(1)
  })

  it('creates a table where one was declared', async () => {
    const { location } = await server.catalog.declareTable({ id: ['people'] })
    const table = await db.createTable('people', people)
    expect(await table.countRows()).toBe(3)
    expect(await server.catalog.describeTable({ id: ['people'] })).toMatchObject({ location })
  })

  it('lists the tables of one namespace, a page at a time', async () => {
    await db.createNamespace(['prod'])
    await db.createTable('hidden', people, ['prod'])
    for (const name of ['d', 'a', 'c', 'b']) await db.createTable(name, [{ id: 1 }])
    expect(await db.tableNames()).toEqual(['a', 'b', 'c', 'd'])
    expect(await db.tableNames(['prod'])).toEqual(['hidden'])
    expect(await db.tableNames({ limit: 2 })).toEqual(['a', 'b'])
    expect(await db.tableNames({ startAfter: 'b' })).toEqual(['c', 'd'])
    expect(await db.tableNames({ startAfter: 'bb', limit: 1 })).toEqual(['c'])
    expect(await db.tableNames({ startAfter: 'd' })).toEqual([])

    const names: string[] = []
    for (let pageToken: string | undefined; ; ) {
      const page = await db.listTables({ limit: 3, ...(pageToken ? { pageToken } : {}) })
      names.push(...page.tables)
      if (!page.pageToken) break
      pageToken = page.pageToken
    }
    expect(names).toEqual(['a', 'b', 'c', 'd'])
  })

  it('searches by vectors', async () => {
    const table = await db.createTable('points', [
      { id: 1, vector: [0, 0] },
      { id: 2, vector: [3, 4] },
      { id: 3, vector: [1, 0] },
    ])
    const near = plain(await table.vectorSearch([0, 0]).select(['id', '_distance']).limit(2).toArray())
    expect(near).toEqual([
      { id: 1, _distance: 0 },
      { id: 3, _distance: 1 },
    ])
    expect(
      plain(
        await table
          .query()
          .nearestTo([0, 0])
          .column('vector')
          .distanceType('dot')
          .where('id > 1')
          .postfilter()
          .distanceRange(0, 5)
          .bypassVectorIndex()
          .select({ id: 'id' })
          .toArray(),
      ),
    ).toEqual([
      { id: 2, _distance: 1 },
      { id: 3, _distance: 1 },
    ])
    const twice = table.vectorSearch([0, 0]).where('id > 1').limit(1).select({ twice: '_distance * 2' })
    expect(plain(await twice.toArray())).toEqual([{ twice: 2, _distance: 1 }])
    const both = await table
      .query()
      .nearestTo([0, 0])
      .addQueryVector([3, 4])
      .limit(1)
      .select(['id'])
      .toArray()
    expect(plain(both)).toEqual([
      { query_index: 0, id: 1, _distance: 0 },
      { query_index: 1, id: 2, _distance: 0 },
    ])
  })

  it('searches lists of vectors by all vectors of a query at once', async () => {
    const item = new Field('item', new FixedSizeList(2, new Field('item', new Float32(), true)), true)
    const schema = new Schema([new Field('tokens', new List(item), true)])
    const passages = [
      [
        [1, 0],
        [0, 1],
      ],
      [[1, 0]],
    ]
    const table = await db.createTable(
      'passages',
      passages.map((tokens) => ({ tokens })),
      { schema },
    )
    const query = table.query().nearestTo([1, 0]).addQueryVector([0, 1])
    expect(plain(await query.select(['_distance']).toArray())).toEqual([{ _distance: 0 }, { _distance: 2 }])
  })

  it('opens a table that exists if its columns are those that were given', async () => {
    await db.createTable('kept', [{ id: 1, name: 'Ada' }])
    const again = (rows: Record<string, unknown>[]) => db.createTable('kept', rows, { existOk: true })
    expect(await (await again([{ id: 2, name: 'Bo' }])).countRows()).toBe(1)
    for (const other of [{ zzz: 'x' }, { id: 1 }, { name: 'Bo', id: 1 }, { id: 'x', name: 'Bo' }])
      await expect(again([other])).rejects.toThrow('Provided schema does not match existing table schema')
    await expect(
      db.createEmptyTable('kept', new Schema([new Field('id', new Float32())]), {
        existOk: true,
      }),
    ).rejects.toThrow('Provided schema does not match')
    expect(await (await db.openTable('kept')).countRows()).toBe(1)
    // The protocol says that the table is kept, and asks nothing of the columns.
    const { catalog } = server
    const kept = await catalog.createTable({ id: ['kept'], mode: 'ExistOk', data: [{ zzz: 1 }] })
    expect(kept.version).toBe(1)
  })

  it('records indexes, lists, describes and drops them', async () => {
    const table = await db.createTable('points', [
      { id: 1, kind: 'a', vector: [0, 0] },
      { id: 2, kind: 'b', vector: [3, 4] },
    ])
    await table.createIndex('vector', { config: Index.ivfPq({ distanceType: 'cosine', numPartitions: 2 }) })
    await table.createIndex('id')
    await table.createIndex('kind', { config: Index.bitmap(), name: 'kinds' })
    const listed = await table.listIndices()
    expect(listed.map(({ name, columns, indexType }) => [name, columns, indexType])).toEqual([
      ['id_idx', ['id'], 'BTree'],
      ['kinds', ['kind'], 'Bitmap'],
      ['vector_idx', ['vector'], 'IvfPq'],
    ])
    expect(await table.indexStats('vector_idx')).toMatchObject({
      indexType: 'IVF_PQ',
      distanceType: 'cosine',
      numIndexedRows: 2,
      numUnindexedRows: 0,
    })
    expect(listed[0]).toMatchObject({ numIndexedRows: 2, numUnindexedRows: 0 })
    await table.add([{ id: 3, kind: 'c', vector: [1, 1] }])
    expect(await table.indexStats('vector_idx')).toMatchObject({ numIndexedRows: 3, numUnindexedRows: 0 })
    expect((await table.listIndices())[0]).toMatchObject({ numIndexedRows: 3, numUnindexedRows: 0 })
    expect(await table.indexStats('none')).toBeUndefined()
    await table.waitForIndex(['id_idx', 'kinds', 'vector_idx'], 2)
    await expect(table.waitForIndex(['none'], 1)).rejects.toThrow('timed out')
    await table.createIndex('kind', { config: Index.btree(), name: 'ids', waitTimeoutSeconds: 2 })
    await table.dropIndex('ids')
    await table.dropIndex('kinds')
    await expect(table.dropIndex('kinds')).rejects.toThrow('kinds')
    expect(await table.listIndices()).toHaveLength(2)
    await expect(table.createIndex('kind', { config: Index.fts() })).rejects.toThrow('Full-text indexes')
  })

  it('is told which rows an index finds, and waits until those of a large insert are added', async () => {
    const many = (first: number) => Array.from({ length: 5_000 }, (_, i) => ({ id: first + i, name: 'x' }))
    const table = await db.createTable('many', many(0))
    await table.createIndex('id', { waitTimeoutSeconds: 2 })
    expect(await table.indexStats('id_idx')).toMatchObject({ numIndexedRows: 5_000, numUnindexedRows: 0 })
    await table.add(many(5_000))
    await table.delete('id IN (7, 5007)')
    const told = { numIndexedRows: 4_999, numUnindexedRows: 4_999 }
    expect(await table.indexStats('id_idx')).toMatchObject(told)
    expect((await table.listIndices())[0]).toMatchObject(told)
    await expect(table.waitForIndex(['id_idx'], 1)).rejects.toThrow('timed out')
    await server.catalog.optimizeTable({ id: ['many'] })
    await table.waitForIndex(['id_idx'], 2)
    expect(await table.indexStats('id_idx')).toMatchObject({ numIndexedRows: 9_998, numUnindexedRows: 0 })
    expect(await table.countRows('id IN (6, 7, 5006, 5007)')).toBe(2)
  })

  it('explains and analyzes queries, and tells the size of tables', async () => {
    const table = await db.createTable('points', [
      { id: 1, vector: [0, 0] },
      { id: 2, vector: [3, 4] },
    ])
    expect(await table.query().where('id > 1').explainPlan()).toContain('FilterExec: id > 1')
    expect(await table.query().select({ twice: 'id * 2' }).explainPlan()).toContain('twice (computed)')
    expect(await table.vectorSearch([0, 0]).limit(1).explainPlan(true)).toContain(
      'KNNVectorDistance: metric=l2',
    )
    expect(await table.query().where('id > 1').analyzePlan()).toMatch(
      /^AnalyzeExec[\s\S]*FilterExec: id > 1, metrics=\[output_rows=1,/,
    )
    expect(await table.stats()).toMatchObject({
      numRows: 2,
      numIndices: 0,
      fragmentStats: { numFragments: 1, numSmallFragments: 1, lengths: { min: 2, max: 2, p50: 2 } },
    })
  })

  it('shows all names where it has no token to ask for more', async () => {
    const operations = Array.from({ length: 1_500 }, (_, n) => ({
      declare_table: { id: [`t${String(n).padStart(4, '0')}`] },
    }))
    await server.catalog.batchCommitTables({ operations })
    expect(await db.tableNames()).toHaveLength(1_500)
  })

  it('renames tables, also into other namespaces, and drops them', async () => {
    await db.createNamespace(['prod'])
    const versions = (await (await db.createTable('people', people)).listVersions()).length
    await db.renameTable('people', 'users')
    await db.renameTable('users', 'staff', { newNamespacePath: ['prod'] })
    expect([await db.tableNames(), await db.tableNames(['prod'])]).toEqual([[], ['staff']])
    await db.renameTable('staff', 'team', { namespacePath: ['prod'] })
    const table = await db.openTable('team', ['prod'])
    expect(await table.countRows()).toBe(3)
    expect(await table.listVersions()).toHaveLength(versions)
    await db.dropTable('team', ['prod'])
    expect(await db.tableNames(['prod'])).toEqual([])
  })

  it('adds, counts and deletes rows', async () => {
    const table = await db.createTable('people', people)
    expect((await table.add([{ id: 4, name: 'Zoe', height: 4.5 }])).version).toBe(2)
    expect(await table.countRows()).toBe(4)
    expect(await table.countRows("height > 2 AND name <> 'Zoe'")).toBe(2)
    expect(await table.delete('id >= 3')).toMatchObject({ numDeletedRows: 2, version: 3 })
    expect(await table.delete('id >= 3')).toMatchObject({ numDeletedRows: 0, version: 4 })
    expect(await namesOf(table)).toEqual(['Ada', 'Bob'])
    await table.add([{ id: 9, name: 'Kim', height: 9 }], { mode: 'overwrite' })
    expect(await namesOf(table)).toEqual(['Kim'])
  })

  it('queries with where, select, limit and offset', async () => {
    const table = await db.createTable('people', people)
    const query = () => table.query()
    expect(plain(await query().where('id > 1').toArray())).toEqual(people.slice(1))
    expect(plain(await query().select(['name', 'id']).limit(1).offset(1).toArray())).toEqual([
      { name: 'Bob', id: 2 },
    ])
    expect(plain(await query().select({ who: 'name' }).where('height < 2').toArray())).toEqual([
      { who: 'Ada' },
    ])
    expect(await query().where('id > 100').toArray()).toEqual([])
    expect((await query().limit(0).toArray()).length).toBe(0)
    const arrow = await query().where('id = 3').toArrow()
    expect([arrow.numRows, arrow.schema.names]).toEqual([1, ['id', 'name', 'height']])
    expect((await table.toArrow()).numRows).toBe(3)
    const batches: number[] = []
    for await (const batch of query()) batches.push(batch.numRows)
    expect(batches.reduce((sum, rows) => sum + rows, 0)).toBe(3)
  })

  it('all rows are there after many adds at once', async () => {
    const table = await db.createTable('people', [{ id: 0 }])
    const seen = await requestsOf(server.proxy, () =>
      Promise.all(Array.from({ length: 20 }, (_, n) => table.add([{ id: n + 1 }]))),
    )
    expect(seen.filter(({ url }) => url.includes('/insert/')).map(({ status }) => status)).toEqual(
      Array(20).fill(200),
    )
    const ids = (await table.query().toArray()).map(({ id }) => id).sort((a, b) => a - b)
    expect(ids).toEqual(Array.from({ length: 21 }, (_, n) => n))
    expect(await table.version()).toBe(21)
  })

  it('lists versions, checks one out and restores it', async () => {
    const table = await db.createTable('people', people.slice(0, 1))
    const before = Date.now() - 60_000
    await table.add(people.slice(1))
    await table.delete('id = 1')
    const versions = await table.listVersions()
    expect(versions.map(({ version }) => version)).toEqual([1, 2, 3])
    for (const { timestamp } of versions) expect(Math.abs(timestamp.getTime() - before)).toBeLessThan(600_000)

    await table.checkout(1)
    expect([await table.countRows(), await table.version()]).toEqual([1, 1])
    expect(await namesOf(table)).toEqual(['Ada'])
    await expect(table.add(people)).rejects.toThrow('fixed at version 1')
    await table.checkoutLatest()
    expect(await namesOf(table)).toEqual(['Bob', 'Eve'])

    await table.checkout(2)
    await table.restore()
    await table.checkoutLatest()
    expect(await table.version()).toBe(4)
    expect(await namesOf(table)).toEqual(['Ada', 'Bob', 'Eve'])
    expect(await (await db.openTable('people', [], { version: 3 })).countRows()).toBe(2)
  })

  it('lists more versions than fit into one page by default', async () => {
    await server.catalog.declareTable({ id: ['long'] })
    const entries = Array.from({ length: 1_200 }, (_, n) => ({
      create_table_version: { id: ['long'], version: n + 1, manifest_path: `m${n + 1}` },
    }))
    await server.catalog.batchCommitTables({ operations: entries })
    expect(await (await db.openTable('long')).listVersions()).toHaveLength(1_200)
  })

  it('creates, lists, reads, moves and deletes tags', async () => {
    const table = await db.createTable('people', people)
    await table.add(people)
    const tags = await table.tags()
    await tags.create('first', 1)
    await tags.create('v1.0-rc_1', 1)
    const list = await tags.list()
    expect(Object.keys(list).sort()).toEqual(['first', 'v1.0-rc_1'])
    expect(list.first!.version).toBe(1)
    expect(list.first!.manifestSize).toBeGreaterThan(0)
    await tags.update('first', 2)
    expect([await tags.getVersion('first'), await tags.getVersion('v1.0-rc_1')]).toEqual([2, 1])
    await table.checkout('v1.0-rc_1')
    expect([await table.version(), await table.countRows()]).toEqual([1, 3])
    await table.checkoutLatest()
    await tags.delete('v1.0-rc_1')
    expect(Object.keys(await tags.list())).toEqual(['first'])
  })

  it('creates, reads, changes, lists and deletes branches', async () => {
    const table = await db.createTable('people', people)
    await table.add([{ id: 4, name: 'Zoe', height: 4.5 }])
    const branches = await table.branches()
    const dev = await branches.create('dev', undefined, 1)
    expect([dev.currentBranch(), await dev.countRows()]).toEqual(['dev', 3])
    await dev.add([{ id: 5, name: 'Kim', height: 5.5 }])
    expect(await dev.delete('id = 1')).toMatchObject({ numDeletedRows: 1, version: 3 })
    expect(await namesOf(dev)).toEqual(['Bob', 'Eve', 'Kim'])
    expect(await namesOf(table)).toEqual(['Ada', 'Bob', 'Eve', 'Zoe'])
    expect((await dev.listVersions()).map(({ version }) => version)).toEqual([1, 2, 3])

    const { dev: contents } = await branches.list()
    expect(contents!.parentVersion).toBe(1)
    expect(contents!.manifestSize).toBeGreaterThan(0)
    expect(await (await branches.checkout('dev', 2)).countRows()).toBe(4)
    expect(await (await db.openTable('people', [], { branch: 'dev' })).countRows()).toBe(3)
    await (await branches.create('dev/next', 'dev')).add([{ id: 6, name: 'Lou', height: 6.5 }])
    expect(Object.keys(await branches.list()).sort()).toEqual(['dev', 'dev/next'])
    await branches.delete('dev/next')
    await branches.delete('dev')
    expect(await branches.list()).toEqual({})
  })
})
