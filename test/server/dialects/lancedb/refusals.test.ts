import type { Connection, Table } from '@lancedb/lancedb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { failsAtOnce, type Served, served } from './support/served.ts'

/*
 * What LanceDB's remote client makes of errors. It tries again on some statuses, and takes others for its own
 * purposes: what cannot succeed must cost one request and come back as what it is.
 */

describe('what the remote client is refused, it is refused once', () => {
  let server: Served
  let db: Connection
  let table: Table
  beforeAll(async () => {
    server = await served('memory')
    db = await server.remote()
    await db.createNamespace(['prod'])
    table = await db.createTable('people', [{ id: 1, name: 'Ada' }])
    await db.createTable('other', [{ id: 1 }], ['prod'])
    await (await table.tags()).create('first', 1)
    await (await table.branches()).create('dev')
    await server.catalog.createTableIndex({ id: ['people'], column: 'id', index_type: 'BTREE' })
    await server.catalog.declareTable({ id: ['declared'] })
    await server.catalog.registerTable({ id: ['foreign'], location: 's3://bucket/foreign' })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const refusals: Readonly<Record<string, [() => Promise<unknown>, ...(string | RegExp)[]]>> = {
    'a table that exists': [() => db.createTable('people', [{ id: 1 }]), "Table 'people' already exists"],
    'a table in a namespace that is missing': [
      () => db.createTable('t', [{ id: 1 }], ['nope']),
      'There is no namespace nope',
    ],
    'an unknown table': [() => db.openTable('nope'), "Table 'nope' was not found"],
    'an unknown table in a namespace': [() => db.openTable('nope', ['prod']), "Table 'nope' was not found"],
    'dropping an unknown table': [() => db.dropTable('nope'), 'There is no table nope'],
    'renaming an unknown table': [() => db.renameTable('nope', 'x'), 'There is no table nope'],
    'renaming to a name that is taken': [() => db.renameTable('people', 'declared'), 'already exists'],
    'renaming into a missing namespace': [
      () => db.renameTable('people', 'x', { newNamespacePath: ['nope'] }),
      'There is no namespace nope',
    ],
    'a namespace that exists': [() => db.createNamespace(['prod']), 'already exists'],
    'describing an unknown namespace': [() => db.describeNamespace(['nope']), 'There is no namespace nope'],
    'listing an unknown namespace': [() => db.tableNames(['nope']), 'There is no namespace nope'],
    'dropping an unknown namespace': [() => db.dropNamespace(['nope']), 'There is no namespace nope'],
    'dropping a namespace that is not empty': [() => db.dropNamespace(['prod']), 'is not empty'],
    'counting by a broken predicate': [() => table.countRows('id >'), '400', 'Invalid predicate'],
    'counting by an unknown column': [() => table.countRows('nope = 1'), '400', 'no column named `nope`'],
    'counting by a wrong type': [() => table.countRows("id > 'x'"), '400', 'Invalid predicate'],
    'deleting by an unknown column': [() => table.delete('nope = 1'), '400', 'no column named `nope`'],
    'querying by a broken predicate': [
      () => table.query().where('AND').toArray(),
      '400',
      'Invalid predicate',
    ],
    'selecting an unknown column': [
      () => table.query().select(['nope']).toArray(),
      '400',
      /no column \\"nope/,
    ],
    'a tag that exists': [async () => (await table.tags()).create('first', 1), '400', 'already has the tag'],
    'a tag on an unknown version': [async () => (await table.tags()).create('x', 99), 'has no version 99'],
    'a tag of a bad name': [async () => (await table.tags()).create('a b', 1), '400', 'tag must be'],
    'moving an unknown tag': [async () => (await table.tags()).update('nope', 1), /has no tag \\"nope/],
    'moving a tag to an unknown version': [
      async () => (await table.tags()).update('first', 99),
      'has no version 99',
    ],
    'reading an unknown tag': [async () => (await table.tags()).getVersion('nope'), /has no tag \\"nope/],
    'deleting an unknown tag': [async () => (await table.tags()).delete('nope'), /has no tag \\"nope/],
    'a branch that exists': [
      async () => (await table.branches()).create('dev'),
      "Table 'people (branch: dev)' already exists",
    ],
    'a branch of an unknown version': [
      async () => (await table.branches()).create('x', undefined, 99),
      "Table 'people (source: version 99)' was not found",
    ],
    'a branch of an unknown branch': [
      async () => (await table.branches()).create('x', 'nope'),
      "Table 'people (source: branch 'nope')' was not found",
    ],
    'an unknown branch': [async () => (await table.branches()).checkout('nope'), 'branch: nope'],
    'deleting an unknown branch': [
      async () => (await table.branches()).delete('nope'),
      "Table 'people (branch: nope)' was not found",
    ],
    'an unknown version': [
      async () => (await db.openTable('people', [], { version: 99 })).countRows(),
      "Table 'people (version: 99)' was not found",
    ],
    'dropping a column that is not there': [() => table.dropColumns(['nope']), /no column \\"nope/],
    'an index on an unknown column': [() => table.createIndex('nope'), /nope/],
    'an index that exists': [() => table.createIndex('id', { replace: false }), '400', 'already exists'],
    'a plan of a broken query': [() => table.query().where('AND').explainPlan(), '400', 'Invalid predicate'],
    'an order by what is no column': [
      () =>
        table
          .query()
          .orderBy({ columnName: 'nope' } as never)
          .toArray(),
      '400',
      /no column \\"nope/,
    ],
    'a search by text': [
      () => table.query().fullTextSearch('Ada').toArray(),
      'Full-text search needs a table of Lance',
    ],
    'a search where there are no vectors': [
      () => table.vectorSearch([1, 2]).toArray(),
      '400',
      'No vector column',
    ],
    'what has no path here': [async () => (await table.branches()).diff('dev'), '406', 'branches/diff'],
  }

  it.each(Object.keys(refusals))('%s', async (name) => {
    const [work, ...parts] = refusals[name]!
    await failsAtOnce(server.proxy, work, ...parts)
  })

  it('rows of columns that the table has no longer', async () => {
    const stale = await db.createTable('changing', [{ id: 1, name: 'Ada' }])
    await stale.add([{ id: 2, name: 'Bob' }])
    await server.catalog.insertIntoTable({ id: ['changing'], mode: 'Overwrite', data: [{ id: 'x' }] })
    await failsAtOnce(server.proxy, () => stale.add([{ id: 3, name: 'Eve' }]), '400')
  })

  it('rows of a table that is declared only, or another engine’s', async () => {
    const declared = await db.openTable('declared')
    await failsAtOnce(server.proxy, () => declared.countRows(), '400', 'is declared and has no rows')
    const foreign = await db.openTable('foreign')
    await failsAtOnce(server.proxy, () => foreign.countRows(), '400', 'the engine that wrote it')
    await failsAtOnce(server.proxy, () => foreign.delete('true'), '400')
  })

  it('everything, without the right credentials', async () => {
    const stranger = await server.remote({ apiKey: 'not-the-token' })
    await failsAtOnce(server.proxy, () => stranger.tableNames(), '401', 'credentials are not valid')
    await failsAtOnce(server.proxy, () => stranger.openTable('people'), '401')
    await failsAtOnce(server.proxy, () => stranger.createTable('t', [{ id: 1 }]), '401')
    await failsAtOnce(server.proxy, () => stranger.createNamespace(['x']), '401')
    await failsAtOnce(server.proxy, () => stranger.dropTable('people'), '401')
    const nobody = await server.remote({ apiKey: '' })
    await failsAtOnce(server.proxy, () => nobody.tableNames(), '401', 'has no credentials')
    expect(await db.tableNames()).toContain('people')
  })
})
