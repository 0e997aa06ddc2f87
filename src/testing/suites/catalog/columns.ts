import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { answer, type CatalogTrial, type CatalogUnderTest, numbered, numbers, unchanged } from './trial.ts'

const schema = {
  fields: [
    { name: 'n', nullable: true, type: { type: 'int32' } },
    { name: 'text', nullable: true, type: { type: 'string' } },
  ],
}
const rows = [
  { n: 1, text: 'a' },
  { n: 300, text: null },
  { n: null, text: 'c' },
]

/** The rows of a version. */
function rowsOf(
  catalog: CatalogUnderTest,
  id: string[],
  request: { version?: number; filter?: string } = {},
) {
  return answer(catalog, { id, ...request })
}

const basic = ['createTable', 'queryTable']

export const columns: Topic<CatalogTrial> = {
  name: 'columns',
  cases: [
    rule(
      'columns.add',
      'protocol: add columns',
      'A column added with an expression has its value in each row, one of a type alone is null; rows inserted later have values of their own.',
      [...basic, 'insertIntoTable', 'alterTableAddColumns'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: rows, schema })
        const { version } = await catalog.alterTableAddColumns({
          id: id('t'),
          new_columns: [
            { name: 'next', expression: 'n + 1' },
            { name: 'later', data_type: { type: 'double' } },
          ],
        })
        assert.equal(version, 2)
        const next = (n: number | null) => (n === null ? null : n + 1)
        const wide = rows.map((row) => ({ ...row, next: next(row.n), later: null }))
        assert.deepEqual(await rowsOf(catalog, id('t')), wide)
        assert.deepEqual(await rowsOf(catalog, id('t'), { filter: 'next > 2' }), [wide[1]])
        const more = { n: 5, text: 'x', next: 0, later: 0.5 }
        await catalog.insertIntoTable({ id: id('t'), data: [more] })
        assert.deepEqual(await rowsOf(catalog, id('t')), [...wide, more])
        assert.deepEqual(await rowsOf(catalog, id('t'), { version: 1 }), rows)
      },
    ),
    rule(
      'columns.add-refused',
      'protocol: add columns',
      'A column that is there already, or an expression that fails in one row, changes nothing.',
      [...basic, 'alterTableAddColumns'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await catalog.createTable({ id: id('t'), data: rows, schema })
        const add = (name: string, expression: string) => () =>
          catalog.alterTableAddColumns({ id: id('t'), new_columns: [{ name, expression }] })
        await unchanged(
          trial,
          ['InvalidInput', 'TableColumnNotFound'],
          [add('n', '1'), add('x', '1 / (n - 300)'), add('x', 'none + 1')],
        )
        assert.deepEqual(await rowsOf(catalog, id('t')), rows)
      },
    ),
    rule(
      'columns.alter',
      'protocol: alter columns',
      'Alterations of one request make one version: new names, and new types for the same values.',
      [...basic, 'alterTableAlterColumns', 'restoreTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: rows, schema })
        await catalog.alterTableAlterColumns({
          id: id('t'),
          alterations: [
            { path: 'n', rename: 'text', data_type: { type: 'int64' } },
            { path: 'text', rename: 'n' },
          ],
        })
        assert.deepEqual(
          await rowsOf(catalog, id('t')),
          rows.map(({ n, text }) => ({ text: n, n: text })),
        )
        assert.deepEqual(await numbers(catalog, id('t')), [1, 2])
        await catalog.restoreTable({ id: id('t'), version: 1 })
        assert.deepEqual(await rowsOf(catalog, id('t')), rows)
      },
    ),
    rule(
      'columns.alter-refused',
      'protocol: alter columns',
      'A value that the new type cannot hold, a null where none may be, and a name that is taken change nothing.',
      [...basic, 'alterTableAlterColumns'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await catalog.createTable({ id: id('t'), data: rows, schema })
        const alter = (alteration: object) => () =>
          catalog.alterTableAlterColumns({ id: id('t'), alterations: [{ path: 'n', ...alteration }] })
        await unchanged(trial, 'InvalidInput', [
          alter({ data_type: { type: 'int8' } }),
          alter({ nullable: false }),
          alter({ rename: 'text' }),
        ])
        await unchanged(trial, 'TableColumnNotFound', [alter({ path: 'none', rename: 'x' })])
        assert.deepEqual(await rowsOf(catalog, id('t')), rows)
      },
    ),
    rule(
      'columns.drop',
      'protocol: drop columns',
      'A dropped column is gone, and comes back with no value of its own; the last column stays.',
      [...basic, 'alterTableDropColumns', 'alterTableAddColumns'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await catalog.createTable({ id: id('t'), data: rows, schema })
        const drop = (...names: string[]) => catalog.alterTableDropColumns({ id: id('t'), columns: names })
        await drop('text')
        assert.deepEqual(
          await rowsOf(catalog, id('t')),
          rows.map(({ n }) => ({ n })),
        )
        await catalog.alterTableAddColumns({
          id: id('t'),
          new_columns: [{ name: 'text', data_type: { type: 'string' } }],
        })
        assert.deepEqual(
          await rowsOf(catalog, id('t')),
          rows.map(({ n }) => ({ n, text: null })),
        )
        await unchanged(trial, 'InvalidInput', [() => drop('n', 'text')])
        await unchanged(trial, 'TableColumnNotFound', [() => drop('n', 'none')])
        assert.deepEqual(await rowsOf(catalog, id('t'), { version: 1 }), rows)
      },
    ),
    rule(
      'columns.metadata',
      'protocol: update field metadata',
      'Metadata of a field is added to, or replaced; a null takes a key away; all pairs are answered.',
      [...basic, 'updateFieldMetadata'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: rows, schema })
        const update = async (metadata: Record<string, string | null>, replace = false) => {
          const updates = [{ path: 'n', metadata, replace }]
          return (await catalog.updateFieldMetadata({ id: id('t'), updates })).fields?.n
        }
        assert.deepEqual(await update({ a: '1', b: '2' }), { a: '1', b: '2' })
        assert.deepEqual(await update({ a: null, c: '3' }), { b: '2', c: '3' })
        assert.deepEqual(await update({ d: '4' }, true), { d: '4' })
        assert.deepEqual(await rowsOf(catalog, id('t')), rows)
      },
    ),
    rule(
      'columns.beside-rows',
      'decision: columns',
      'Columns change beside rows that others insert and delete at the same time, and none of it is lost.',
      [...basic, 'insertIntoTable', 'alterTableAddColumns', 'alterTableDropColumns', 'deleteFromTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: rows, schema })
        const [added, inserted] = await Promise.allSettled([
          catalog.alterTableAddColumns({
            id: id('t'),
            new_columns: [{ name: 'later', data_type: { type: 'int32' } }],
          }),
          catalog.insertIntoTable({ id: id('t'), data: [{ n: 5, text: 'x' }], schema }),
          catalog.deleteFromTable({ id: id('t'), predicate: 'n = 300' }),
        ])
        assert.equal(added.status, 'fulfilled')
        const found = await rowsOf(catalog, id('t'))
        const kept = rows.filter(({ n }) => n !== 300).map((row) => ({ ...row, later: null }))
        assert.deepEqual(found.slice(0, 2), kept)
        // An insert that names no new column may be refused, but then no row of it is there.
        assert.equal(found.length, inserted.status === 'fulfilled' ? 3 : 2)
      },
    ),
  ],
}

export const indices: Topic<CatalogTrial> = {
  name: 'indexes',
  cases: [
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
        const listed = (await catalog.listTableIndices({ id: table })).indexes[1]!
        assert.deepEqual(
          [listed.num_indexed_rows, listed.num_unindexed_rows],
          [stats.num_indexed_rows, stats.num_unindexed_rows],
        )
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
  ],
}
