import {
  type DataType,
  type Field,
  field,
  fixedSizeList,
  float32,
  float64,
  int32,
  int64,
  list,
  map,
  nullType,
  struct,
  tableFromArrays,
  tableToIPC,
  utf8,
} from '@uwdata/flechette'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { toArrowTable } from '../../../src/engine/table/index.ts'
import { eachCatalog } from '../../support/catalogs.ts'
import { openLance } from '../../support/lance.ts'
import { refuses } from '../../support/refusals.ts'
import { rowsOf } from '../../support/rows.ts'

const id = ['t']
const of = (name: string, type: DataType, nullable = true): Field =>
  field(name, type, nullable, null as unknown as Map<string, string>)

/** Arrow bytes of rows. */
async function arrow(fields: readonly Field[], rows: readonly Record<string, unknown>[]) {
  return tableToIPC(await toArrowTable(rows, { schema: fields }), { format: 'stream' })!
}

const place = struct([of('city', utf8()), of('code', int32(), false), of('at', struct([of('x', float64())]))])

eachCatalog((open) => {
  describe('an insert', () => {
    it('fills columns that it leaves out with nulls', async () => {
      const catalog = await open()
      const fields = [of('n', int32(), false), of('s', utf8()), of('v', fixedSizeList(float32(), 3))]
      await catalog.createTable({ id, data: await arrow(fields, [{ n: 1, s: 'a', v: [1, 2, 3] }]) })
      await catalog.insertIntoTable({ id, data: await arrow([fields[0]!], [{ n: 2 }, { n: 3 }]) })
      await catalog.insertIntoTable({ id, data: [{ n: 4 }, { n: 5, s: 'e' }] })
      await catalog.insertIntoTable({ id, data: await arrow([fields[1]!, fields[0]!], [{ s: 'f', n: 6 }]) })
      const found = await rowsOf(catalog, id)
      expect(found.map((row) => ({ ...row, v: row.v && [...(row.v as Float32Array)] }))).toEqual([
        { n: 1, s: 'a', v: [1, 2, 3] },
        ...[2, 3, 4].map((n) => ({ n, s: null, v: null })),
        { n: 5, s: 'e', v: null },
        { n: 6, s: 'f', v: null },
      ])
      expect(await rowsOf(catalog, id, { filter: 's IS NULL', columns: ['n'] })).toEqual(
        [2, 3, 4].map((n) => ({ n })),
      )
    })

    it('fills fields of structs, also within lists and maps', async () => {
      const catalog = await open()
      const fields = [
        of('p', place),
        of('l', list(of('item', place))),
        of('m', map(utf8(), of('value', place))),
      ]
      await catalog.createTable({ id, data: await arrow(fields, []) })
      const short = struct([of('code', int32(), false)])
      const given = [
        of('m', map(utf8(), of('value', short))),
        of('p', short),
        of('l', list(of('item', short))),
      ]
      const rows = [
        { p: { code: 1 }, l: [{ code: 2 }, null, { code: 3 }], m: new Map([['k', { code: 4 }]]) },
        { p: null, l: null, m: null },
      ]
      await catalog.insertIntoTable({ id, data: await arrow(given, rows) })
      await catalog.insertIntoTable({ id, data: rows })
      const full = (code: number) => ({ city: null, code, at: null })
      const first = { p: full(1), l: [full(2), null, full(3)], m: [['k', full(4)]] }
      const second = { p: null, l: null, m: null }
      const found = (await rowsOf(catalog, id)).map((row) => ({
        ...row,
        m: row.m && [...(row.m as Iterable<unknown>)],
      }))
      expect(found).toEqual([first, second, first, second])
    })

    it('names what it must not leave out, at its path', async () => {
      const catalog = await open()
      const fields = [of('n', int32(), false), of('p', place), of('l', list(of('item', place)))]
      await catalog.createTable({ id, data: await arrow(fields, []) })
      const without = struct([of('city', utf8())])
      for (const [columns, row, said] of [
        [[fields[1]!], { p: null }, 'column "n" is missing'],
        [[fields[0]!, of('p', without)], { n: 1, p: { city: 'x' } }, 'column "p.code" is missing'],
        [
          [fields[0]!, of('l', list(of('item', without)))],
          { n: 1, l: [{ city: 'x' }] },
          'column "l.item.code" is missing',
        ],
        [
          [fields[0]!, of('p', struct([of('code', int32()), of('zip', utf8())]))],
          { n: 1, p: null },
          'Column "p.zip" is not in',
        ],
        [
          [fields[0]!, of('p', struct([of('code', utf8())]))],
          { n: 1, p: null },
          'Column "p.code" is string and not int32',
        ],
        [[of('n', nullType())], { n: null }, 'Column "n"'],
        [[fields[0]!, of('o', utf8())], { n: 1, o: null }, 'Column "o" is not in the table'],
      ] as const) {
        const data = await arrow(columns, [row])
        await refuses(
          catalog,
          () => catalog.insertIntoTable({ id, data }),
          'TableSchemaValidationError',
          said,
        )
      }
      await refuses(
        catalog,
        () => catalog.insertIntoTable({ id, data: [{ p: null }] }),
        'TableSchemaValidationError',
        '"n"',
      )
    })
  })
})

