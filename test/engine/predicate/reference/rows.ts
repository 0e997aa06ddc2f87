import { type DataType, type Table, tableFromColumns } from '@uwdata/flechette'
import fc from 'fast-check'
import { makeColumn } from '../../../../src/engine/arrow/batch.ts'
import type { Scalar } from '../../../../src/engine/predicate/plan/plan.ts'
import { batchOf } from '../evaluate/batches.ts'
import { field, makeTable, struct, types } from '../table.ts'
import { typedColumns } from './columns.ts'

const words = ['', 'a', 'A', 'apple', 'Apple pie', 'b', '10', '-7', '1.5', '100%', 'a_b', 'a\\b', "it's"]
const exotic = [
  'é',
  'É',
  'ß',
  'Straße',
  '𐐷x',
  '\u{1f600}',
  'z\n',
  ' pad ',
  'ﬀ',
  '\uffff',
  'x,y',
  'true',
  '2024-01-01',
]
export const texts = [...words, ...exotic]

const doubles = [0, 1, -1, 1.5, 0.1, -2.25, 10, 1e308, -1e308, 5e-324, 2 ** 53, Infinity, -Infinity, NaN]
const singles = [0, 1, -1, 0.5, 0.1, 3.25, 1e38, 16_777_217, Infinity, -Infinity, NaN].map(Math.fround)
const finite = [1, -1, 1.5, 2.5, -2.5, 0.1, 10, 100.25, -7]

/*
 * Zero of either sign is the same to us, while the reference tells them apart where two columns meet: this
 * column is for comparisons with literals.
 */
const zeros = [0, -0, 1, -1, NaN]

const day = 86_400_000
const days = [0, -1, 1, 19_723, 19_782, 19_722, 22_279, -25_567, 47_482].map((count) => count * day)
const instants = [
  0, -0.001, 1_704_067_200_000, 1_704_067_200_000.001, 1_709_208_000_123.456, 1_704_153_599_999.999,
]
const seconds = [0, -1_000, 1_704_067_200_000, 1_709_208_000_000, 4_102_444_799_000]

function integers(bits: number, signed: boolean): number[] {
  const low = signed ? -(2 ** (bits - 1)) : 0
  const high = 2 ** (signed ? bits - 1 : bits) - 1
  return [low, low + 1, high, high - 1, 0, 1, 2, 5, 7, 10, ...(signed ? [-1, -7] : [])]
}

const longs = [0n, 1n, -1n, 2n, 5n, 10n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n, 2n ** 31n]
const unsignedLongs = [0n, 1n, 2n, 5n, 10n, 2n ** 64n - 1n, 2n ** 63n, 2n ** 53n + 1n]

/** Columns by name: their type, and what their values are drawn from. */
const columns = {
  i8: [types.int8, integers(8, true)],
  i16: [types.int16, integers(16, true)],
  i: [types.int32, integers(32, true)],
  j: [types.int32, [0, 1, 2, 3, 5, 7, 10, -1, -7]],
  big: [types.int64, longs],
  u8: [types.uint8, integers(8, false)],
  u16: [types.uint16, integers(16, false)],
  u32: [types.uint32, integers(32, false)],
  u64: [types.uint64, unsignedLongs],
  f: [types.float64, doubles],
  g: [types.float64, doubles],
  h: [types.float64, finite],
  z: [types.float64, zeros],
  f32: [types.float32, singles],
  s: [types.utf8, texts],
  t: [types.utf8, texts],
  Name: [types.utf8, ['Al', 'al', 'AL', 'bo', '', 'élan']],
  dict: [types.dictionary, ['x', 'y', 'X', '']],
  b: [types.bool, [true, false]],
  c: [types.bool, [true, false]],
  d: [types.date, days],
  e: [types.date, days],
  ts: [types.microseconds, [...instants, ...days]],
  ts2: [types.microseconds, [...instants, ...days]],
  tsm: [types.milliseconds, [...seconds, 1_704_067_200_123, ...days]],
  tss: [types.seconds, seconds],
  tz: [types.utc, [...instants, ...days]],
  dec: [types.decimal, [0, 1.5, -0.01, 5, 99_999_999.99, -99_999_999.99, 2.25]],
} as const

const nested = struct([
  field('x', types.int32),
  field('y', struct([field('z', types.utf8), field('f', types.float64)])),
  field('a.b', types.int32),
])

/** A table of random rows, nulls among them; `id` counts them from 0. */
export function randomTable(seed: number, length: number): Table {
  const cell = <T>(values: readonly T[]) =>
    fc.option(fc.constantFrom(...values), { freq: 6, nil: null }) as fc.Arbitrary<T | null>
  const draw = <T>(arbitrary: fc.Arbitrary<T>, salt: number) =>
    fc.sample(arbitrary, { seed: seed * 1_000 + salt, numRuns: length })
  const made = Object.entries(columns).map(([name, [type, values]], salt) => [
    name,
    [type, draw(cell(values as readonly unknown[]), salt)],
  ])
  const structs = fc.option(
    fc.record({
      x: cell([0, 1, 2, -1, 10]),
      y: fc.option(fc.record({ z: cell(texts), f: cell(doubles) }), { freq: 6, nil: null }),
      'a.b': cell([0, 1, 2]),
    }),
    { freq: 6, nil: null },
  )
  const listOf = <T>(values: readonly T[]) =>
    fc.option(fc.array(cell(values), { maxLength: 4 }), { freq: 6, nil: null })
  const table = makeTable({
    id: [types.int64, Array.from({ length }, (_, i) => BigInt(i))],
    ...Object.fromEntries(made),
    tags: [types.texts, draw(listOf(['x', 'y', 'z', '', 'é']), 101)],
    li: [types.integers, draw(listOf([0, 1, 2, 5, -7, 2_147_483_647]), 102)],
    st: [nested, draw(structs, 103)],
    'sp ace': [types.int32, draw(cell([0, 1, 2, 3]), 104)],
  })
  return withRandom(table, seed, typedColumns)
}

/** A table with more columns of random values, nulls among them. The values are as plans hold them. */
export function withRandom(
  table: Table,
  seed: number,
  columns: Readonly<Record<string, readonly [DataType, readonly Scalar[]]>>,
): Table {
  const more = Object.entries(columns).map(([name, [type, values]], i) => {
    const cell = fc.option(fc.constantFrom(...values), { freq: 6, nil: null })
    const drawn = fc.sample(cell, { seed: seed * 1_000 + 200 + i, numRuns: table.numRows })
    return [name, makeColumn(type, [batchOf(type, drawn)])]
  })
  const given = table.schema.fields.map(({ name }, i) => [name, table.children[i]!])
  return tableFromColumns(Object.fromEntries([...given, ...more]))
}
