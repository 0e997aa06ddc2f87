import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { type CatalogTrial, numbers, tablesIn, unchanged, withVersions } from './trial.ts'

export const tables: Topic<CatalogTrial> = {
  name: 'tables',
  cases: [
    rule(
      'table.declare',
      'document 3 and 4.8',
      'A declared table has its name, a location and its properties; the location given is the one kept.',
      [],
      async ({ catalog, id }: CatalogTrial) => {
        const chosen = await catalog.declareTable({ id: id('a'), properties: { owner: 'ops' } })
        assert.ok(chosen.location, 'No location was chosen.')
        assert.deepEqual(chosen.properties, { owner: 'ops' })
        const location = `s3://bucket/${id('b').join('/')}`
        assert.equal((await catalog.declareTable({ id: id('b'), location })).location, location)
        assert.equal((await catalog.describeTable({ id: id('b') })).location, location)
        const described = await catalog.describeTable({ id: id('a'), check_declared: true })
        assert.equal(described.location, chosen.location)
        assert.deepEqual(described.properties, { owner: 'ops' })
        assert.equal(described.is_only_declared, true)
      },
    ),
    rule(
      'table.taken',
      'document 7, status 409',
      'A taken name is refused as TableAlreadyExists, a missing namespace as NamespaceNotFound.',
      [],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await catalog.declareTable({ id: id('t'), properties: { a: '1' } })
        await unchanged(trial, 'TableAlreadyExists', [
          () => catalog.declareTable({ id: id('t'), properties: { a: '2' } }),
        ])
        await unchanged(trial, 'NamespaceNotFound', [() => catalog.declareTable({ id: id('x', 't') })])
      },
    ),
    rule(
      'table.one-location',
      'decision: locations',
      'A location belongs to one name at a time, also a location within it.',
      [],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const location = `s3://bucket/${id('a').join('/')}`
        await catalog.declareTable({ id: id('a'), location })
        await unchanged(trial, 'TableAlreadyExists', [
          () => catalog.declareTable({ id: id('b'), location }),
          () => catalog.declareTable({ id: id('b'), location: `${location}/below` }),
        ])
      },
    ),
    rule(
      'table.exists',
      'protocol: table exists',
      'A table exists, and so do its versions; what is not there is TableNotFound or TableVersionNotFound.',
      ['tableExists'],
      async (trial: CatalogTrial) => {
        const { catalog } = trial
        const table = await withVersions(trial, 't', 3)
        await catalog.tableExists({ id: table })
        await catalog.tableExists({ id: table, version: 3 })
        await refused(catalog.tableExists({ id: table, version: 4 }), 'TableVersionNotFound')
        await refused(catalog.tableExists({ id: trial.id('x') }), 'TableNotFound')
      },
    ),
    rule(
      'table.missing',
      'document 7, status 404',
      'What is asked of a table that is not there is refused as TableNotFound.',
      [],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await unchanged(trial, 'TableNotFound', [
          () => catalog.describeTable({ id: id('x') }),
          () => catalog.listTableVersions({ id: id('x') }),
          () => catalog.createTableVersion({ id: id('x'), version: 1, manifest_path: 'm' }),
        ])
      },
    ),
    rule(
      'table.drop',
      'decision: drop, deregister',
      'Dropping removes the name with its versions; a new table of that name has nothing of it.',
      ['dropTable'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const table = await withVersions(trial, 't', 1, 2)
        await catalog.dropTable({ id: table })
        assert.deepEqual(await tablesIn(trial), [])
        await refused(catalog.dropTable({ id: id('t') }), 'TableNotFound')
        await catalog.declareTable({ id: id('t') })
        assert.deepEqual(await numbers(catalog, table), [])
      },
    ),
    rule(
      'table.undrop',
      'decision: dropped tables',
      'A dropped table is held or not. One that is held is listed, and comes back with its versions and tags to a name that is free; purged, it does not.',
      ['dropTable', 'listDroppedTables', 'undropTable', 'purgeTable', 'createTableTag', 'getTableTagVersion'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const table = await withVersions(trial, 't', 1, 2)
        await catalog.createTableTag({ id: table, tag: 'kept', version: 1 })
        await catalog.dropTable({ id: table })
        const held = async () => (await catalog.listDroppedTables({ id: id() })).dropped.map(({ id }) => id)
        if ((await held()).length === 0) {
          await refused(catalog.undropTable({ id: table }), 'TableNotFound')
          return
        }
        assert.deepEqual(await held(), [table])
        await refused(catalog.describeTable({ id: table }), 'TableNotFound')
        await catalog.declareTable({ id: table })
        await refused(catalog.undropTable({ id: table }), 'TableAlreadyExists')
        await catalog.undropTable({ id: table, new_table_name: 'back' })
        assert.deepEqual([await held(), await numbers(catalog, id('back'))], [[], [1, 2]])
        assert.equal((await catalog.getTableTagVersion({ id: id('back'), tag: 'kept' })).version, 1)
        assert.deepEqual(await numbers(catalog, table), [])
        await catalog.dropTable({ id: id('back') })
        assert.equal((await catalog.purgeTable({ id: id('back') })).purged, 1)
        await refused(catalog.undropTable({ id: id('back') }), 'TableNotFound')
        await catalog.dropTable({ id: table, purge: true })
        assert.deepEqual(await held(), [])
      },
    ),
    rule(
      'table.properties',
      'decision: properties',
      'Properties are set and removed, the others stay, and so do versions, tags and location.',
      ['updateTableProperties', 'createTableTag', 'getTableTagVersion'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const table = id('t')
        const { location } = await catalog.declareTable({ id: table, properties: { a: '1', b: '2', c: '3' } })
        await catalog.createTableVersion({ id: table, version: 3, manifest_path: 'm3' })
        await catalog.createTableTag({ id: table, tag: 'stable', version: 3 })
        const change = { updates: { a: '4', d: '5' }, removals: ['b', 'x'] }
        const { properties, missing } = await catalog.updateTableProperties({ id: table, ...change })
        assert.deepEqual(properties, { a: '4', c: '3', d: '5' })
        assert.deepEqual(missing, ['x'])
        const both = { updates: { a: '6' }, removals: ['a'] }
        await unchanged(trial, 'InvalidInput', [
          () => catalog.updateTableProperties({ id: table, ...both }),
          () => catalog.updateTableProperties({ id: table, updates: { table_type: 'OTHER' } }),
        ])
        await unchanged(trial, 'TableNotFound', [
          () => catalog.updateTableProperties({ id: id('x'), ...change }),
        ])
        // A later version must not bring earlier properties back.
        await catalog.createTableVersion({ id: table, version: 4, manifest_path: 'm4' })
        const described = await catalog.describeTable({ id: table })
        assert.deepEqual([described.location, described.properties], [location, properties])
        assert.deepEqual(await numbers(catalog, table), [3, 4])
        assert.equal((await catalog.getTableTagVersion({ id: table, tag: 'stable' })).version, 3)
      },
    ),
    rule(
      'table.deregister',
      'document 4.2',
      'Deregistering answers with identifier, location and properties, and frees the name alone.',
      ['deregisterTable'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const { location } = await catalog.declareTable({ id: id('t'), properties: { a: '1' } })
        const answer = await catalog.deregisterTable({ id: id('t') })
        assert.deepEqual(answer.id, id('t'))
        assert.equal(answer.location, location)
        if (answer.properties !== null) assert.deepEqual(answer.properties, { a: '1' })
        assert.deepEqual(await tablesIn(trial), [])
        await refused(catalog.describeTable({ id: id('t') }), 'TableNotFound')
        await unchanged(trial, 'TableNotFound', [() => catalog.deregisterTable({ id: id('t') })])
        await catalog.declareTable({ id: id('t') })
      },
    ),
    rule(
      'table.register',
      'document 3; decision: drop, deregister',
      'Registering the location of a deregistered table brings its versions back, and it counts as created.',
      ['registerTable', 'deregisterTable'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const location = `s3://bucket/${id('a').join('/')}`
        await catalog.declareTable({ id: id('a'), location })
        await catalog.createTableVersion({ id: id('a'), version: 4, manifest_path: 'm4' })
        await catalog.deregisterTable({ id: id('a') })
        await catalog.registerTable({ id: id('b'), location })
        assert.deepEqual(await numbers(catalog, id('b')), [4])
        assert.deepEqual(await tablesIn(trial, { include_declared: false }), [['b']])
        await unchanged(trial, 'TableAlreadyExists', [
          () => catalog.registerTable({ id: id('b'), location: `${location}-2` }),
          () => catalog.registerTable({ id: id('c'), location }),
        ])
      },
    ),
    rule(
      'table.one-wins',
      'decision: names',
      'Of many who declare the same name at the same time exactly one succeeds.',
      [],
      async ({ catalog, id }: CatalogTrial) => {
        const outcomes = await Promise.allSettled(
          Array.from({ length: 8 }, (_, i) =>
            catalog.declareTable({ id: id('t'), properties: { by: `${i}` } }),
          ),
        )
        const won = outcomes.flatMap(({ status }, i) => (status === 'fulfilled' ? [i] : []))
        assert.equal(won.length, 1)
        assert.deepEqual((await catalog.describeTable({ id: id('t') })).properties, { by: `${won[0]}` })
      },
    ),
    rule(
      'table.aborted',
      'decision: every operation takes a signal',
      'An operation whose signal was aborted before rejects with its reason and changes nothing.',
      [],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const reason = new Error('enough')
        const attempt = catalog.declareTable({ id: id('t') }, { signal: AbortSignal.abort(reason) })
        await assert.rejects(attempt, (error) => error === reason)
        assert.deepEqual(await tablesIn(trial), [])
      },
    ),
  ],
}

