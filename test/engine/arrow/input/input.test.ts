import { createRequire } from 'node:module'
import { type DataType, dictionary, int8, int32, Table, tableFromArrays, utf8 } from '@uwdata/flechette'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type BatchParts, makeBatch, makeColumn } from '../../../../src/engine/arrow/batch.ts'
import { decodeArrow } from '../../../../src/engine/arrow/ipc/decode.ts'
import {
  type ArrowInput,
  fromJsonSchema,
  type JsonArrowType,
  toArrowTable,
  toJsonSchema,
} from '../../../../src/engine/table/index.ts'
import { fixture, plain } from '../fixtures.ts'

type Rows = readonly Readonly<Record<string, unknown>>[]

function types(table: Table): Record<string, unknown> {
  return Object.fromEntries(toJsonSchema(table.schema).fields.map(({ name, type }) => [name, type]))
}

function schemaOf(type: JsonArrowType, nullable = true) {
  return fromJsonSchema({ fields: [{ name: 'a', nullable, type }] })
}

async function valuesOf(values: readonly unknown[], type: JsonArrowType) {
  const table = await toArrowTable(
    values.map((a) => ({ a })),
    { schema: schemaOf(type) },
  )
  return Array.from(table.children[0]!, plain)
}

describe('row objects without a schema', () => {
  test('nest as deep as schemas may, and what is deeper or holds itself is refused', async () => {
    const depths = fc.oneof(fc.integer({ min: 58, max: 70 }), fc.integer({ min: 0, max: 20_000 }))
    await fc.assert(
      fc.asyncProperty(
        depths,
        fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
        async (depth, lists) => {
          let value: unknown = 1
          for (let i = 0; i < depth; i++) value = lists[i % lists.length] ? [value] : { f: value }
          const made = toArrowTable([{ a: value }])
          if (depth > 64)
            await expect(made).rejects.toThrow(/ holds a value in row 0 that nests deeper than 64/)
          else expect((await made).numRows).toBe(1)
        },
      ),
    )
    const item: { parent?: unknown; children: unknown[] } = { children: [] }
    for (const held of [{ ...item, parent: item }, item]) {
      item.children = [held]
      item.parent = held
      await expect(toArrowTable([{ a: 1 }, { a: 2, held }])).rejects.toThrow(/"held.* row 1 .*holds itself/)
    }
  })

  test('have their types inferred', async () => {
    const table = await toArrowTable([
      {
        number: 1,
        bigint: 1n,
        text: 'x',
        yes: true,
        when: new Date(5),
        bytes: Uint8Array.of(1),
        list: [1, null],
        struct: { a: 1, b: { c: 'd' } },
        vector: Float32Array.of(1, 2),
        nothing: null,
      },
      {},
    ])
    expect(table.numRows).toBe(2)
    expect(types(table)).toMatchObject({
      number: { type: 'double' },
      bigint: { type: 'int64' },
      text: { type: 'string' },
      yes: { type: 'bool' },
      when: { type: 'timestamp:ms:-' },
      bytes: { type: 'binary' },
      list: { type: 'list', fields: [{ name: 'item', type: { type: 'double' } }] },
      struct: { type: 'struct', fields: [{ name: 'a' }, { name: 'b', type: { type: 'struct' } }] },
      vector: { type: 'fixed_size_list', length: 2, fields: [{ name: 'item', type: { type: 'float' } }] },
      nothing: { type: 'null' },
    })
    expect(table.children.every((column) => column.at(1) === null)).toBe(true)
  })

  test('may have columns named like parts of objects', async () => {
    const rows = [JSON.parse('{"__proto__":1,"constructor":"c","toString":true}')]
    const table = await toArrowTable(rows)
    expect(table.names).toEqual(['__proto__', 'constructor', 'toString'])
    expect(table.children.map((column) => column.at(0))).toEqual([1, 'c', true])
  })

  test.each<[Rows, RegExp]>([
    [[{ a: 1 }, { a: 'x' }], /Column "a" holds a number in row 0 and a string in row 1/],
    [[{ a: [1] }, { a: [true] }], /Column "a.item" holds a number in row 0 and a boolean in row 1/],
    [[{ a: 1 }, { a: 1n }], /a number in row 0 and a bigint in row 1/],
    [[{ a: () => 1 }], /a function in row 0/],
    [[{ a: new Set() }], /a Set in row 0/],
    [[{ a: new Map() }], /a Map in row 0, .* Give a schema with a map, or make it an object\./],
    [[{}], /The row names no column/],
    [[], /no rows with values/],
    [[null as never], /Row 0 is null/],
    [[[] as never], /Row 0 is an Array/],
    [new Map() as never, /The data is a Map\./],
    [new (class {})() as never, /The data is an object\./],
    [{ constructor: { name: '' } } as never, /The data is an object\./],
  ])('are refused when no type fits: case %#', async (rows, message) => {
    await expect(toArrowTable(rows)).rejects.toMatchObject({
      code: 'InvalidInput',
      message: expect.stringMatching(message),
    })
  })
})

describe('row objects with a schema', () => {
  test('become its types', async () => {
    expect(await valuesOf([1, null, -128], { type: 'int8' })).toEqual([1, null, -128])
    expect(await valuesOf([1, 2n ** 64n - 1n], { type: 'uint64' })).toEqual([1n, 2n ** 64n - 1n])
    expect(await valuesOf([0.1, -0], { type: 'float' })).toEqual([Math.fround(0.1), -0])
    expect(await valuesOf([1.5, 65504, 2 ** -24, -0], { type: 'halffloat' })).toEqual([
      1.5,
      65504,
      2 ** -24,
      -0,
    ])
    expect(await valuesOf([new Date(-1)], { type: 'timestamp:s:-' })).toEqual([-1n])
    expect(await valuesOf([new Date(-1), 7n], { type: 'timestamp:us:UTC' })).toEqual([-1000n, 7n])
    expect(await valuesOf([new Date('2024-02-29')], { type: 'date32:day' })).toEqual([Date.UTC(2024, 1, 29)])
    expect(await valuesOf(['-1.5', 2.25, 7n], { type: 'decimal:128:10:2' })).toEqual([-150n, 225n, 7n])
    expect(
      await valuesOf(['a', 'b', 'a', null], {
        type: 'dictionary',
        fields: [
          { name: 'index', nullable: true, type: { type: 'int8' } },
          { name: 'value', nullable: true, type: { type: 'string' } },
        ],
      }),
    ).toEqual(['a', 'b', 'a', null])
    expect(await valuesOf(['short', 'longer than twelve', null], { type: 'string_view' })).toEqual([
      'short',
      'longer than twelve',
      null,
    ])
    const item = { name: 'item', nullable: true, type: { type: 'int32' } }
    for (const type of ['list', 'large_list', 'list_view', 'large_list_view']) {
      expect(await valuesOf([[1, null], null, []], { type, fields: [item] })).toEqual([[1, null], null, []])
    }
    expect(await valuesOf([[1, 2], null], { type: 'fixed_size_list', length: 2, fields: [item] })).toEqual([
      [1, 2],
      null,
    ])
    expect(await valuesOf([{ item: 1 }, null, {}], { type: 'struct', fields: [item] })).toEqual([
      { item: 1 },
      null,
      { item: null },
    ])
  })

  test.each<[unknown, string, RegExp]>([
    [1.5, 'int32', /Row 1 has a number 1.5 in column "a", which takes a whole number/],
    [300, 'uint8', /from 0 to 255/],
    [-1, 'uint64', /from 0 to/],
    [2 ** 60, 'int64', /bigint where a number is no longer exact/],
    ['1', 'int32', /a string in column "a"/],
    ['1', 'double', /takes a number/],
    [1, 'string', /takes text/],
    ['\ud800', 'string', /half surrogate/],
    [1, 'bool', /true or false/],
    [5, 'timestamp:us:-', /a Date, or a bigint/],
    [new Date(Number.NaN), 'timestamp:us:-', /a valid Date/],
    ['1.234', 'decimal:128:10:2', /2 after the point/],
    ['123456789.00', 'decimal:128:10:2', /10 digits/],
    [Uint8Array.of(1), 'fixed_size_binary:2', /exactly 2 bytes/],
    [1, 'null', /nulls only/],
  ])('refuses %s as %s', async (value, type, message) => {
    await expect(
      toArrowTable([{ a: null }, { a: value }], { schema: schemaOf({ type }) }),
    ).rejects.toMatchObject({ code: 'TableSchemaValidationError', message: expect.stringMatching(message) })
  })

  test('refuses a missing value where none may be, and a name it does not have', async () => {
    const schema = schemaOf({ type: 'int32' }, false)
    await expect(toArrowTable([{ a: 1 }, {}], { schema })).rejects.toThrow('Row 1 has no value in column "a"')
    await expect(toArrowTable([{ a: 1, b: 2 }], { schema })).rejects.toThrow(
      'Row 0: Column "b" is not in the schema, which has "a"',
    )
    expect((await toArrowTable([], { schema })).numRows).toBe(0)
  })

  test('give back what was put in', async () => {
    const row = fc.record({
      i: fc.option(fc.maxSafeInteger()),
      b: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
      f: fc.option(fc.double()),
      s: fc.option(fc.string({ unit: 'binary' })),
      y: fc.option(fc.boolean()),
      l: fc.option(fc.array(fc.option(fc.double()))),
    })
    const names = { i: 'double', b: 'int64', f: 'double', s: 'string', y: 'bool' }
    const fields = Object.entries(names).map(([name, type]) => ({ name, nullable: true, type: { type } }))
    const item = { name: 'item', nullable: true, type: { type: 'double' } }
    const schema = fromJsonSchema({
      fields: [...fields, { name: 'l', nullable: true, type: { type: 'list', fields: [item] } }],
    })
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 20 }), async (rows) => {
        const table = await toArrowTable(rows, { schema })
        expect(table.toArray().map(plain)).toEqual(rows.map(plain))
      }),
      { numRuns: 100 },
    )
  })
})

