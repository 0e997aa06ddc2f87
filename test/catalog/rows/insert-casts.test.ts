import {
  binary,
  type DataType,
  dateDay,
  dateMillisecond,
  decimal,
  dictionary,
  duration,
  type Field,
  field,
  fixedSizeList,
  float16,
  float32,
  float64,
  int8,
  int16,
  int32,
  int64,
  largeBinary,
  largeList,
  largeUtf8,
  list,
  struct,
  TimeUnit,
  Type,
  timeMicrosecond,
  timeMillisecond,
  timeNanosecond,
  timestamp,
  uint8,
  uint16,
  uint32,
  uint64,
  utf8,
} from '@uwdata/flechette'
import { expect, test } from 'vitest'
import type { AnyBatch } from '../../../src/engine/arrow/batch.ts'
import { fitting } from '../../../src/engine/arrow/fit.ts'
import { encodeArrow, joinParts } from '../../../src/engine/arrow/ipc/encode.ts'
import { assemble } from '../../../src/engine/arrow/take/take.ts'
import { typeName } from '../../../src/engine/arrow/type-name.ts'
import { toArrowTable } from '../../../src/engine/table/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, eachCatalog } from '../../support/catalogs.ts'
import { openLance } from '../../support/lance.ts'
import { fails } from '../../support/refusals.ts'
import { countOf, rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'

// It asks the reference for each cast between all types.
limitEach(60)

/*
 * Inserts of columns in other types than the table's. The reference casts them, too, so both have the same rows
 * afterwards, or both have refused. Where the reference loses something without a word, an insert here is refused.
 */

const of = (name: string, type: DataType, nullable = true): Field =>
  field(name, type, nullable, null as unknown as Map<string, string>)

async function arrow(type: DataType, values: readonly unknown[]) {
  const rows = values.map((v) => ({ v }))
  const table = await toArrowTable(rows, { schema: [of('v', type)] })
  const parts = table.children.map(({ data }) => data as never)
  return joinParts(encodeArrow(table.schema, parts, 'stream'))
}

interface Case {
  readonly from: DataType
  readonly to: DataType
  readonly values: readonly unknown[]
  /** A value of the table before. The reference's client makes no empty tables of lists and structs. */
  readonly before?: unknown
}

const whole = [0, 1, -1, 127, -128, 128, 255, 256, 32_767, 65_536, 2_147_483_647]
const integers = [int8(), int16(), int32(), int64(), uint8(), uint16(), uint32(), uint64()]
const reals = [float16(), float32(), float64()]
const units = [TimeUnit.SECOND, TimeUnit.MILLISECOND, TimeUnit.MICROSECOND, TimeUnit.NANOSECOND]

/** The whole numbers above that a type holds. */
function heldBy(type: DataType): number[] {
  const { bitWidth, signed } = type as unknown as { bitWidth: number; signed: boolean }
  const [least, most] = signed ? [-(2 ** (bitWidth - 1)), 2 ** (bitWidth - 1) - 1] : [0, 2 ** bitWidth - 1]
  return whole.filter((n) => n >= least && n <= most)
}

const item = (type: DataType) => of('item', type)
const vector = (type: DataType, stride = 2) => fixedSizeList(item(type), stride)
const texts = ['', 'a', 'é', 'a text of more than twelve bytes', null]
const bytes = [new Uint8Array(), new Uint8Array([1, 255]), null]
const ticks = [0n, 1n, 86_400n, -86_400n, -1n, 1_700_000_000n, null]

function* numbers(): Generator<Case> {
  for (const from of integers) {
    for (const to of integers) {
      const held = heldBy(to)
      yield { from, to, values: [...heldBy(from).filter((n) => held.includes(n)), null] }
      const more = heldBy(from).find((n) => !held.includes(n))
      if (more !== undefined) yield { from, to, values: [1, more] }
    }
    for (const to of reals) yield { from, to, values: [...heldBy(from), null] }
  }
  for (const from of reals) {
    for (const to of reals)
      yield { from, to, values: [0, -0, 1.5, -2.25, Number.NaN, Number.POSITIVE_INFINITY, null] }
    for (const to of integers) {
      yield { from, to, values: [0, 1, 100, null] }
      for (const n of [-1, 300, Number.NaN, Number.NEGATIVE_INFINITY]) yield { from, to, values: [n] }
    }
  }
  for (const scale of [0, 1, 3])
    yield { from: decimal(10, 2, 128), to: decimal(8, scale, 128), values: [1.25, -1.25, 0, null] }
  yield { from: decimal(20, 0, 128), to: decimal(4, 0, 128), values: [99_999] }
}

function* times(): Generator<Case> {
  for (const a of units) {
    for (const b of units) {
      yield { from: timestamp(a), to: timestamp(b), values: ticks }
      yield { from: timestamp(a, 'UTC'), to: timestamp(b, 'UTC'), values: ticks }
      yield { from: duration(a), to: duration(b), values: ticks }
    }
    yield { from: timestamp(a), to: dateDay(), values: ticks }
    yield { from: dateDay(), to: timestamp(a), values: [new Date(0), new Date(86_400_000), null] }
  }
  yield* zonedTimes()
  yield { from: timestamp(TimeUnit.SECOND), to: timestamp(TimeUnit.NANOSECOND), values: [2n ** 62n] }
  yield { from: dateMillisecond(), to: dateDay(), values: [new Date(0), new Date(86_400_000), null] }
  yield { from: dateDay(), to: dateMillisecond(), values: [new Date(0), new Date(86_400_000), null] }
  yield { from: timeMillisecond(), to: timeMicrosecond(), values: [0, 1, 5_000, null] }
  yield { from: timeMicrosecond(), to: timeNanosecond(), values: [0, 1, 5_000, null] }
  yield { from: timeNanosecond(), to: timeMillisecond(), values: [0, 1, 5_000_000, null] }
}

/** Moments that get a zone, lose it, or become days: a zone says which moment a local time is, and which day a moment lies in. */
function* zonedTimes(): Generator<Case> {
  const night = 1_700_000_000n + 7n * 3_600n
  const moments = [0n, -1n, night, -night, null]
  const days = [new Date(0), new Date('2024-07-01'), new Date('1969-12-31'), null]
  for (const zone of ['Europe/Berlin', 'America/New_York', 'UTC']) {
    for (const unit of [TimeUnit.SECOND, TimeUnit.MICROSECOND]) {
      const zoned = timestamp(unit, zone)
      const values = moments.map((at) => at && at * 1_000n ** BigInt(unit))
      yield { from: zoned, to: dateDay(), values }
      yield { from: zoned, to: dateMillisecond(), values }
      yield { from: dateDay(), to: zoned, values: days }
      yield { from: dateMillisecond(), to: zoned, values: days }
      for (const other of [null, 'UTC', 'Asia/Tokyo']) {
        yield { from: zoned, to: timestamp(TimeUnit.MILLISECOND, other), values }
        yield { from: timestamp(unit, other), to: zoned, values }
      }
    }
    // Clocks never show the first one in Berlin, and the second one twice.
    for (const local of [1_711_852_200n, 1_729_996_200n])
      yield { from: timestamp(TimeUnit.SECOND), to: timestamp(TimeUnit.SECOND, zone), values: [local] }
  }
}

function* others(): Generator<Case> {
  yield { from: utf8(), to: binary(), values: texts }
  for (const index of [int8(), int32()]) yield { from: dictionary(utf8(), index), to: utf8(), values: texts }
  const lists = [list(item(float64())), vector(float64()), list(item(int32()))]
  for (const from of lists) {
    for (const to of [list(item(float32())), vector(float32())]) {
      yield { from, to, values: [[1, 2], null, [3, 4]], before: [5, 6] }
      if (from.typeId === Type.List) yield { from, to, values: [[1, 2], [3]], before: [5, 6] }
    }
  }
  yield { from: vector(float32()), to: vector(float32(), 3), values: [[1, 2]], before: [1, 2, 3] }
  const pair = (a: DataType, b: DataType) => struct([of('a', a), of('b', b)])
  yield {
    from: pair(int32(), float32()),
    to: pair(int64(), float64()),
    values: [
      { a: 1, b: 1.5 },
      { a: null, b: null },
    ],
    before: { a: 1, b: 1 },
  }
  yield {
    from: pair(int64(), utf8()),
    to: pair(int8(), utf8()),
    values: [{ a: 1000, b: '' }],
    before: { a: 1, b: '' },
  }
}

/** Values as text: numbers of all kinds look alike. */
function shown(rows: unknown): string {
  return JSON.stringify(rows, (_, value: unknown) => {
    if (typeof value === 'bigint') return String(value)
    if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
    if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<unknown>)
    return value
  })
}