export const renaming: Topic<CatalogTrial> = {
  name: 'renaming',
  cases: [
    rule(
      'rename.keeps',
      'document 4.5; decision: rename',
      'A renamed table keeps its location, properties, versions and tags; the old name is gone.',
      ['renameTable', 'createTableTag', 'listTableTags', 'getTableTagVersion'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const table = await withVersions(trial, 'a', 3, 4)
        await catalog.createTableTag({ id: table, tag: 'stable', version: 3 })
        const { location } = await catalog.describeTable({ id: table })
        await catalog.renameTable({ id: table, new_table_name: 'b' })
        assert.deepEqual(await tablesIn(trial), [['b']])
        assert.equal((await catalog.describeTable({ id: id('b') })).location, location)
        assert.deepEqual(await numbers(catalog, id('b')), [3, 4])
        assert.equal((await catalog.getTableTagVersion({ id: id('b'), tag: 'stable' })).version, 3)
        assert.deepEqual(Object.keys((await catalog.listTableTags({ id: id('b') })).tags), ['stable'])
        await refused(catalog.describeTable({ id: table }), 'TableNotFound')
        await catalog.declareTable({ id: table })
      },
    ),
    rule(
      'rename.moves',
      'document 4.5',
      'new_namespace_id moves the table to another namespace; without it the table stays in its own.',
      ['renameTable'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        for (const name of ['n', 'm']) await catalog.createNamespace({ id: id(name) })
        await catalog.declareTable({ id: id('n', 'a') })
        await catalog.renameTable({ id: id('n', 'a'), new_table_name: 'b' })
        assert.deepEqual(await tablesIn(trial), [['n', 'b']])
        await catalog.renameTable({ id: id('n', 'b'), new_table_name: 'b', new_namespace_id: id('m') })
        assert.deepEqual(await tablesIn(trial), [['m', 'b']])
      },
    ),
    rule(
      'rename.root',
      'document 4.5; decision: rename',
      'An empty new_namespace_id is the root.',
      ['renameTable'],
      async (trial: CatalogTrial) => {
        const { catalog, id, home } = trial
        const name = `${home[0]}-moved`
        await catalog.declareTable({ id: id('a') })
        await catalog.renameTable({ id: id('a'), new_table_name: name, new_namespace_id: [] })
        assert.deepEqual(await tablesIn(trial), [])
        await catalog.describeTable({ id: [name] })
        await catalog.renameTable({ id: [name], new_table_name: 'a', new_namespace_id: id() })
        assert.deepEqual(await tablesIn(trial), [['a']])
      },
    ),
    rule(
      'rename.taken',
      'document 4.5, status 409; decision: rename',
      'A taken name, its own too, is refused as TableAlreadyExists.',
      ['renameTable'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await catalog.declareTable({ id: id('a'), properties: { is: 'a' } })
        await catalog.declareTable({ id: id('b'), properties: { is: 'b' } })
        await catalog.createNamespace({ id: id('n') })
        await unchanged(
          trial,
          'TableAlreadyExists',
          ['a', 'b', 'n'].map((name) => () => catalog.renameTable({ id: id('a'), new_table_name: name })),
        )
      },
    ),
    rule(
      'rename.missing',
      'document 4.5, status 404',
      'A missing table is TableNotFound, a missing target namespace NamespaceNotFound.',
      ['renameTable'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await catalog.declareTable({ id: id('a') })
        const to = (name: string, new_namespace_id?: string[]) => () =>
          catalog.renameTable({ id: id(name), new_table_name: 'b', new_namespace_id })
        await unchanged(trial, 'TableNotFound', [to('x')])
        await unchanged(trial, 'NamespaceNotFound', [to('a', id('x')), to('a', id('a'))])
      },
    ),
    rule(
      'rename.one-wins',
      'decision: rename',
      'Of many who rename to one name exactly one gets it, and the others stay what they were.',
      ['renameTable'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const names = ['a', 'b', 'c', 'd', 'e', 'f']
        for (const name of names) await catalog.declareTable({ id: id(name) })
        const outcomes = await Promise.allSettled(
          names.map((name) => catalog.renameTable({ id: id(name), new_table_name: 'one' })),
        )
        const lost = names.filter((_, i) => outcomes[i]!.status === 'rejected')
        assert.equal(lost.length, 5)
        assert.deepEqual(
          (await tablesIn(trial)).map(([name]) => name),
          [...lost, 'one'],
        )
      },
    ),
  ],
}
