import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { numbered } from './row-trial.ts'
import type { CatalogTrial } from './trial.ts'

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
