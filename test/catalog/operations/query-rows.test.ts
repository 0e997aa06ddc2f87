import { int32, list, struct, tableFromArrays, tableFromIPC, tableToIPC, utf8 } from '@uwdata/flechette'
import { describe, expect, it } from 'vitest'
import { eachCatalog } from '../../support/catalogs.ts'
import { fails } from '../../support/refusals.ts'
import { numbered, rowsOf } from '../../support/rows.ts'

const id = ['t']

eachCatalog((open) => {
  describe('queryTable computes columns', () => {
    it('of expressions, in lists and in aliases, beside those of the table', async () => {
      const catalog = await open()
      await catalog.createTable({
        id,
        data: [
          { a: 1, 'a + 1': 50, s: 'x', place: { city: 'Rome' } },
          { a: 2, 'a + 1': 60, s: 'y', place: { city: 'Oslo' } },
        ],
      })
      const column_aliases = {
        next: 'a + 2',
        up: 'upper(place.city)',
        kind: "CASE WHEN a = 1 THEN 'one' ELSE s END",
      }
      expect(await rowsOf(catalog, id, { columns: { column_aliases } })).toEqual([
        { next: 3, up: 'ROME', kind: 'one' },
        { next: 4, up: 'OSLO', kind: 'y' },
      ])
      expect(await rowsOf(catalog, id, { columns: ['s', 'a * 10', '1.5'], filter: 'a > 1' })).toEqual([
        { s: 'y', 'a * 10': 20, '1.5': 1.5 },
      ])
      // A name that is a column stays a column.
      expect(await rowsOf(catalog, id, { columns: ['a + 1'] })).toEqual([{ 'a + 1': 50 }, { 'a + 1': 60 }])
      expect(await rowsOf(catalog, id, { columns: { column_aliases: { x: 'a + 1' } }, limit: 1 })).toEqual([
        { x: 50 },
      ])
    })

    it('for the rows that are asked for, and no others', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(10) })
      await catalog.deleteFromTable({ id, predicate: 'n = 3' })
      const columns = { column_aliases: { n: 'n', q: '100 / (CAST(n AS INT) - 3)' } }
      expect(await rowsOf(catalog, id, { columns, filter: 'n > 4', offset: 1, limit: 2 })).toEqual([
        { n: 6, q: 33 },
        { n: 7, q: 25 },
      ])
      expect(
        await rowsOf(catalog, id, { columns: { column_aliases: { q: '1 / (CAST(n AS INT) - 3)' } } }),
      ).toHaveLength(9)
      await fails(
        catalog.queryTable({ id, columns: { column_aliases: { q: '1 / (CAST(n AS INT) - 4)' } } }),
        'InvalidInput',
        'The expression failed on row 3 (counted from 0): division by zero',
      )
      await catalog.insertIntoTable({ id, data: numbered(10, 10) })
      await catalog.deleteFromTable({ id, predicate: 'n = 12' })
      const late = { column_aliases: { q: '1 / (CAST(n AS INT) - 15)' } }
      const offset = await rowsOf(catalog, id, { columns: ['_rowoffset'], filter: 'n = 15' })
      expect(offset).toEqual([{ _rowoffset: 13 }])
      for (const order_by of [undefined, [{ column_name: 'n', ascending: false }]]) {
        const failing = catalog.queryTable({ id, columns: late, filter: 'n > 13', order_by })
        await fails(failing, 'InvalidInput', 'failed on row 13 ')
      }
      await fails(
        catalog.updateTable({ id, updates: [['half', late.column_aliases.q]] }),
        'InvalidInput',
        'failed on row 13 ',
      )
      await fails(
        catalog.alterTableAddColumns({ id, new_columns: [{ name: 'q', expression: late.column_aliases.q }] }),
        'InvalidInput',
        'failed on row 13 ',
      )
    })

    it('and refuses what is no expression', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(3) })
      await fails(catalog.queryTable({ id, columns: ['n +'] }), 'InvalidInput', 'Invalid expression: it ends')
      await fails(
        catalog.queryTable({ id, columns: ["n + 'x'"] }),
        'InvalidInput',
        'beside the string literal',
      )
      await fails(catalog.queryTable({ id, columns: ['nope + 1'] }), 'InvalidInput', 'no column named `nope`')
      await fails(catalog.queryTable({ id, columns: ['nope'] }), 'TableColumnNotFound', 'nope')
      await catalog.createTable({ id: ['u'], data: [{ delay: 1 }] })
      await fails(catalog.queryTable({ id: ['u'], columns: ['dealy'] }), 'TableColumnNotFound', 'mean delay?')
      const updates = [['delay', 5]] as never
      await fails(catalog.updateTable({ id: ['u'], updates }), 'InvalidInput', 'an expression as text')
    })
  })

  describe('queryTable sorts', () => {
    const data = [
      { n: 0, d: 2.5, s: 'b' },
      { n: 1, d: null, s: null },
      { n: 2, d: Number.NaN, s: 'a' },
      { n: 3, d: -0, s: 'B' },
      { n: 4, d: 0, s: 'é' },
      { n: 5, d: Number.NEGATIVE_INFINITY, s: 'z' },
      { n: 6, d: 0, s: 'a' },
    ]

    it.each([
      [[{ column_name: 'd' }], [5, 3, 4, 6, 0, 2, 1]],
      [[{ column_name: 'd', ascending: false }], [2, 0, 4, 6, 3, 5, 1]],
      [[{ column_name: 'd', ascending: true, nulls_first: true }], [1, 5, 3, 4, 6, 0, 2]],
      [[{ column_name: 'd', ascending: false, nulls_first: true }], [1, 2, 0, 4, 6, 3, 5]],
      [
        ['s', 'n desc'],
        [3, 6, 2, 0, 5, 4, 1],
      ],
      [
        ['s DESC NULLS FIRST', { column_name: 'n', ascending: false }],
        [1, 4, 5, 0, 6, 2, 3],
      ],
      [[], [0, 1, 2, 3, 4, 5, 6]],
    ])('%j', async (order_by, expected) => {
      const catalog = await open()
      await catalog.createTable({ id, data: data.slice(0, 4) })
      await catalog.insertIntoTable({ id, data: data.slice(4) })
      const ns = async (request: object) =>
        (await rowsOf(catalog, id, { order_by, columns: ['n'], ...request })).map(({ n }) => n)
      expect(await ns({})).toEqual(expected)
      expect(await ns({ limit: 3 })).toEqual(expected.slice(0, 3))
      expect(await ns({ limit: 3, offset: 2 })).toEqual(expected.slice(2, 5))
      expect(await ns({ offset: 5 })).toEqual(expected.slice(5))
      expect(await ns({ filter: 'n <> 4', limit: 5 })).toEqual(expected.filter((n) => n !== 4).slice(0, 5))
      expect(await ns({ limit: 0 })).toEqual([])
      expect(await ns({ offset: 50 })).toEqual([])
    })

    it('by fields of structs, with columns that are computed', async () => {
      const catalog = await open()
      await catalog.createTable({
        id,
        data: [
          { n: 1, st: { x: 2 } },
          { n: 2, st: { x: 1 } },
          { n: 3, st: null },
          { n: 4, st: { x: 3 } },
        ],
      })
      const columns = { column_aliases: { m: 'n * 10' } }
      expect(await rowsOf(catalog, id, { columns, order_by: ['st.x desc'] })).toEqual([
        { m: 40 },
        { m: 10 },
        { m: 20 },
        { m: 30 },
      ])
    })

    it('and refuses what has no order', async () => {
      const catalog = await open()
      const table = tableFromArrays(
        { n: [1], l: [[1]], st: [{ x: 1 }], s: ['x'] },
        { types: { n: int32(), l: list(int32()), st: struct({ x: int32() }), s: utf8() } },
      )
      await catalog.createTable({ id, data: tableToIPC(table, { format: 'stream' })! })
      for (const [order_by, code, text] of [
        [['l'], 'InvalidInput', 'whose values have no order'],
        [['st'], 'InvalidInput', 'whose values have no order'],
        [['nope'], 'TableColumnNotFound', 'nope'],
        [[{ column_name: '' }], 'InvalidInput', 'order_by'],
        [[{ ascending: true }], 'InvalidInput', 'order_by'],
        ['n', 'InvalidInput', 'order_by'],
      ] as const) {
        await fails(catalog.queryTable({ id, order_by } as never), code, text)
      }
    })
  })

  describe('queryTable names rows', () => {
    const ids = async (catalog: Awaited<ReturnType<typeof open>>, request: object = {}) => {
      const { data } = await catalog.queryTable({ id, columns: ['n', '_rowid'], ...request })
      return tableFromIPC(data, { useBigInt: true })
        .toArray()
        .map(({ n, _rowid }) => [Number(n), Number(_rowid)])
    }

    it('by ids that stay through inserts and deletes', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(4) })
      expect(await ids(catalog)).toEqual([
        [0, 0],
        [1, 1],
        [2, 2],
        [3, 3],
      ])
      await catalog.insertIntoTable({ id, data: numbered(2, 4) })
      await catalog.deleteFromTable({ id, predicate: 'n = 1' })
      expect(await ids(catalog)).toEqual([
        [0, 0],
        [2, 2],
        [3, 3],
        [4, 4],
        [5, 5],
      ])
      // All rows of the first fragment are gone, and so is the fragment.
      await catalog.deleteFromTable({ id, predicate: 'n < 4' })
      expect(await ids(catalog)).toEqual([
        [4, 4],
        [5, 5],
      ])
      await catalog.insertIntoTable({ id, data: numbered(1, 6) })
      expect(await ids(catalog)).toEqual([
        [4, 4],
        [5, 5],
        [6, 6],
      ])
      expect(await ids(catalog, { version: 1 })).toHaveLength(4)
      // The last row goes, and its id is not given again.
      await catalog.deleteFromTable({ id, predicate: 'n = 6' })
      await catalog.insertIntoTable({ id, data: numbered(1, 7) })
      expect(await ids(catalog)).toEqual([
        [4, 4],
        [5, 5],
        [7, 7],
      ])
      await catalog.restoreTable({ id, version: 1 })
      await catalog.insertIntoTable({ id, data: numbered(1, 9) })
      expect(await ids(catalog)).toEqual([
        [0, 0],
        [1, 1],
        [2, 2],
        [3, 3],
        [9, 8],
      ])
      await catalog.insertIntoTable({ id, mode: 'Overwrite', data: numbered(1) })
      expect(await ids(catalog)).toEqual([[0, 9]])
    })

    it('and optimizing gives new ones', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(2) })
      await catalog.insertIntoTable({ id, data: numbered(2, 2) })
      await catalog.optimizeTable({ id })
      expect(await ids(catalog)).toEqual([
        [0, 4],
        [1, 5],
        [2, 6],
        [3, 7],
      ])
    })

    it('inside of a transaction, too', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(2) })
      await catalog.transaction(async (tx) => {
        await tx.insertIntoTable({ id, data: numbered(2, 2) })
        await tx.deleteFromTable({ id, predicate: '_rowid = 0' })
        const columns = { column_aliases: { m: 'n * 2' } }
        expect(await rowsOf(tx as never, id, { columns, order_by: ['n desc'], with_row_id: true })).toEqual([
          { m: 6, _rowid: 3 },
          { m: 4, _rowid: 2 },
          { m: 2, _rowid: 1 },
        ])
      })
      expect(await ids(catalog)).toEqual([
        [1, 1],
        [2, 2],
        [3, 3],
      ])
    })

    it('takes rows by ids and by offsets', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(4) })
      await catalog.insertIntoTable({ id, data: numbered(4, 4) })
      await catalog.deleteFromTable({ id, predicate: 'n IN (1, 5)' })
      const ns = async (request: object) =>
        (await rowsOf(catalog, id, { columns: ['n'], ...request })).map(({ n }) => n)
      expect(await ns({ filter: '_rowid IN (0, 1, 6)' })).toEqual([0, 6])
      expect(await ns({ filter: '_ROWID = 7 OR n = 2' })).toEqual([2, 7])
      expect(await ns({ filter: '_rowoffset IN (0, 1, 4)' })).toEqual([0, 2, 6])
      expect(await ns({ filter: '_rowoffset >= 3' })).toEqual([4, 6, 7])
      expect((await catalog.countTableRows({ id, predicate: '_rowid < 4' })).count).toBe(3)
      expect((await catalog.countTableRows({ id, predicate: '_rowoffset < 4' })).count).toBe(4)
      expect(await ns({ order_by: ['_rowid desc'], limit: 2 })).toEqual([7, 6])
      const column_aliases = { at: 'CAST(_rowoffset AS INT)', next: 'CAST(_rowid + 1 AS INT)' }
      expect(await rowsOf(catalog, id, { columns: { column_aliases }, filter: 'n > 5' })).toEqual([
        { at: 4, next: 7 },
        { at: 5, next: 8 },
      ])
      expect(await rowsOf(catalog, id, { with_row_id: true, columns: ['n'], filter: 'n = 6' })).toEqual([
        { n: 6, _rowid: 6 },
      ])
      const whole = tableFromIPC((await catalog.queryTable({ id, with_row_id: true })).data)
      expect(whole.names).toEqual([...Object.keys(numbered(1)[0]!), '_rowid'])
      await catalog.deleteFromTable({ id, predicate: '_rowid = 6' })
      expect(await ns({})).toEqual([0, 2, 3, 4, 7])
      await fails(
        catalog.deleteFromTable({ id, predicate: '_rowoffset = 0' }),
        'Unsupported',
        'Name rows by _rowid',
      )
    })
  })
})
