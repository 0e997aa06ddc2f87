import {
  binary,
  bool,
  columnFromArray,
  type DataType,
  dateDay,
  dateMillisecond,
  dictionary,
  field,
  fixedSizeBinary,
  float16,
  float32,
  float64,
  int8,
  int16,
  int32,
  int64,
  largeBinary,
  largeUtf8,
  struct,
  TimeUnit,
  timestamp,
  uint8,
  uint16,
  uint32,
  uint64,
  utf8,
} from '@uwdata/flechette'
import { type AnyColumn, makeBatch, makeColumn } from '../../../../src/engine/arrow/batch.ts'
import { roundToHalf } from '../../../../src/engine/arrow/half.ts'
import type { Scalar } from '../../../../src/engine/predicate/plan/plan.ts'
import { batchOf } from '../../predicate/evaluate/batches.ts'

/** A type of columns with an index: values that differ from row to row, some rare ones, and how to write them. */
export interface IndexedKind {
  readonly type: DataType
  readonly usual: (row: number) => Scalar
  readonly rare: readonly Scalar[]
  readonly literal: (value: Scalar) => string
  readonly index: 'BTREE' | 'BITMAP'
  /** The field that gets the index, below the column. */
  readonly within?: string
  readonly column: (values: readonly Scalar[]) => AnyColumn
}

const quoted = (value: Scalar) => `'${String(value).replaceAll("'", "''")}'`
const hex = (value: Scalar) => `X'${Buffer.from(value as Uint8Array).toString('hex')}'`
const bytesOf = (text: string) => new TextEncoder().encode(text)

function float(value: Scalar): string {
  if (Number.isNaN(value)) return "CAST('NaN' AS DOUBLE)"
  if (Object.is(value, -0)) return '-0.0'
  return Math.abs(value as number) === Number.POSITIVE_INFINITY
    ? `${Number(value) < 0 ? '-' : ''}1e999`
    : (value as number).toFixed(20)
}

function kind(
  type: DataType,
  usual: IndexedKind['usual'],
  rare: readonly Scalar[],
  literal: IndexedKind['literal'],
  more: Partial<IndexedKind> = {},
): IndexedKind {
  const column = (values: readonly Scalar[]) => makeColumn(type, [batchOf(type, values)])
  return { type, usual, rare, literal, index: 'BTREE', column, ...more }
}

const words = ['', 'a', "it's", 'ä', '\ufeffa', '😀', 'null', ' a', 'abcd', 'long text '.repeat(9)]
const zeros = [0, -0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
const integer = (bits: number, signed: boolean) => {
  const low = signed ? -(2 ** (bits - 1)) : 0
  return { low, rare: [low, low + 2 ** bits - 1, 0, ...(signed ? [-1] : [])] }
}
const moment = (perSecond: bigint) => (value: Scalar) => {
  const at = value as bigint
  const seconds = at / perSecond
  const fraction = String(at % perSecond).padStart(String(perSecond).length - 1, '0')
  const written = new Date(Number(seconds) * 1000).toISOString().slice(0, 19).replace('T', ' ')
  return `TIMESTAMP '${written}${perSecond === 1n ? '' : `.${fraction}`}'`
}
const day = (value: number) => `DATE '${new Date(value * 86_400_000).toISOString().slice(0, 10)}'`

/** A kind for each type that an index finds rows by. */
export const kinds: Readonly<Record<string, IndexedKind>> = {
  ...Object.fromEntries(
    [int8(), int16(), int32(), uint8(), uint16(), uint32()].map((type) => {
      const { low, rare } = integer(type.bitWidth, type.signed)
      const most = 2 ** type.bitWidth
      const usual = (row: number) => low + ((row * 7_919) % most)
      return [`${type.signed ? 'int' : 'uint'}${type.bitWidth}`, kind(type, usual, rare, String)]
    }),
  ),
  int64: kind(
    int64(),
    (row) => BigInt(row) * 1_000_003n - 2n ** 40n,
    [1n - 2n ** 63n, -1n, 0n, 2n ** 63n - 1n],
    String,
  ),
  uint64: kind(uint64(), (row) => BigInt(row) * 1_000_003n + 2n ** 63n, [0n, 1n, 2n ** 64n - 1n], String, {
    index: 'BITMAP',
  }),
  half: kind(float16(), (row) => roundToHalf(row % 2_048), zeros, float),
  single: kind(float32(), (row) => Math.fround(row * 1.1), zeros, float),
  double: kind(float64(), (row) => row / 8 + 1, zeros, float),
  text: kind(utf8(), (row) => `text ${row}`, words, quoted),
  long: kind(largeUtf8(), (row) => `text ${row}`, words, quoted, { index: 'BITMAP' }),
  binary: kind(binary(), (row) => bytesOf(`b${row}`), words.map(bytesOf), hex, { index: 'BITMAP' }),
  large: kind(largeBinary(), (row) => bytesOf(`b${row}`), words.map(bytesOf), hex, { index: 'BITMAP' }),
  fixed: kind(
    fixedSizeBinary(4),
    (row) => bytesOf(String(1_000 + (row % 9_000))),
    ['abcd', '\0\0\0\0'].map(bytesOf),
    hex,
  ),
  bool: kind(bool(), (row) => row % 2 === 0, [true], String),
  day: kind(
    dateDay(),
    (row) => row,
    [-1, 0, 19_723],
    (value) => day(value as number),
  ),
  day64: kind(
    dateMillisecond(),
    (row) => BigInt(row) * 86_400_000n,
    [-86_400_000n],
    (value) => day(Number(value) / 86_400_000),
  ),
  seconds: kind(timestamp(TimeUnit.SECOND), (row) => BigInt(row) * 60n, [0n], moment(1n)),
  micros: kind(timestamp(TimeUnit.MICROSECOND), (row) => BigInt(row) * 1_000_001n, [1n], moment(1_000_000n)),
  nanos: kind(timestamp(TimeUnit.NANOSECOND, 'UTC'), (row) => BigInt(row) * 7n, [1n], moment(1_000_000_000n)),
  dictionary: kind(dictionary(utf8(), int32()), (row) => `word ${row % 3_000}`, words, quoted, {
    column: (values) => columnFromArray(values as string[], dictionary(utf8(), int32())) as AnyColumn,
  }),
  struct: kind(struct([field('x', int32(), true)]), (row) => row, [-1, 0], String, {
    within: 'x',
    column: (values) => structColumn(values),
  }),
}

/** A struct whose member has the values; every seventh struct is null itself. */
function structColumn(values: readonly Scalar[]): AnyColumn {
  const type = struct([field('x', int32(), true)])
  const validity = new Uint8Array((values.length + 7) >> 3)
  let nullCount = 0
  for (let i = 0; i < values.length; i++) {
    if (i % 7 === 3) nullCount++
    else validity[i >> 3]! |= 1 << (i & 7)
  }
  const children = [batchOf(int32(), values)]
  return makeColumn(type, [makeBatch(type, { length: values.length, nullCount, validity, children })])
}