test('a few bytes that leave out a wide column take little memory', async () => {
  const { tableEngine } = await import('../../../src/engine/table/engine.ts')
  const { memoryContent } = await import('../../../src/contents/memory/index.ts')
  const content = memoryContent()
  const sizes: number[] = []
  const counting = {
    ...content,
    put: async (_: string, parts: Uint8Array | readonly Uint8Array[]) => {
      const bytes =
        parts instanceof Uint8Array ? parts.length : parts.reduce((sum, { length }) => sum + length, 0)
      sizes.push(bytes)
    },
  }
  const engine = tableEngine({ content: counting, cacheBytes: 1 << 20 })
  const fields = [of('n', int64()), of('v', fixedSizeList(float64(), 1024))]
  const base = await engine.create('t', await toArrowTable([], { schema: fields }))
  const rows = 60_000
  await engine.insertRows(base, tableFromArrays({ n: new BigInt64Array(rows) }))
  // 490 MB of nulls, in files of a fragment's size each.
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThan(rows * 8192)
  expect(Math.max(...sizes)).toBeLessThan(140 << 20)
})

/** Columns of random types; nested ones lack fields now and then. */
const leaf = fc.constantFrom<DataType>(int32(), utf8(), float64())
const nested = fc.letrec<{ type: DataType }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    { weight: 3, arbitrary: leaf },
    {
      weight: 2,
      arbitrary: fc
        .array(fc.tuple(tie('type'), fc.boolean()), { minLength: 1, maxLength: 3 })
        .map((types) => struct(types.map(([type, nullable], i) => of(`f${i}`, type, nullable)))),
    },
  ),
})).type

/** The same columns in another order, some of them and of their fields left out. */
function cut(fields: readonly Field[], choose: () => number): Field[] {
  const kept = fields.filter(() => choose() > 0.3).map((one) => ({ ...one, type: cutType(one.type, choose) }))
  return (kept.length > 0 ? kept : [fields[0]!]).sort(() => choose() - 0.5)
}

function cutType(type: DataType, choose: () => number): DataType {
  return 'children' in type && choose() > 0.5 ? struct(cut(type.children, choose)) : type
}

function anyValue(type: DataType, nullable: boolean, choose: () => number): unknown {
  if (nullable && choose() < 0.3) return null
  if ('children' in type)
    return Object.fromEntries(
      type.children.map((one) => [one.name, anyValue(one.type, one.nullable, choose)]),
    )
  const n = Math.floor(choose() * 100)
  return ({ 2: n, 3: n / 4, 5: `text ${n}` } as Record<number, unknown>)[type.typeId]
}

test('inserts with some of the columns do what the reference does', async () => {
  await using lance = await openLance()
  const { openCatalog } = await import('../../../src/tabularium/index.ts')
  await using catalog = await openCatalog('memory:')
  let number = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(nested, fc.boolean()), { minLength: 1, maxLength: 4 }),
      fc.gen(),
      async (types, gen) => {
        const choose = () => gen(fc.double, { min: 0, max: 1, noNaN: true, maxExcluded: true })
        const fields = types.map(([type, nullable], i) => of(`c${i}`, type, nullable))
        const given = cut(fields, choose)
        const rows = (from: readonly Field[]) =>
          Array.from(
            { length: 3 },
            () => anyValue(struct([...from]), false, choose) as Record<string, unknown>,
          )
        const first = await arrow(fields, rows(fields))
        const second = await arrow(given, rows(given))
        const name = `t${number++}`
        const theirs = await lance.create(name, first)
        await catalog.createTable({ id: [name], data: first })
        const expected = await lance.add(theirs, second).catch((error: Error) => error)
        const found = await catalog.insertIntoTable({ id: [name], data: second }).then(
          () => rowsOf(catalog, [name]),
          (error: Error) => error,
        )
        if (expected instanceof Error || found instanceof Error) {
          expect(
            [expected, found].map((one) => one instanceof Error),
            `${expected} ${found}`,
          ).toEqual([true, true])
        } else {
          expect(found).toEqual(expected)
        }
      },
    ),
    { numRuns: 60 },
  )
})
