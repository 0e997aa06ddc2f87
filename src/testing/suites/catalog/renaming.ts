import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { type CatalogTrial, numbers, tablesIn, unchanged, withVersions } from './trial.ts'

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
