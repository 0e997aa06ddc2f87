import type { Connection } from '@lancedb/lancedb'
import * as arrow from 'apache-arrow'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { requestsOf, type Served, served } from './support/served.ts'

const { vectorFromArray } = arrow

const item = (type: arrow.DataType) => new arrow.Field('item', type, true)

/** Columns of every type that the client takes, each with a null among its values. */
const columns: Readonly<Record<string, () => arrow.Vector>> = {
  bool: () => vectorFromArray([true, null, false], new arrow.Bool()),
  int8: () => vectorFromArray([-128, null, 127], new arrow.Int8()),
  int16: () => vectorFromArray([-32768, null, 32767], new arrow.Int16()),
  int32: () => vectorFromArray([-2147483648, null, 2147483647], new arrow.Int32()),
  int64: () => vectorFromArray([-(2n ** 63n), null, 2n ** 63n - 1n], new arrow.Int64()),
  uint8: () => vectorFromArray([0, null, 255], new arrow.Uint8()),
  uint16: () => vectorFromArray([0, null, 65535], new arrow.Uint16()),
  uint32: () => vectorFromArray([0, null, 4294967295], new arrow.Uint32()),
  uint64: () => vectorFromArray([0n, null, 2n ** 64n - 1n], new arrow.Uint64()),
  float16: () => vectorFromArray([1.5, null, -2], new arrow.Float16()),
  float32: () => vectorFromArray([1.5, null, Number.NaN], new arrow.Float32()),
  float64: () => vectorFromArray([0.1, null, Number.NEGATIVE_INFINITY], new arrow.Float64()),
  utf8: () => vectorFromArray(['', null, 'ünï 😀'], new arrow.Utf8()),
  binary: () => vectorFromArray([Uint8Array.of(), null, Uint8Array.of(0, 255)], new arrow.Binary()),
  fixedBinary: () =>
    vectorFromArray([Uint8Array.of(1, 2), null, Uint8Array.of(0, 255)], new arrow.FixedSizeBinary(2)),
  dateDay: () => vectorFromArray([new Date('2024-02-29'), null, new Date('1969-12-31')], new arrow.DateDay()),
  dateMillis: () =>
    vectorFromArray([new Date('2024-02-29'), null, new Date('1969-12-31')], new arrow.DateMillisecond()),
  timeSecond: () => vectorFromArray([0, null, 86_399], new arrow.TimeSecond()),
  timeNano: () => vectorFromArray([0n, null, 86_399_999_999_999n], new arrow.TimeNanosecond()),
  timestamp: () => vectorFromArray([0, null, 1_700_000_000_123], new arrow.TimestampMillisecond()),
  timestampUtc: () => vectorFromArray([0, null, 1_700_000_000_123], new arrow.TimestampMicrosecond('UTC')),
  duration: () => vectorFromArray([0n, null, 5n], new arrow.DurationMicrosecond()),
  list: () => vectorFromArray([[1, null, 3], null, []], new arrow.List(item(new arrow.Int32()))),
  fixedList: () =>
    vectorFromArray(
      [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
      new arrow.FixedSizeList(2, item(new arrow.Float32())),
    ),
  struct: () =>
    vectorFromArray(
      [{ a: 1, b: 'x' }, null, { a: null, b: 'z' }],
      new arrow.Struct([
        new arrow.Field('a', new arrow.Int32(), true),
        new arrow.Field('b', new arrow.Utf8(), true),
      ]),
    ),
  nested: () =>
    vectorFromArray(
      [[{ a: ['x'] }], null, [{ a: [] }, { a: null }]],
      new arrow.List(
        item(new arrow.Struct([new arrow.Field('a', new arrow.List(item(new arrow.Utf8())), true)])),
      ),
    ),
  dictionary: () =>
    vectorFromArray(['x', null, 'x'], new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32(), 7)),
  decimal: () =>
    vectorFromArray(
      [Uint32Array.of(5, 0, 0, 0), null, Uint32Array.of(7, 1, 0, 0)],
      new arrow.Decimal(2, 10, 128),
    ),
}

/** Values in a form that distinguishes NaN, big integers, bytes and null. */
function plain(value: unknown): unknown {
  if (value === null || value === undefined) return null
  if (typeof value === 'bigint') return `${value}n`
  if (Object.is(value, Number.NaN)) return 'NaN'
  if (value instanceof Date) return value.getTime()
  if (ArrayBuffer.isView(value))
    return `bytes ${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`
  if (typeof value !== 'object') return value
  if ('length' in value) return Array.from(value as ArrayLike<unknown>, (_, i) => plain(elementOf(value, i)))
  const { toJSON } = value as { toJSON?: () => object }
  return Object.fromEntries(
    Object.entries(toJSON?.call(value) ?? value).map(([key, member]) => [key, plain(member)]),
  )
}

/** An element of an array, or of a vector of whichever copy of the Arrow library. */
function elementOf(value: object, index: number): unknown {
  return 'get' in value
    ? (value as { get(index: number): unknown }).get(index)
    : (value as readonly unknown[])[index]
}

/** How LZ4 frames begin. */
const lz4Frame = Buffer.of(0x04, 0x22, 0x4d, 0x18)

describe('columns that LanceDB’s remote client sends', () => {
  let server: Served
  let db: Connection
  beforeAll(async () => {
    server = await served('memory')
    db = await server.remote()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  it.each(Object.keys(columns))('%s comes back as it was sent', async (name) => {
    const column = columns[name]!()
    const rows = () => new arrow.Table({ n: vectorFromArray([1, 2, 3], new arrow.Int32()), c: column })
    const table = await db.createTable(name, rows())
    // The client reads the columns from the server's description before it adds to them.
    await table.add(rows())
    const back = await table.toArrow()
    const sent = Array.from({ length: 3 }, (_, i) => plain(column.get(i)))
    const read = back.getChild('c')!
    expect(Array.from({ length: 6 }, (_, i) => plain(read.get(i)))).toEqual([...sent, ...sent])
    expect(String(read.type)).toBe(String(column.type))
    expect(String((await table.schema()).fields[1]!.type)).toBe(String(column.type))
  })

  it('arrive compressed with LZ4, in a stream of unknown length', async () => {
    const rows = Array.from({ length: 20_000 }, (_, n) => ({ n, name: `row number ${n % 10}` }))
    const [request] = await requestsOf(server.proxy, () => db.createTable('compressed', rows))
    expect(request!.headers).toMatchObject({ 'content-type': 'application/vnd.apache.arrow.stream' })
    expect(request!.headers['content-length']).toBeUndefined()
    expect(request!.body.includes(lz4Frame)).toBe(true)
    expect(request!.body.length).toBeLessThan(20_000 * 16)
    const table = await db.openTable('compressed')
    expect(await table.countRows("name = 'row number 3' AND n < 10000")).toBe(1_000)
    expect((await table.query().where('n = 12345').toArray()).map((row) => ({ ...row }))).toEqual([
      { n: 12345, name: 'row number 5' },
    ])
  })

  it('may be without rows', async () => {
    const schema = new arrow.Schema([
      new arrow.Field('n', new arrow.Int32(), true),
      new arrow.Field('v', new arrow.FixedSizeList(2, item(new arrow.Float32())), true),
    ])
    const table = await db.createEmptyTable('empty', schema)
    expect(await table.countRows()).toBe(0)
    expect(String((await table.schema()).fields[1]!.type)).toBe('FixedSizeList[2]<Float32>')
    await table.add([{ n: 1, v: [1, 2] }])
    expect(await table.countRows('n = 1')).toBe(1)
  })
})
