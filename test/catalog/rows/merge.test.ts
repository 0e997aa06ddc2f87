import {
  bool,
  type DataType,
  dateDay,
  decimal,
  dictionary,
  type Field,
  field,
  fixedSizeBinary,
  fixedSizeList,
  float32,
  float64,
  int8,
  int32,
  int64,
  list,
  struct,
  timestamp,
  utf8,
  utf8View,
} from '@uwdata/flechette'
import { describe, expect, it } from 'vitest'
import { encodeArrow, joinParts } from '../../../src/engine/arrow/ipc/encode.ts'
import { toArrowTable } from '../../../src/engine/table/index.ts'
import { eachCatalog } from '../../support/catalogs.ts'
import { refuses, refusesEach } from '../../support/refusals.ts'
import { rowsOf } from '../../support/rows.ts'

const id = ['t']
const of = (name: string, type: DataType, nullable = true): Field =>
  field(name, type, nullable, null as unknown as Map<string, string>)

async function arrow(fields: readonly Field[], rows: readonly Record<string, unknown>[]) {
  const table = await toArrowTable(rows, { schema: fields })
  return joinParts(
    encodeArrow(
      table.schema,
      table.children.map(({ data }) => data as never),
      'stream',
    ),
  )
}

const columns = [of('k', int32()), of('v', utf8()), of('w', float64())]
const upsert = { when_matched_update_all: true, when_not_matched_insert_all: true }
const letters = [
  { k: 1, v: 'a', w: 1 },
  { k: 2, v: 'b', w: 2 },
  { k: null, v: 'n', w: null },
  { k: 3, v: 'c', w: 3 },
]

