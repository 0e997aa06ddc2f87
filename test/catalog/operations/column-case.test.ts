import { expect, test } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { fails } from '../../support/refusals.ts'
import { rowsOf } from '../../support/rows.ts'

/*
 * Where the case of a column's name need not be right, as in LanceDB: keys of merges, columns of indexes, and names that
 * are given an alias. Elsewhere it matters, and where two columns differ in nothing else.
 */

const id = ['t']

test('one column is found in any case where LanceDB finds it', async () => {
  await using catalog = await openCatalog('memory:')
  await catalog.createTable({ id, data: [{ Name: 'a', 'two words': 1, select: 2 }] })
  const aliased = { n: 'NAME', w: 'Two Words', s: 'SELECT', more: 'NAME || SELECT' }
  const rows = await rowsOf(catalog, id, { columns: { column_aliases: aliased } })
  expect(rows).toEqual([{ n: 'a', w: 1, s: 2, more: 'a2.0' }])
  await fails(catalog.queryTable({ id, columns: ['NAME'] }), 'TableColumnNotFound', '"NAME"')
  const quoted = { column_aliases: { n: '`NAME`' } }
  await fails(catalog.queryTable({ id, columns: quoted }), 'TableColumnNotFound', '`NAME`')
  for (const on of ['NAME', '`name`']) {
    const merged = await catalog.mergeInsertIntoTable({
      id,
      on,
      data: [{ Name: 'a', 'two words': 5, select: 6 }],
      when_matched_update_all: true,
    })
    expect(merged.num_updated_rows).toBe(1)
  }
  await catalog.createTableScalarIndex({ id, column: 'NAME', index_type: 'BTREE' })
  await catalog.createTableScalarIndex({ id, column: '`TWO WORDS`', index_type: 'BTREE' })
  const { indexes } = await catalog.listTableIndices({ id })
  expect(indexes.map(({ columns }) => columns)).toEqual([['Name'], ['two words']])
})

test('columns that differ in their case only are told apart', async () => {
  await using catalog = await openCatalog('memory:')
  await catalog.createTable({ id, data: [{ x: 1, X: 2, xX: 3, Xx: 4 }] })
  const columns = { column_aliases: { a: 'X', b: 'x', c: 'Xx' } }
  expect(await rowsOf(catalog, id, { columns })).toEqual([{ a: 2, b: 1, c: 4 }])
  await fails(catalog.queryTable({ id, columns: { column_aliases: { a: 'XX' } } }), 'TableColumnNotFound')
  await fails(
    catalog.createTableScalarIndex({ id, column: 'XX', index_type: 'BTREE' }),
    'TableColumnNotFound',
  )
  await catalog.createTableScalarIndex({ id, column: 'X', index_type: 'BTREE' })
  expect((await catalog.listTableIndices({ id })).indexes[0]!.columns).toEqual(['X'])
})
