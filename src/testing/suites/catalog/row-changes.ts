import assert from 'node:assert/strict'
import { tableFromIPC } from '@uwdata/flechette'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { basic, type CatalogTrial, count, numbered, numbers, unchanged } from './trial.ts'

export const rowChanges: Topic<CatalogTrial> = {
  name: 'changes of rows',
  cases: [
    rule(
      'rows.update',
      'protocol: update table',
      'An update gives values of the row as it was to the rows of a predicate, or to all, and makes a version.',
      [...basic, 'updateTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(6) })
        const some = await catalog.updateTable({
          id: id('t'),
          updates: [
            ['n', 'n + 100'],
            ['odd', 'n > 50'],
          ],
          predicate: 'n < 2',
        })
        assert.deepEqual([some.updated_rows, some.version], [2, 2])
        assert.equal(await count(catalog, id('t'), { predicate: 'n >= 100 AND NOT odd' }), 2)
        const none = await catalog.updateTable({ id: id('t'), updates: [['n', '0']], predicate: 'n = 77' })
        assert.deepEqual([none.updated_rows, none.version], [0, 3])
        const all = await catalog.updateTable({ id: id('t'), updates: [['odd', 'NULL']] })
        assert.deepEqual([all.updated_rows, all.version], [6, 4])
        assert.equal(
          await count(catalog, id('t'), { predicate: 'odd IS NULL AND n IN (2, 3, 4, 5, 100, 101)' }),
          6,
        )
        assert.equal(await count(catalog, id('t'), { version: 1, predicate: 'n < 6 AND odd IS NOT NULL' }), 6)
      },
    ),
    rule(
      'rows.update-refused',
      'protocol: update table',
      'An update of a column that is not there, or whose value fails for one row, is refused, and nothing changes.',
      [...basic, 'updateTable'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await catalog.createTable({ id: id('t'), data: numbered(6) })
        const update = (column: string, value: string) => () =>
          catalog.updateTable({ id: id('t'), updates: [[column, value]] })
        await unchanged(trial, 'TableColumnNotFound', [update('none', '1')])
        const wrong = [update('n', 'CAST(12 AS BIGINT) / CAST(n AS BIGINT)'), update('odd', 'none')]
        await unchanged(trial, 'InvalidInput', wrong)
        assert.equal(await count(catalog, id('t'), { predicate: 'n < 6 AND odd IS NOT NULL' }), 6)
      },
    ),
    rule(
      'rows.merge',
      'protocol: merge insert',
      'A merge updates rows that match, inserts those that do not, and deletes the rest, as it is told.',
      [...basic, 'mergeInsertIntoTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(6) })
        const merge = async (data: Record<string, unknown>[], more: object) => {
          const answer = await catalog.mergeInsertIntoTable({ id: id('t'), on: 'n', data, ...more })
          const { num_inserted_rows, num_updated_rows, num_deleted_rows, version } = answer
          return [num_inserted_rows, num_updated_rows, num_deleted_rows, version]
        }
        const upsert = { when_matched_update_all: true, when_not_matched_insert_all: true }
        const two = [
          { n: 5, text: 'five', odd: null },
          { n: 6, text: 'six', odd: null },
        ]
        assert.deepEqual(await merge(two, upsert), [1, 1, 0, 2])
        assert.equal(await count(catalog, id('t')), 7)
        assert.equal(await count(catalog, id('t'), { predicate: "n = 5 AND text = 'five'" }), 1)
        assert.deepEqual(await merge(two, { when_not_matched_insert_all: true }), [0, 0, 0, 3])
        const rest = {
          when_not_matched_by_source_delete: true,
          when_not_matched_by_source_delete_filt: 'n > 1',
        }
        assert.deepEqual(await merge(two, rest), [0, 0, 3, 4])
        assert.equal(await count(catalog, id('t'), { predicate: 'n IN (0, 1, 5, 6)' }), 4)
        assert.equal(await count(catalog, id('t'), { version: 1, predicate: "text = 'row 5'" }), 1)
      },
    ),
    rule(
      'rows.merge-keys',
      'decision: row changes',
      'NULL matches nothing, and a row that several rows of the source would update is refused.',
      [...basic, 'mergeInsertIntoTable'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await catalog.createTable({ id: id('t'), data: numbered(3) })
        const merge = (data: Record<string, unknown>[]) =>
          catalog.mergeInsertIntoTable({
            id: id('t'),
            on: 'text',
            data,
            when_matched_update_all: true,
            when_not_matched_insert_all: true,
          })
        const twice = [
          { n: 1, text: 'row 1' },
          { n: 2, text: 'row 1' },
        ]
        await unchanged(trial, 'InvalidInput', [() => merge(twice)])
        assert.equal(
          (
            await merge([
              { n: 9, text: null },
              { n: 9, text: 'row 1' },
            ])
          ).num_inserted_rows,
          1,
        )
        assert.equal(await count(catalog, id('t'), { predicate: 'text IS NULL' }), 2)
        assert.equal(await count(catalog, id('t'), { predicate: "n = 9 AND text = 'row 1'" }), 1)
      },
    ),
    rule(
      'rows.no-lost-update',
      'decision: row changes',
      'Updates and merges at the same time take each other in: none is lost.',
      [...basic, 'updateTable', 'mergeInsertIntoTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(4) })
        const jobs = Array.from({ length: 6 }, (_, i) =>
          i % 2 === 0
            ? catalog.updateTable({ id: id('t'), updates: [['n', 'n + 10']], predicate: 'n < 1000' })
            : catalog.mergeInsertIntoTable({
                id: id('t'),
                on: 'text',
                data: [{ n: 1000 + i, text: 'new' }],
                when_matched_update_all: true,
                when_not_matched_insert_all: true,
              }),
        )
        await Promise.all(jobs)
        assert.equal(await count(catalog, id('t')), 5)
        assert.equal(await count(catalog, id('t'), { predicate: 'n IN (30, 31, 32, 33)' }), 4)
        assert.equal(await count(catalog, id('t'), { predicate: "text = 'new' AND n > 1000" }), 1)
      },
    ),
    rule(
      'rows.at-once',
      'decision: row changes',
      'Inserts and deletes at the same time take each other in: all succeed, each in a version of its own.',
      [...basic, 'insertIntoTable', 'deleteFromTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(10) })
        const answers = await Promise.all([
          ...Array.from({ length: 4 }, (_, i) =>
            catalog.insertIntoTable({ id: id('t'), data: numbered(2, 100 + i * 2) }),
          ),
          ...Array.from({ length: 4 }, (_, i) =>
            catalog.deleteFromTable({ id: id('t'), predicate: `n = ${i}` }),
          ),
        ])
        const made = answers.map(({ version }) => version as number).sort((a, b) => a - b)
        assert.deepEqual(made, [2, 3, 4, 5, 6, 7, 8, 9])
        assert.equal(await count(catalog, id('t')), 14)
      },
    ),
    rule(
      'rows.metadata',
      'document 4.3',
      'Schema metadata is replaced as a whole, in a new version, and answered.',
      ['createTable', 'updateTableSchemaMetadata'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(1) })
        const replace = async (metadata: Record<string, string>) =>
          (await catalog.updateTableSchemaMetadata({ id: id('t'), metadata })).metadata
        assert.deepEqual(await replace({ a: '1', b: '2' }), { a: '1', b: '2' })
        assert.deepEqual(await replace({ b: '3' }), { b: '3' })
        assert.deepEqual(await numbers(catalog, id('t')), [1, 2, 3])
      },
    ),
    rule(
      'rows.branch',
      'document 4.1 and 4.4, branch',
      'Rows of a branch and of the main branch are changed and counted apart.',
      [...basic, 'insertIntoTable', 'deleteFromTable', 'createTableBranch'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(4) })
        await catalog.createTableBranch({ id: id('t'), name: 'dev' })
        await catalog.deleteFromTable({ id: id('t'), branch: 'dev', predicate: 'n < 3' })
        await catalog.insertIntoTable({ id: id('t'), data: numbered(2, 4) })
        assert.equal(await count(catalog, id('t')), 6)
        assert.equal(await count(catalog, id('t'), { branch: 'dev' }), 1)
        assert.equal(await count(catalog, id('t'), { branch: 'main' }), 6)
        await refused(count(catalog, id('t'), { branch: 'none' }), 'TableBranchNotFound')
      },
    ),
    rule(
      'rows.restore',
      'decision: row changes',
      'Restoring makes a new version like an old one; those between stay.',
      [...basic, 'restoreTable', 'deleteFromTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(4) })
        await catalog.deleteFromTable({ id: id('t'), predicate: 'true' })
        await catalog.restoreTable({ id: id('t'), version: 1 })
        assert.equal(await count(catalog, id('t')), 4)
        assert.equal(await count(catalog, id('t'), { version: 2 }), 0)
        assert.deepEqual(await numbers(catalog, id('t')), [1, 2, 3])
        await refused(catalog.restoreTable({ id: id('t'), version: 9 }), 'TableVersionNotFound')
      },
    ),
    rule(
      'rows.differences',
      'decision: row differences',
      'The rows that differ between two versions are told with how each changed: those of the first version, then those of the second. Keys tell which were updated, and rows that both have are left out.',
      [...basic, 'insertIntoTable', 'updateTable', 'deleteFromTable', 'tableChanges'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(3) })
        await catalog.insertIntoTable({ id: id('t'), data: numbered(2, 3) })
        await catalog.updateTable({ id: id('t'), updates: [['text', "'new'"]], predicate: 'n = 1' })
        await catalog.deleteFromTable({ id: id('t'), predicate: 'n IN (2, 4)' })
        await catalog.updateTable({ id: id('t'), updates: [['n', 'n']] })
        const told = async (request: object) => {
          const { data } = await catalog.tableChanges({ id: id('t'), from: 1, ...request })
          const rows = tableFromIPC(data).toArray() as { n: number; text: string; _change_type: string }[]
          return rows.map(({ n, text, _change_type }) => `${_change_type} ${n} ${text}`)
        }
        const plain = ['delete 1 row 1', 'delete 2 row 2', 'insert 1 new', 'insert 3 null']
        assert.deepEqual((await told({})).sort(), plain)
        const keyed = await told({ on: 'n' })
        const first = ['delete 2 row 2', 'update_preimage 1 row 1']
        assert.deepEqual(keyed.slice(0, 2).sort(), first)
        assert.deepEqual(keyed.slice(2).sort(), ['insert 3 null', 'update_postimage 1 new'])
        assert.deepEqual(await told({ from: 4, to: 'latest' }), [])
        assert.deepEqual(await told({ from: 4, to: 3 }), ['insert 2 row 2', 'insert 4 row 4'])
        await refused(catalog.tableChanges({ id: id('t'), from: 9 }), 'TableVersionNotFound')
        await refused(catalog.tableChanges({ id: id('t'), from: 1, on: 'odd' }), 'InvalidInput')
        await refused(catalog.tableChanges({ id: id('t'), from: 1, on: 'none' }), 'TableColumnNotFound')
      },
    ),
  ],
}
