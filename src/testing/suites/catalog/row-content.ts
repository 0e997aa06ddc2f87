import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { basic, count, numbered } from './row-trial.ts'
import { type CatalogTrial, numbers } from './trial.ts'

export const rowContent: Topic<CatalogTrial> = {
  name: 'content of tables',
  cases: [
    rule(
      'rows.clone',
      'protocol of LanceDB: clone table',
      'A clone has the rows of the version that is named. It and its source change and are dropped without each other.',
      [...basic, 'cloneTable', 'dropTable', 'deleteFromTable', 'insertIntoTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(4) })
        await catalog.insertIntoTable({ id: id('t'), data: numbered(2, 4) })
        await catalog.cloneTable({ id: id('c'), source: id('t') })
        await catalog.cloneTable({ id: id('old'), source: id('t'), source_version: 1 })
        await catalog.cloneTable({ id: id('copy'), source: id('t'), is_shallow: false })
        await refused(catalog.cloneTable({ id: id('c'), source: id('old') }), 'TableAlreadyExists')
        await refused(catalog.cloneTable({ id: id('x'), source: id('none') }), 'TableNotFound')
        await refused(
          catalog.cloneTable({ id: id('x'), source: id('t'), source_version: 9 }),
          'TableVersionNotFound',
        )
        await catalog.deleteFromTable({ id: id('c'), predicate: 'n < 3' })
        assert.equal(await count(catalog, id('t')), 6, 'A change of the clone changed its source.')
        await catalog.insertIntoTable({ id: id('t'), data: numbered(1, 9) })
        assert.equal(await count(catalog, id('c')), 3, 'A change of the source changed its clone.')
        await catalog.cloneTable({ id: id('second'), source: id('c') })
        await catalog.dropTable({ id: id('t') })
        await catalog.dropTable({ id: id('c') })
        const left = { old: 4, copy: 6, second: 3 }
        for (const [name, rows] of Object.entries(left)) {
          assert.equal(await count(catalog, id(name), { predicate: 'n >= 0' }), rows, name)
        }
        assert.deepEqual(await numbers(catalog, id('second')), [1])
      },
    ),
    rule(
      'rows.come-back',
      'document 4.2; decision: content',
      'Deregistering leaves the content in storage: registering its location brings rows, versions and tags back.',
      [...basic, 'deregisterTable', 'registerTable', 'createTableTag', 'getTableTagVersion'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(7) })
        await catalog.createTableTag({ id: id('t'), tag: 'x', version: 1 })
        const { location } = await catalog.deregisterTable({ id: id('t') })
        await catalog.registerTable({ id: id('back'), location: location! })
        assert.equal(await count(catalog, id('back')), 7)
        assert.equal((await catalog.getTableTagVersion({ id: id('back'), tag: 'x' })).version, 1)
      },
    ),
    rule(
      'rows.dropped',
      'decision: drop, deregister',
      'Dropping a table removes its content: registering its location brings nothing of it back.',
      [...basic, 'dropTable', 'registerTable'],
      async ({ catalog, id }: CatalogTrial) => {
        const { location } = await catalog.createTable({ id: id('t'), data: numbered(7) })
        await catalog.dropTable({ id: id('t') })
        const registered = await catalog
          .registerTable({ id: id('back'), location: location! })
          .catch(() => {})
        if (!registered) return
        assert.deepEqual(await numbers(catalog, id('back')), [])
        await refused(count(catalog, id('back')), ['InvalidTableState', 'TableVersionNotFound'])
      },
    ),
  ],
}
