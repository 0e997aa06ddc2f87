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