test.each([
  { kind: 'numbers', cases: [...numbers()] },
  { kind: 'times', cases: [...times()] },
  { kind: 'texts, bytes, lists and structs', cases: [...others()] },
])('$kind are cast as the reference casts them', async ({ cases }) => {
  await using lance = await openLance()
  await using catalog = await openCatalog('memory:')
  for (const [i, { from, to, values, before }] of cases.entries()) {
    const name = `t${i}`
    const first = await arrow(to, before === undefined ? [] : [before])
    const table = await lance.create(name, first)
    await catalog.createTable({ id: [name], data: first })
    const data = await arrow(from, values)
    const theirs = await lance.add(table, data).then(shown, String)
    const ours = await catalog
      .insertIntoTable({ id: [name], data })
      .then(() => rowsOf(catalog, [name]))
      .then(shown, String)
    const told = `${typeName(from)} to ${typeName(to)}, ${shown(values)}\nreference: ${theirs}\nours: ${ours}`
    const isError = (answer: string) => !answer.startsWith('[')
    expect(isError(ours), told).toBe(isError(theirs))
    if (!isError(theirs)) expect(ours, told).toBe(theirs)
  }
})

eachCatalog((open) => {
  const id = ['t']
  const inserted = async (to: DataType, from: DataType, values: readonly unknown[]) => {
    const catalog = await open()
    await catalog.createTable({ id, data: await arrow(to, []) })
    await catalog.insertIntoTable({ id, data: await arrow(from, values) })
    const { schema } = await catalog.describeTable({ id, load_detailed_metadata: true })
    return { rows: (await rowsOf(catalog, id)).map(({ v }) => v), type: schema!.fields[0]!.type }
  }

  test('an insert casts what the reference has no client for', async () => {
    expect((await inserted(largeUtf8(), utf8(), texts)).rows).toEqual(texts)
    expect((await inserted(utf8(), largeUtf8(), texts)).rows).toEqual(texts)
    expect((await inserted(largeUtf8(), dictionary(utf8(), int8()), texts)).rows).toEqual(texts)
    expect((await inserted(largeBinary(), binary(), bytes)).rows).toEqual(bytes)
    const long = await inserted(largeList(item(float64())), vector(float32()), [[1, 2], null])
    expect(shown(long.rows)).toBe('[["1","2"],null]')
    const nested = struct([of('a', dictionary(utf8(), int8())), of('b', list(item(int32())))])
    const plain = struct([of('b', vector(float32())), of('a', utf8())])
    const rows = [{ a: 'x', b: [1, 2] }, null, { a: null, b: null }]
    expect(shown((await inserted(plain, nested, rows)).rows)).toBe(
      '[{"b":["1","2"],"a":"x"},null,{"b":null,"a":null}]',
    )
  })

  test('an insert refuses a value that does not fit, and says which and where', async () => {
    const catalog = await open()
    const refused = async (to: DataType, from: DataType, values: readonly unknown[], ...says: string[]) => {
      const name = ['refused']
      await catalog.createTable({ id: name, data: await arrow(to, []), mode: 'Overwrite' })
      const data = await arrow(from, values)
      await fails(catalog.insertIntoTable({ id: name, data }), 'TableSchemaValidationError', ...says)
      expect(await countOf(catalog, name)).toBe(0)
    }
    const many = Array.from({ length: 40_000 }, (_, n) => (n === 33_333 ? 300 : 1))
    await refused(int8(), int32(), many, 'Column "v" holds 300 in row 33333,', 'int8 cannot hold')
    // The reference cuts the fraction off.
    await refused(int32(), float64(), [1, 1.5], 'holds 1.5 in row 1,', 'int32 cannot hold')
    await refused(vector(float32()), list(item(float64())), [[1, 2], [3]], 'in row 1,')
    const structs = [{ a: [1] }, { a: [1, 2] }, { a: [1, 1000] }]
    const of8 = (type: DataType) => struct([of('a', list(item(struct([of('n', type)]))))])
    const deep = structs.map(({ a }) => ({ a: a.map((n) => ({ n })) }))
    await refused(of8(int8()), of8(int32()), deep, 'Column "v.a.item.n" holds 1000 in row 2,')
    // Types of other kinds are refused as a whole.
    for (const [to, from, value] of [
      [int32(), utf8(), '1'],
      [utf8(), int32(), 1],
      [utf8(), binary(), new Uint8Array([65])],
    ] as const) {
      await refused(to, from, [value], 'Column "v" is', "Convert it to the table's type")
    }
  })
})

