import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { type CatalogTrial, type CatalogUnderTest, numbers, unchanged, versionOf } from './trial.ts'

/** So many rows: `n` counts from `start`, `odd` is a flag, `text` is NULL in every third row. */
function numbered(count: number, start = 0): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, i) => {
    const n = start + i
    return { n, odd: n % 2 === 1, text: n % 3 === 0 ? null : `row ${n}` }
  })
}

async function count(
  catalog: CatalogUnderTest,
  id: string[],
  request: { predicate?: string; version?: number; branch?: string } = {},
): Promise<number> {
  return (await catalog.countTableRows({ id, ...request })).count
}

const basic = ['createTable', 'countTableRows']

export const rows: Topic<CatalogTrial> = {
  name: 'rows',
  cases: [
    rule(
      'rows.create',
      'decision: row changes',
      'Creating a table with rows makes version 1; a taken name is TableAlreadyExists.',
      basic,
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const answer = await catalog.createTable({ id: id('t'), data: numbered(5), properties: { a: '1' } })
        assert.equal(answer.version, 1)
        assert.ok(answer.location)
        assert.equal(await count(catalog, id('t')), 5)
        assert.deepEqual(await numbers(catalog, id('t')), [1])
        await unchanged(trial, 'TableAlreadyExists', [
          () => catalog.createTable({ id: id('t'), data: numbered(1) }),
        ])
        await unchanged(trial, 'NamespaceNotFound', [
          () => catalog.createTable({ id: id('x', 't'), data: numbered(1) }),
        ])
        assert.equal(await count(catalog, id('t')), 5)
      },
    ),
    rule(
      'rows.versions',
      'document 4.1; decision: row changes',
      'Every insert and every delete, also one that matches nothing, makes the next version and answers with it.',
      [...basic, 'insertIntoTable', 'deleteFromTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(4) })
        assert.equal((await catalog.insertIntoTable({ id: id('t'), data: numbered(2, 4) })).version, 2)
        assert.equal((await catalog.deleteFromTable({ id: id('t'), predicate: 'n < 3' })).version, 3)
        assert.equal((await catalog.deleteFromTable({ id: id('t'), predicate: 'n < 0' })).version, 4)
        assert.deepEqual(await numbers(catalog, id('t')), [1, 2, 3, 4])
      },
    ),
    rule(
      'rows.count',
      'document 4.4',
      'Rows are counted at the latest version or the one named, all or those a predicate holds for.',
      [...basic, 'insertIntoTable', 'deleteFromTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(4) })
        await catalog.insertIntoTable({ id: id('t'), data: numbered(6, 4) })
        await catalog.deleteFromTable({ id: id('t'), predicate: 'odd' })
        assert.equal(await count(catalog, id('t')), 5)
        assert.equal(await count(catalog, id('t'), { version: 1 }), 4)
        assert.equal(await count(catalog, id('t'), { version: 2 }), 10)
        assert.equal(await count(catalog, id('t'), { version: 2, predicate: 'odd' }), 5)
        assert.equal(await count(catalog, id('t'), { predicate: 'odd' }), 0)
        assert.equal(await count(catalog, id('t'), { predicate: 'n BETWEEN 2 AND 6' }), 3)
        await refused(count(catalog, id('t'), { version: 9 }), 'TableVersionNotFound')
        await refused(count(catalog, id('x')), 'TableNotFound')
      },
    ),
    rule(
      'rows.null',
      'decision: predicates',
      'Of a NULL a predicate says neither yes nor no: such rows are not deleted.',
      [...basic, 'deleteFromTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(9) })
        assert.equal(await count(catalog, id('t'), { predicate: "text <> 'row 1'" }), 5)
        assert.equal(await count(catalog, id('t'), { predicate: "NOT (text = 'row 1')" }), 5)
        assert.equal(await count(catalog, id('t'), { predicate: 'text IS NULL' }), 3)
        await catalog.deleteFromTable({ id: id('t'), predicate: "text <> 'row 1'" })
        assert.equal(await count(catalog, id('t')), 4)
      },
    ),
    rule(
      'rows.fields',
      'document 4.1, field paths',
      'Nested fields are reached by dots; a dot in a name needs backticks, and a backtick is doubled there.',
      [...basic, 'deleteFromTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({
          id: id('t'),
          data: [
            { place: { city: 'Rome' }, 'a.b': 1, 'tick`': 'x' },
            { place: { city: 'Pisa' }, 'a.b': 2, 'tick`': 'y' },
            { place: { city: 'Bari' }, 'a.b': 3, 'tick`': 'z' },
          ],
        })
        assert.equal(await count(catalog, id('t'), { predicate: "place.city = 'Rome'" }), 1)
        assert.equal(await count(catalog, id('t'), { predicate: '`a.b` >= 2' }), 2)
        await catalog.deleteFromTable({ id: id('t'), predicate: "`tick``` = 'z'" })
        assert.equal(await count(catalog, id('t')), 2)
      },
    ),
    rule(
      'rows.predicate-refused',
      'document 7, status 400; decision: predicates',
      'A predicate with an unknown field, a wrong type or text after its end is InvalidInput, and nothing is deleted.',
      [...basic, 'deleteFromTable'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await catalog.createTable({ id: id('t'), data: numbered(3) })
        const bad = ['none = 1', 'n =', 'true; DROP TABLE t', 'true extra', "n = 'text'", '', '(n = 1']
        await unchanged(
          trial,
          'InvalidInput',
          bad.map((predicate) => () => catalog.deleteFromTable({ id: id('t'), predicate })),
        )
        assert.equal(await count(catalog, id('t')), 3)
      },
    ),
    rule(
      'rows.insert-refused',
      'decision: row changes',
      'Rows with other columns are TableSchemaValidationError, and none of them is kept.',
      [...basic, 'insertIntoTable'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await catalog.createTable({ id: id('t'), data: numbered(3) })
        await unchanged(trial, 'TableSchemaValidationError', [
          () => catalog.insertIntoTable({ id: id('t'), data: [{ n: 1, odd: true, text: 'x', more: 1 }] }),
          () => catalog.insertIntoTable({ id: id('t'), data: [{ n: 'one', odd: true, text: 'x' }] }),
        ])
        assert.equal(await count(catalog, id('t')), 3)
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
    rule(
      'rows.query',
      'protocol: query table',
      'A query answers with the rows as Arrow: all, or those of a filter, a version and a limit.',
      ['createTable', 'insertIntoTable', 'queryTable'],
      async ({ catalog, id }: CatalogTrial) => {
        const { tableFromIPC } = await import('@uwdata/flechette')
        await catalog.createTable({ id: id('t'), data: numbered(5) })
        await catalog.insertIntoTable({ id: id('t'), data: numbered(5, 5) })
        const query = async (request: { filter?: string; version?: number; limit?: number }) => {
          const { data } = await catalog.queryTable({ id: id('t'), ...request })
          const found = tableFromIPC(data).toArray() as { n: number }[]
          return found.map(({ n }) => Number(n))
        }
        assert.deepEqual(await query({}), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        assert.deepEqual(await query({ filter: 'odd AND n > 2' }), [3, 5, 7, 9])
        assert.deepEqual(await query({ version: 1, limit: 3 }), [0, 1, 2])
      },
    ),
    rule(
      'rows.declared',
      'decision: versions',
      'A version another engine wrote is listed, but its rows cannot be counted here: InvalidTableState.',
      ['countTableRows'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.declareTable({ id: id('t'), location: `s3://bucket/${id('t').join('/')}` })
        await catalog.createTableVersion(versionOf(id('t'), 1))
        await refused(count(catalog, id('t')), 'InvalidTableState')
      },
    ),
  ],
}