eachCatalog((open) => {
  const filled = async (rows: readonly Record<string, unknown>[] = letters) => {
    const catalog = await open()
    await catalog.createTable({ id, data: await arrow(columns, rows) })
    return catalog
  }

  describe('mergeInsertIntoTable', () => {
    it('updates what matches and inserts the rest, after all others', async () => {
      const catalog = await filled()
      const data = await arrow(columns, [
        { k: 4, v: 'D', w: 40 },
        { k: 2, v: 'B', w: null },
        { k: null, v: 'N', w: 0 },
        { k: 1, v: 'A', w: 10 },
        { k: 4, v: 'DD', w: 44 },
      ])
      expect(await catalog.mergeInsertIntoTable({ id, on: 'k', data, ...upsert })).toEqual({
        num_inserted_rows: 3,
        num_updated_rows: 2,
        num_deleted_rows: 0,
        version: 2,
        transaction_id: expect.any(String),
      })
      expect(await rowsOf(catalog, id)).toEqual([
        { k: null, v: 'n', w: null },
        { k: 3, v: 'c', w: 3 },
        { k: 1, v: 'A', w: 10 },
        { k: 2, v: 'B', w: null },
        { k: 4, v: 'D', w: 40 },
        { k: null, v: 'N', w: 0 },
        { k: 4, v: 'DD', w: 44 },
      ])
      expect(await rowsOf(catalog, id, { version: 1 })).toEqual(letters)
    })

    it('does each of its parts alone', async () => {
      const data = await arrow(columns, [
        { k: 2, v: 'B', w: 5 },
        { k: 9, v: 'I', w: 5 },
      ])
      for (const [flags, counts, left] of [
        [{ when_matched_update_all: true }, [0, 1, 0], 'aNcB'],
        [{ when_not_matched_insert_all: true }, [1, 0, 0], 'abNcI'],
        [{ when_matched_delete: true }, [0, 0, 1], 'aNc'],
        [{ when_not_matched_by_source_delete: true }, [0, 0, 3], 'b'],
        [
          { when_not_matched_by_source_delete: true, when_not_matched_by_source_delete_filt: "v <> 'a'" },
          [0, 0, 2],
          'ab',
        ],
        [{ ...upsert, when_not_matched_by_source_delete: true }, [1, 1, 3], 'BI'],
        [{ when_matched_delete: true, when_not_matched_insert_all: true }, [1, 0, 1], 'aNcI'],
      ] as const) {
        const catalog = await filled()
        const answer = await catalog.mergeInsertIntoTable({ id, on: ['k'], data, ...flags })
        const { num_inserted_rows, num_updated_rows, num_deleted_rows, version } = answer
        expect([num_inserted_rows, num_updated_rows, num_deleted_rows, version]).toEqual([...counts, 2])
        const found = (await rowsOf(catalog, id)).map(({ v }) => v).join('')
        expect(found.toLowerCase()).toBe(left.toLowerCase())
      }
    })

    it('takes conditions on both sides, and makes a version where nothing changes', async () => {
      const catalog = await filled()
      const data = [
        { k: 1, v: 'A', w: 0 },
        { k: 2, v: 'B', w: 9 },
        { k: 2, v: 'BB', w: 1 },
      ]
      const condition = 'source.w > target.w'
      const merge = (when_matched_update_all_filt: string) =>
        catalog.mergeInsertIntoTable({
          id,
          on: 'k',
          data,
          when_matched_update_all: true,
          when_matched_update_all_filt,
        })
      expect(await merge(condition)).toMatchObject({ num_updated_rows: 1, version: 2 })
      expect(await merge(condition)).toMatchObject({ num_updated_rows: 0, version: 3 })
      expect((await rowsOf(catalog, id)).map(({ v }) => v)).toEqual(['a', 'n', 'c', 'B'])
      await refusesEach(catalog, [() => merge('v > 1')], 'InvalidInput', /"?v/)
      await refusesEach(catalog, [() => merge('source.none > 1')], 'InvalidInput', /none/)
      await refusesEach(catalog, [() => merge('target.k / (target.k - 2) > 0')], 'InvalidInput', /zero/)
    })

    it('keeps the values of columns that the rows lack', async () => {
      const catalog = await filled()
      const answer = await catalog.mergeInsertIntoTable({
        id,
        on: 'k',
        data: [
          { w: 11, k: 1 },
          { w: 99, k: 9 },
        ],
        ...upsert,
      })
      expect(answer).toMatchObject({ num_inserted_rows: 1, num_updated_rows: 1 })
      expect(await rowsOf(catalog, id)).toEqual([
        letters[1],
        letters[2],
        letters[3],
        { k: 1, v: 'a', w: 11 },
        { k: 9, v: null, w: 99 },
      ])
    })

    it('matches on several columns, nested ones, and values of every kind', async () => {
      const catalog = await open()
      const types: [DataType, unknown, unknown][] = [
        [int8(), 1, 2],
        [int64(), 2n ** 60n, 2n ** 60n + 1n],
        [float32(), Number.NaN, 1],
        [float64(), -0, 0],
        [bool(), true, false],
        [utf8(), 'ä long text with many bytes', 'ä long text with many bytez'],
        [utf8View(), 'ä long text with many bytes', 'b'],
        [dictionary(utf8()), 'x', 'y'],
        [dateDay(), new Date(864e5), new Date(0)],
        [timestamp(), new Date(1), new Date(2)],
        [decimal(30, 2, 128), '1.25', '1.26'],
        [fixedSizeBinary(3), Uint8Array.of(1, 2, 3), Uint8Array.of(1, 2, 4)],
        [list(of('item', int32())), [1, null], [1]],
        [fixedSizeList(float32(), 2), [1, 2], [2, 1]],
        [struct([of('a', int32())]), { a: 1 }, { a: null }],
      ]
      for (const [i, [type, one, other]] of types.entries()) {
        const name = `t${i}`
        const fields = [of('p', struct([of('x', type)])), of('k', type), of('n', int32())]
        const rows = [one, other, null].map((value, n) => ({ p: { x: value }, k: value, n }))
        await catalog.createTable({ id: [name], data: await arrow(fields, rows) })
        const data = await arrow(fields, [
          { p: { x: one }, k: one, n: 10 },
          { p: { x: null }, k: null, n: 20 },
          { p: { x: one }, k: other, n: 30 },
        ])
        const answer = await catalog.mergeInsertIntoTable({ id: [name], on: 'p.x, k', data, ...upsert })
        expect(answer).toMatchObject({ num_inserted_rows: 2, num_updated_rows: 1 })
        const found = await rowsOf(catalog, [name], { columns: ['n'] })
        expect(
          found.map(({ n }) => n),
          String(type.typeId),
        ).toEqual([1, 2, 10, 20, 30])
      }
    })

    it('creates a table that is only declared', async () => {
      const catalog = await open()
      await catalog.declareTable({ id })
      const data = [{ k: 1 }, { k: 1 }]
      await refuses(
        catalog,
        () => catalog.mergeInsertIntoTable({ id, on: 'k', data, when_matched_update_all: true }),
        'InvalidTableState',
      )
      await refuses(
        catalog,
        () => catalog.mergeInsertIntoTable({ id, on: 'x', data, ...upsert }),
        'TableColumnNotFound',
        'x',
      )
      expect(await catalog.mergeInsertIntoTable({ id, on: 'k', data, ...upsert })).toMatchObject({
        num_inserted_rows: 2,
        version: 1,
      })
      expect(await rowsOf(catalog, id)).toEqual(data)
    })

    it('refuses what cannot be, and changes nothing', async () => {
      const catalog = await filled()
      const row = { k: 2, v: 'x', w: 1 }
      const call = (more: object) => () =>
        catalog.mergeInsertIntoTable({ id, on: 'k', data: [row], ...more } as never)
      const two = [row, { ...row, v: 'y' }]
      for (const [more, code, ...said] of [
        [{}, 'InvalidInput', 'would change nothing'],
        [{ data: two, ...upsert }, 'InvalidInput', 'k = 2', 'one row for each key'],
        [{ ...upsert, on: '' }, 'InvalidInput', 'on'],
        [{ ...upsert, on: [] }, 'InvalidInput', 'on'],
        [{ ...upsert, on: 'nope' }, 'TableColumnNotFound', 'nope'],
        [{ ...upsert, on: 'k,nope' }, 'TableColumnNotFound', 'nope'],
        [{ ...upsert, data: [{ v: 'x' }] }, 'TableSchemaValidationError', '"k"'],
        [{ ...upsert, data: [{ ...row, z: 1 }] }, 'TableSchemaValidationError', '"z"'],
        [{ ...upsert, data: [{ ...row, k: 'x' }] }, 'TableSchemaValidationError', '"k"'],
        [{ ...upsert, when_matched_delete: true }, 'InvalidInput', 'when_matched_delete'],
        [{ when_matched_update_all_filt: 'true' }, 'InvalidInput', 'when_matched_update_all'],
        [{ ...upsert, when_not_matched_by_source_delete_filt: 'true' }, 'InvalidInput', 'by_source_delete'],
        [{ ...upsert, timeout: '5 parsecs' }, 'InvalidInput', '5 parsecs', '30s'],
        [{ ...upsert, timeout: '0s' }, 'InvalidInput', 'merge insert timed out', '0s'],
        [{ ...upsert, branch: 'none' }, 'TableBranchNotFound', 'none'],
      ] as const) {
        await refuses(catalog, call(more), code, ...said)
      }
      expect(
        await call({ data: two, when_not_matched_insert_all: true, timeout: '1h', use_index: false })(),
      ).toMatchObject({
        num_inserted_rows: 0,
      })
      expect(await call({ data: two, when_matched_delete: true })()).toMatchObject({ num_deleted_rows: 1 })
    })

    it('at once with inserts and merges of the same key keeps one row for each', async () => {
      const catalog = await filled([])
      const merges = Array.from({ length: 12 }, (_, i) =>
        catalog.mergeInsertIntoTable({ id, on: 'k', data: [{ k: i % 3, v: `m${i}`, w: i }], ...upsert }),
      )
      const answers = await Promise.all(merges)
      expect(answers.reduce((sum, { num_inserted_rows }) => sum + num_inserted_rows!, 0)).toBe(3)
      expect((await rowsOf(catalog, id)).map(({ k }) => k).sort()).toEqual([0, 1, 2])
      expect(answers.map(({ version }) => version).sort((a, b) => a! - b!)).toEqual(
        answers.map((_, i) => i + 2),
      )
    })
  })
})
