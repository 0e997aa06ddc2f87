import { expect, test } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { fails } from '../../support/refusals.ts'
import { rowsOf } from '../../support/rows.ts'

/*
 * What a table makes up for each row can be read, and is no column that could change or that a new one is computed of.
 */

const id = ['t']

test.each(['_rowid', '_rowoffset'])('%s is refused where a column of the table is needed', async (name) => {
  await using catalog = await openCatalog('memory:')
  await catalog.createTable({ id, data: [{ n: 1 }, { n: 2 }] })
  const refused = (done: Promise<unknown>, code: Parameters<typeof fails>[1] = 'InvalidInput') =>
    fails(done, code, name.slice(0, 4))
  await refused(catalog.updateTable({ id, updates: [[name, '1']] }))
  const new_columns = (expression: string) => [{ name: 'q', expression }]
  for (const text of [name, `${name} + n`]) {
    const added = catalog.alterTableAddColumns({ id, new_columns: new_columns(text) })
    await fails(added, 'InvalidInput', 'column "q"', 'row ids or places')
  }
  await refused(catalog.alterTableDropColumns({ id, columns: [name] }), 'TableColumnNotFound')
  const alterations = [{ path: name, rename: 'q' }]
  await refused(catalog.alterTableAlterColumns({ id, alterations }), 'TableColumnNotFound')
  const updates = [{ path: name, metadata: { unit: 'row' } }]
  await refused(catalog.updateFieldMetadata({ id, updates }), 'TableColumnNotFound')
  await refused(catalog.createTableScalarIndex({ id, column: name, index_type: 'BTREE' }))
  await refused(catalog.queryTable({ id, vector: [1], vector_column: name }))
  const merge = { id, on: name, data: [{ n: 1 }], when_matched_update_all: true }
  await refused(catalog.mergeInsertIntoTable(merge))
  expect((await catalog.listTableVersions({ id })).versions).toHaveLength(1)
  expect(await rowsOf(catalog, id)).toEqual([{ n: 1 }, { n: 2 }])
})

test('no change reads the place of a row, also where statistics leave no row to read', async () => {
  await using catalog = await openCatalog('memory:')
  await catalog.createTable({ id, data: [{ n: 1 }, { n: 2 }] })
  for (const predicate of ['_rowoffset = 0', 'n < 0 AND _rowoffset = 0']) {
    await fails(catalog.deleteFromTable({ id, predicate }), 'Unsupported', 'Name rows by _rowid')
    const updates: [string, string][] = [['n', '5']]
    await fails(catalog.updateTable({ id, predicate, updates }), 'Unsupported', 'Name rows by _rowid')
  }
  const numbered = catalog.updateTable({
    id,
    predicate: 'n < 0',
    updates: [['n', 'CAST(_rowoffset AS BIGINT)']],
  })
  await fails(numbered, 'Unsupported', 'Name rows by _rowid')
  expect((await catalog.listTableVersions({ id })).versions).toHaveLength(1)
})

test('a column of that name is one of the table', async () => {
  await using catalog = await openCatalog('memory:')
  await catalog.createTable({ id, data: [{ _rowid: 'a', n: 1 }] })
  await catalog.updateTable({ id, updates: [['_rowid', "'b'"]] })
  await catalog.alterTableAddColumns({ id, new_columns: [{ name: 'q', expression: "_rowid || '!'" }] })
  expect(await rowsOf(catalog, id)).toEqual([{ _rowid: 'b', n: 1, q: 'b!' }])
})