test('few bytes that would become very many are refused', async () => {
  const catalog = closedAfterwards(await openCatalog('memory:'))
  const refused = async (to: DataType, from: DataType, value: unknown, rows: number) => {
    await catalog.createTable({ id: ['t'], data: await arrow(to, []), mode: 'Overwrite' })
    const { schema, children } = await toArrowTable([{ v: value }], { schema: [of('v', from)] })
    const one = children[0]!.data[0] as AnyBatch
    const runs = Array.from({ length: rows * 2 }, (_, i) => i & 1)
    const parts = [[assemble(one.type, [{ batch: one, runs }])]]
    const data = joinParts(encodeArrow(schema, parts, 'stream'))
    expect(data.length).toBeLessThan(2_000_000)
    await fails(catalog.insertIntoTable({ id: ['t'], data }), 'TableSchemaValidationError', 'would take more')
  }
  await refused(fixedSizeList(item(float32()), 1 << 20), list(item(float64())), null, 300)
  await refused(utf8(), dictionary(utf8(), int8()), 'x'.repeat(1 << 20), 1_100)
  // All that an insert casts counts together.
  const filling = { castBytes: 2 ** 30 - 20 }
  const made = fitting(of('v', int64()), of('v', int32()), filling)!
  const { children } = await toArrowTable([{ v: 1 }, { v: 2 }], { schema: [of('v', int32())] })
  made(children[0]!.data[0] as AnyBatch)
  expect(() => made(children[0]!.data[0] as AnyBatch)).toThrow('would take more')
})