describe('Arrow data', () => {
  test('is taken as bytes of either kind', async () => {
    const bytes = fixture('types.arrow')
    expect((await toArrowTable(bytes)).numRows).toBe(13)
    expect((await toArrowTable(bytes.slice().buffer)).numRows).toBe(13)
  })

  test('is taken as a flechette table, whose dictionaries may differ from batch to batch', async () => {
    const table = await decodeArrow(fixture('dictionaries.arrows'))
    expect(Array.from((await toArrowTable(table)).children[0]!)).toEqual(Array.from(table.children[0]!))
    const built = await toArrowTable(tableFromArrays({ a: [1, 2, null], b: ['x', null, 'y'] }))
    expect(built.toArray()).toEqual([
      { a: 1, b: 'x' },
      { a: 2, b: null },
      { a: null, b: 'y' },
    ])
    const broken = new Table(table.schema, [])
    await expect(toArrowTable(broken)).rejects.toMatchObject({ code: 'InvalidInput' })
  })

  test('is taken as an apache-arrow table, slices and columns of nulls included', async () => {
    // The CommonJS build: as foreign to us as another version of the package.
    const A = createRequire(import.meta.url)('apache-arrow') as typeof import('apache-arrow')
    const vector = A.vectorFromArray as unknown as (values: unknown[], type: unknown) => never
    const struct = new A.Struct([new A.Field('x', new A.Int32(), true)])
    const table = new A.Table({
      i: vector([1, null, 3, 4], new A.Int32()),
      s: vector(['a', 'b', null, 'a'], new A.Dictionary(new A.Utf8(), new A.Int8())),
      b: vector([null, null, null, null], new A.Bool()),
      f: vector([null, null, null, null], new A.FixedSizeList(2, new A.Field('item', new A.Float32(), true))),
      t: vector([true, false, null, true], new A.Bool()),
      st: vector([{ x: 1 }, null, { x: 2 }, { x: 3 }], struct),
      l: vector([[1n], null, [], [2n, 3n]], new A.List(new A.Field('item', new A.Int64(), true))),
      u: vector(['x', 'yy', null, ''], new A.Utf8()),
    })
    const expected = [
      { i: 1, s: 'a', b: null, f: null, t: true, st: { x: 1 }, l: [1n], u: 'x' },
      { i: null, s: 'b', b: null, f: null, t: false, st: null, l: null, u: 'yy' },
      { i: 3, s: null, b: null, f: null, t: null, st: { x: 2 }, l: [], u: null },
      { i: 4, s: 'a', b: null, f: null, t: true, st: { x: 3 }, l: [2n, 3n], u: '' },
    ]
    const rows = async (data: ArrowInput) => (await toArrowTable(data)).toArray().map(plain)
    expect(await rows(table as never)).toEqual(expected)
    expect(await rows(table.slice(1, 3) as never)).toEqual(expected.slice(1, 3))
    expect(await rows(A.tableToIPC(table))).toEqual(expected)
  })

  test('is checked as bytes are when it is a table made by hand, and its buffers are not copied', async () => {
    const table = (type: DataType, parts: BatchParts) =>
      new Table({ fields: [{ name: 'a', type, nullable: true, metadata: new Map() }], metadata: null }, [
        makeColumn(type, [makeBatch(type, parts)]),
      ])
    const refused: [DataType, BatchParts, RegExp][] = [
      [int32(), { length: 2, values: Int32Array.of(1) }, /needs 8 bytes of values and has 4/],
      [int32(), { length: 2, nullCount: 1, values: Int32Array.of(1, 2) }, /no validity bitmap/],
      [
        int32(),
        { length: 2, nullCount: 2, validity: Uint8Array.of(1), values: Int32Array.of(1, 2) },
        /claims 2 nulls/,
      ],
      [
        utf8(),
        { length: 2, offsets: Int32Array.of(0, 2, 1), values: Uint8Array.of(97, 98) },
        /offsets that go down/,
      ],
      [utf8(), { length: 1, offsets: Int32Array.of(0, 9), values: Uint8Array.of(97) }, /over 1 values/],
      [utf8(), { length: 1, offsets: Int32Array.of(0, 1), values: Uint8Array.of(255) }, /not UTF-8/],
      [
        dictionary(utf8(), int8()),
        {
          length: 1,
          values: Int8Array.of(3),
          dictionary: makeColumn(utf8(), [
            makeBatch(utf8(), { length: 1, offsets: Int32Array.of(0, 1), values: Uint8Array.of(97) }),
          ]),
        },
        /index 3 into a dictionary of 1 values/,
      ],
      [int32(), { length: 1.5, values: Int32Array.of(1) }, /do not fit together/],
      [int32(), { length: 2 ** 31, values: Int32Array.of(1) }, /rows/],
    ]
    for (const [type, parts, message] of refused) {
      await expect(toArrowTable(table(type, parts))).rejects.toMatchObject({
        code: 'InvalidInput',
        message: expect.stringMatching(message),
      })
    }
    const values = Int32Array.of(1, 2)
    const taken = await toArrowTable(table(int32(), { length: 2, values }))
    expect(taken.children[0]!.data[0]!.values.buffer).toBe(values.buffer)
  })

  test('anything else is refused', async () => {
    for (const data of [5, 'x', null, {}, new Map()]) {
      await expect(toArrowTable(data as never)).rejects.toMatchObject({ code: 'InvalidInput' })
    }
  })
})
