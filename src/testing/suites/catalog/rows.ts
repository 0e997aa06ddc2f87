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

type OrderKey = { column_name: string; ascending?: boolean; nulls_first?: boolean }

/** Rows of an answer, with numbers for integers of any size. */
async function answer(
  catalog: CatalogUnderTest,
  request: Parameters<CatalogUnderTest['queryTable']>[0],
): Promise<Record<string, unknown>[]> {
  const { tableFromIPC } = await import('@uwdata/flechette')
  const { data } = await catalog.queryTable(request)
  return tableFromIPC(data).toArray() as Record<string, unknown>[]
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
      'rows.objects',
      'decision: row changes',
      'Where there are rows() and tables(), they give all rows as they went in, of one version, and all tables.',
      [...basic, 'deleteFromTable', 'queryTable', 'describeTable', 'listTables'],
      async ({ catalog, id }: CatalogTrial) => {
        if (catalog.rows === undefined || catalog.tables === undefined) return
        const data = Array.from({ length: 1_100 }, (_, i) => ({
          n: BigInt(i),
          at: new Date(i * 1_000),
          in: { bytes: new Uint8Array([i % 256]), list: [i / 2, null] },
        }))
        await catalog.createTable({ id: id('t'), data })
        const found: unknown[] = []
        for await (const row of catalog.rows({ id: id('t') })) {
          if (found.length === 0) await catalog.deleteFromTable({ id: id('t'), predicate: 'n > 1000' })
          found.push(row)
        }
        assert.deepEqual(found, data)
        const tables: unknown[] = []
        for await (const table of catalog.tables({ id: id() })) tables.push(table)
        assert.deepEqual(tables, [id('t')])
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
      'rows.left-out',
      'decision: row changes',
      'Columns that an insert leaves out are NULL in its rows, where they may be.',
      [...basic, 'insertIntoTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(3) })
        await catalog.insertIntoTable({ id: id('t'), data: [{ n: 3 }, { text: 'x', n: 4 }] })
        assert.equal(await count(catalog, id('t')), 5)
        assert.equal(await count(catalog, id('t'), { predicate: 'odd IS NULL AND text IS NULL' }), 1)
        assert.equal(await count(catalog, id('t'), { predicate: "odd IS NULL AND text = 'x'" }), 1)
      },
    ),
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
      'rows.search',
      'protocol: query table',
      'A query with a vector answers the k nearest rows, the nearest first, with their distance; rows without a vector are none of them.',
      ['createTable', 'queryTable'],
      async ({ catalog, id }: CatalogTrial) => {
        const { tableFromIPC } = await import('@uwdata/flechette')
        const points = [[0, 0], [3, 4], null, [1, 0], [0, 2]]
        const data = points.map((at, n) => ({ n, at }))
        const item = { name: 'item', nullable: true, type: { type: 'float' } }
        const schema = {
          fields: [
            { name: 'n', nullable: true, type: { type: 'int32' } },
            { name: 'at', nullable: true, type: { type: 'fixed_size_list', length: 2, fields: [item] } },
          ],
        }
        await catalog.createTable({ id: id('t'), data, schema })
        const query = async (request: object) => {
          const { data } = await catalog.queryTable({
            id: id('t'),
            columns: { column_names: ['n'] },
            ...request,
          } as Parameters<typeof catalog.queryTable>[0])
          const found = tableFromIPC(data).toArray() as { n: number; _distance: number }[]
          return found.map(({ n, _distance }) => [Number(n), _distance])
        }
        const vector = { single_vector: [0, 0] }
        const all = [
          [0, 0],
          [3, 1],
          [4, 4],
          [1, 25],
        ]
        assert.deepEqual(await query({ vector, k: 10 }), all)
        assert.deepEqual(await query({ vector, k: 2, offset: 1 }), all.slice(1, 3))
        assert.deepEqual(await query({ vector, k: 10, filter: 'n > 0', prefilter: true }), all.slice(1))
        assert.deepEqual(await query({ vector, k: 10, lower_bound: 1, upper_bound: 25 }), all.slice(1, 3))
        assert.deepEqual(await query({ vector: { single_vector: [1, 0] }, k: 1, distance_type: 'dot' }), [
          [1, -2],
        ])
        for (const wrong of [
          { vector: { single_vector: [0] }, k: 1 },
          { vector, k: 0 },
        ])
          await refused(query(wrong), 'InvalidInput')
      },
    ),
    rule(
      'rows.indices',
      'protocol: create, list, describe and drop table indices',
      'An index is listed with its column and type from the version on that created it, until the one that drops it; its name is taken once.',
      [
        'createTable',
        'createTableIndex',
        'createTableScalarIndex',
        'listTableIndices',
        'describeTableIndexStats',
        'dropTableIndex',
      ],
      async ({ catalog, id }: CatalogTrial) => {
        const table = id('t')
        await catalog.createTable({ id: table, data: numbered(5) })
        const list = async (version?: number) =>
          (await catalog.listTableIndices({ id: table, version })).indexes.map(
            ({ index_name, columns, index_type }) => [index_name, columns.join(), index_type.toUpperCase()],
          )
        assert.deepEqual(await list(), [])
        await catalog.createTableIndex({ id: table, column: 'n', index_type: 'BTREE' })
        await catalog.createTableScalarIndex({
          id: table,
          column: 'odd',
          index_type: 'BITMAP',
          name: 'flags',
        })
        const both = [
          ['flags', 'odd', 'BITMAP'],
          ['n_idx', 'n', 'BTREE'],
        ]
        assert.deepEqual(await list(), both)
        const stats = await catalog.describeTableIndexStats({ id: table, index_name: 'n_idx' })
        assert.equal((stats.num_indexed_rows ?? 0) + (stats.num_unindexed_rows ?? 0), 5)
        await refused(
          catalog.createTableIndex({ id: table, column: 'text', index_type: 'BTREE', name: 'flags' }),
          'TableIndexAlreadyExists',
        )
        await refused(
          catalog.createTableIndex({ id: table, column: 'none', index_type: 'BTREE' }),
          'TableColumnNotFound',
        )
        await catalog.dropTableIndex({ id: table, index_name: 'flags' })
        assert.deepEqual(await list(), both.slice(1))
        assert.deepEqual(await list(3), both)
        const gone = { id: table, index_name: 'flags' }
        await refused(catalog.dropTableIndex(gone), 'TableIndexNotFound')
        await refused(catalog.describeTableIndexStats(gone), 'TableIndexNotFound')
      },
    ),
    rule(
      'rows.computed',
      'decision: expressions',
      'A column of an answer may be an expression; what names a column stays that column; a row that fails is named.',
      ['createTable', 'deleteFromTable', 'queryTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(4) })
        await catalog.deleteFromTable({ id: id('t'), predicate: 'n = 2' })
        const column_aliases = { n: 'n', m: 'n * 2', kind: "CASE WHEN odd THEN 'odd' ELSE 'even' END" }
        const found = await answer(catalog, { id: id('t'), columns: { column_aliases } })
        assert.deepEqual(found, [
          { n: 0, m: 0, kind: 'even' },
          { n: 1, m: 2, kind: 'odd' },
          { n: 3, m: 6, kind: 'odd' },
        ])
        const inverse = { column_aliases: { i: '6 / (CAST(n AS INT) - 2)' } }
        assert.deepEqual(await answer(catalog, { id: id('t'), columns: inverse }), [
          { i: -3 },
          { i: -6 },
          { i: 6 },
        ])
        const failing = { column_aliases: { i: '6 / (CAST(n AS INT) - 3)' } }
        await refused(catalog.queryTable({ id: id('t'), columns: failing }), 'InvalidInput')
        await refused(catalog.queryTable({ id: id('t'), columns: ['n +'] }), 'InvalidInput')
        await refused(catalog.queryTable({ id: id('t'), columns: ['none'] }), 'TableColumnNotFound')
      },
    ),
    rule(
      'rows.order',
      'decision: order',
      'order_by sorts by its keys in turn, nulls last unless they are first, before limit and offset cut the rows.',
      ['createTable', 'insertIntoTable', 'queryTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(4) })
        await catalog.insertIntoTable({ id: id('t'), data: numbered(3, 4) })
        const ns = async (order_by: OrderKey[], rest: object = {}) => {
          const rows = await answer(catalog, { id: id('t'), columns: ['n'], order_by, ...rest })
          return rows.map(({ n }) => n)
        }
        const text = { column_name: 'text' }
        const down = { column_name: 'n', ascending: false }
        assert.deepEqual(await ns([down]), [6, 5, 4, 3, 2, 1, 0])
        assert.deepEqual(await ns([{ column_name: 'odd' }, down]), [6, 4, 2, 0, 5, 3, 1])
        assert.deepEqual(await ns([{ column_name: 'odd' }]), [0, 2, 4, 6, 1, 3, 5])
        assert.deepEqual(await ns([text, down]), [1, 2, 4, 5, 6, 3, 0])
        assert.deepEqual(await ns([{ ...text, nulls_first: true }]), [0, 3, 6, 1, 2, 4, 5])
        assert.deepEqual(await ns([down], { limit: 2, offset: 1 }), [5, 4])
        assert.deepEqual(await ns([down], { filter: 'odd', limit: 2 }), [5, 3])
        await refused(ns([{ column_name: 'none' }]), 'TableColumnNotFound')
      },
    ),
    rule(
      'rows.ids',
      'decision: row ids',
      'The id of a row stays through inserts and deletes, and no other row gets it; rows are taken by ids and offsets.',
      ['createTable', 'insertIntoTable', 'deleteFromTable', 'queryTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(4) })
        const ids = async () => {
          const rows = await answer(catalog, { id: id('t'), columns: ['n'], with_row_id: true })
          return new Map(rows.map(({ n, _rowid }) => [n, _rowid]))
        }
        const before = await ids()
        assert.equal(new Set(before.values()).size, 4)
        await catalog.deleteFromTable({ id: id('t'), predicate: 'n IN (1, 3)' })
        await catalog.insertIntoTable({ id: id('t'), data: numbered(2, 4) })
        const after = await ids()
        assert.deepEqual([...after.keys()], [0, 2, 4, 5])
        for (const n of [0, 2]) assert.equal(after.get(n), before.get(n))
        for (const n of [4, 5]) assert.ok(![...before.values()].includes(after.get(n)))
        const taken = async (filter: string) =>
          (await answer(catalog, { id: id('t'), columns: ['n'], filter })).map(({ n }) => n)
        assert.deepEqual(await taken(`_rowid IN (${before.get(2)}, ${after.get(5)})`), [2, 5])
        assert.deepEqual(await taken(`_rowid = ${before.get(3)}`), [])
        assert.deepEqual(await taken('_rowoffset IN (1, 3)'), [2, 5])
      },
    ),
    rule(
      'rows.plans',
      'protocol: get table stats, explain and analyze table query plan',
      'Statistics count rows and fragments of the latest version; a plan is a text, and refuses what its query would be refused for.',
      ['createTable', 'insertIntoTable', 'getTableStats', 'explainTableQueryPlan', 'analyzeTableQueryPlan'],
      async ({ catalog, id }: CatalogTrial) => {
        const table = id('t')
        await catalog.createTable({ id: table, data: numbered(5) })
        await catalog.insertIntoTable({ id: table, data: numbered(3, 5) })
        const stats = await catalog.getTableStats({ id: table })
        assert.equal(stats.num_rows, 8)
        assert.equal(stats.fragment_stats.lengths.max <= 8, true)
        const { plan } = await catalog.explainTableQueryPlan({ id: table, query: { filter: 'n > 2' } })
        assert.match(plan, /\S/)
        const { analysis } = await catalog.analyzeTableQueryPlan({ id: table, filter: 'n > 2' })
        assert.match(analysis, /\S/)
        await refused(catalog.explainTableQueryPlan({ id: table, query: { filter: 'none > 2' } }), [
          'InvalidInput',
          'TableColumnNotFound',
        ])
        await refused(catalog.analyzeTableQueryPlan({ id: table, filter: 'none > 2' }), [
          'InvalidInput',
          'TableColumnNotFound',
        ])
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
