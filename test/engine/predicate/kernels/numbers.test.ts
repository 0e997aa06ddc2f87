import {
  bool,
  type DataType,
  dateDay,
  dateMillisecond,
  decimal,
  type Field,
  field,
  float32,
  float64,
  int8,
  int32,
  int64,
  TimeUnit,
  timestamp,
  uint32,
  uint64,
  utf8,
} from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CatalogError } from '../../../../src/base/errors.ts'
import { noRows } from '../../../../src/engine/arrow/bitmap.ts'
import { scalarAt } from '../../../../src/engine/predicate/evaluate/scalar.ts'
import { valueEvaluator } from '../../../../src/engine/predicate/evaluate/values.ts'
import { last } from '../../../../src/engine/predicate/evaluate/walk.ts'
import { chosenKernels } from '../../../../src/engine/predicate/kernels/index.ts'
import { planExpression } from '../../../../src/engine/predicate/plan/expression.ts'
import type { Scalar } from '../../../../src/engine/predicate/plan/plan.ts'
import { WorkBudget } from '../../../../src/engine/predicate/work.ts'
import { limitEach } from '../../../support/time-limit.ts'
import { batchOf } from '../evaluate/batches.ts'
import { type Cell, evaluate } from '../evaluate/interpret.ts'

// Each function is tried over many layouts of columns.
limitEach(60)

/*
 * Functions and casts that are also given for plain numbers answer so what they answer for one row, however large the
 * values are: an interpreter computes each row by itself.
 */

const bits = (width: number, signed = true) =>
  signed
    ? fc.bigInt({ min: -(2n ** BigInt(width - 1)), max: 2n ** BigInt(width - 1) - 1n })
    : fc.bigInt(0n, 2n ** BigInt(width) - 1n)
const around = (...middles: bigint[]) =>
  fc.tuple(fc.constantFrom(...middles), fc.bigInt(-2n, 2n)).map(([middle, more]) => middle + more)
const long = fc.oneof(
  bits(64),
  bits(40),
  bits(12),
  around(0n, 2n ** 53n, -(2n ** 53n)).map((value) => BigInt.asIntN(64, value)),
)
const ends = fc.constantFrom(2n ** 63n - 1n, -(2n ** 63n))
const double = fc.oneof(
  fc.double(),
  fc.integer({ min: -1000, max: 1000 }).map((value) => value / 8),
  fc.constantFrom(-0, 0.5, -0.5, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 2 ** 63),
)
const text = fc.oneof(
  fc.integer().map(String),
  fc.integer({ min: -9999, max: 9999 }).map((value) => String(value / 100)),
  fc.constantFrom(
    '',
    '-',
    '.',
    '-.5',
    '5.',
    '+7',
    '-0',
    '1e3',
    'NaN',
    '12345678901234567',
    '0.1234567890123456',
    'é1',
    '-000-01-01',
    '2024-2-3',
  ),
  fc
    .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
    .map((date) => date.toISOString().slice(0, 10)),
  fc
    .tuple(fc.nat(9999), fc.nat(99), fc.nat(99))
    .map(([y, m, d]) =>
      [String(y).padStart(4, '0'), String(m).padStart(2, '0'), String(d).padStart(2, '0')].join('-'),
    ),
)
const micros = fc.oneof(
  fc.bigInt(-(2n ** 52n), 2n ** 52n),
  fc.bigInt(1_500_000_000_000_000n, 1_900_000_000_000_000n),
  long,
)
const days = fc.oneof(fc.integer({ min: -40_000, max: 40_000 }), fc.integer())

const columns: Readonly<Record<string, readonly [DataType, fc.Arbitrary<Scalar>]>> = {
  b: [bool(), fc.boolean()],
  tiny: [int8(), fc.integer({ min: -128, max: 127 })],
  i: [int32(), fc.oneof(fc.integer(), fc.integer({ min: -9, max: 9 }))],
  l: [int64(), fc.oneof(long, ends)],
  w: [uint32(), fc.oneof(bits(32, false), bits(4, false)).map(Number)],
  u: [uint64(), bits(64, false)],
  x: [float64(), double],
  f: [float32(), double.map(Math.fround)],
  s: [utf8(), text],
  d: [dateDay(), days],
  m: [dateMillisecond(), days.map((day) => BigInt(day) * 86_400_000n)],
  sec: [timestamp(TimeUnit.SECOND), fc.oneof(bits(36), long)],
  t: [timestamp(TimeUnit.MICROSECOND), micros],
  n: [timestamp(TimeUnit.NANOSECOND), long],
  z: [
    timestamp(TimeUnit.MICROSECOND, 'Europe/Berlin'),
    fc.bigInt(1_500_000_000_000_000n, 1_600_000_000_000_000n),
  ],
  p: [decimal(12, 3, 128), fc.oneof(bits(36), bits(8))],
  q: [decimal(38, 1, 128), fc.oneof(bits(120), bits(30))],
  r: [decimal(12, 2, 64), fc.oneof(bits(36), bits(8))],
}

const parts = ['year', 'isoyear', 'quarter', 'month', 'week', 'day', 'doy', 'dow', 'isodow', 'hour', 'minute']
const partsOfSecond = ['second', 'millisecond', 'epoch', 'nanosecond']
const casts = [
  'BOOLEAN',
  'TINYINT',
  'INT',
  'BIGINT',
  'FLOAT',
  'DOUBLE',
  'DECIMAL(12,3)',
  'DATE',
  'TIMESTAMP',
  'TIMESTAMP(0)',
]
const expressions = [
  ...Object.keys(columns).flatMap((name) => casts.map((type) => `CAST(${name} AS ${type})`)),
  ...['s', 'x', 'l', 'p'].flatMap((name) => casts.map((type) => `TRY_CAST(${name} AS ${type})`)),
  ...['d', 'm', 'sec', 't', 'n', 'z'].flatMap((name) =>
    [...parts, ...partsOfSecond].map((part) => `date_part('${part}', ${name})`),
  ),
  ...['+', '-', '*', '/', '%'].flatMap((operator) => [
    `p ${operator} r`,
    `p ${operator} q`,
    `u ${operator} l`,
    `p ${operator} 3`,
  ]),
  ...['tiny', 'i', 'l', 'w'].flatMap((name) => [
    ...['tiny', 'i', 'l', 'w', 'u'].flatMap((other) =>
      ['+', '-', '*', '/', '%'].map((operator) => `${name} ${operator} ${other}`),
    ),
    ...[1, 2, 7, -1, -3, -8, 2 ** 31, 2 ** 53 + 2].flatMap((by) => [`${name} / ${by}`, `${name} % ${by}`]),
    `-CAST(${name} AS BIGINT) * 3 + i`,
    `(${name} + i) % 5 - tiny`,
    `CAST(${name} * 0 AS DOUBLE) / x`,
    `CAST(${name} / 3 AS DOUBLE) * f`,
    `CAST(${name} AS FLOAT) - f`,
  ]),
  ...['=', '<>', '<', '<=', '>', '>='].flatMap((operator) => [
    `(tiny + i) % 5 ${operator} -2`,
    `CAST(i AS BIGINT) + tiny ${operator} 9007199254740993`,
    `l + 1 ${operator} 4611686018427387904`,
    `l * 2 ${operator} i`,
    `w - i ${operator} i * tiny`,
    `w / 3 ${operator} w - 5`,
    `u ${operator} w`,
    `u + w ${operator} u - w`,
    `CAST(l AS DOUBLE) ${operator} x * 2`,
    `f + x ${operator} f * f`,
    `-f ${operator} f / f`,
  ]),
  ...['+ 1', '/ 7', '* 0.5', '+ tiny'].map((rest) => `date_part('year', sec) ${rest}`),
  ...['d - i', 'd + tiny', 't - n', 't - d', 'd - d', 'm + 3', '-p', '-q'],
  ...['tiny', 'i', 'l', 'x', 'f', 'p'].flatMap((name) => [
    `abs(${name})`,
    `nullif(${name}, 5)`,
    `greatest(${name}, 3)`,
    `least(${name}, 3)`,
    `coalesce(${name}, 3)`,
    `power(${name}, 2)`,
    `sqrt(${name})`,
  ]),
  ...[
    'nullif(x, f)',
    'greatest(x, f)',
    'least(f, x)',
    'round(x, 2)',
    'round(f)',
    'trunc(x)',
    'isnan(x)',
    'atan2(x, f)',
    'log(x)',
    'log(2, x)',
  ],
]

const rowCount = 1056

test('every function, cast and formula that is given for numbers', () => {
  const schema = {
    fields: Object.entries(columns).map(([name, [type]]) => field(name, type) as Field),
    metadata: null,
  }
  const row = fc.tuple(...Object.values(columns).map(([, value]) => fc.option(value, { freq: 8 })))
  let tried = 0
  for (const rows of fc.sample(fc.array(row, { minLength: rowCount, maxLength: rowCount, size: 'max' }), 1)) {
    const batches = Object.values(columns).map(([type], i) =>
      batchOf(
        type,
        rows.map((values) => values[i]!),
      ),
    )
    for (const expression of expressions) {
      let plan: ReturnType<typeof planExpression>
      try {
        plan = planExpression(expression, schema, () => 0, undefined)
      } catch (error) {
        if (error instanceof CatalogError) continue
        throw error
      }
      tried++
      const live = noRows(rowCount)
      const expected: Scalar[] = []
      rows.forEach((values, i) => {
        const cell: Cell = ([column]) => values[column!]!
        try {
          expected.push(evaluate(plan.plan, cell))
          live[i >>> 5]! |= 1 << (i & 31)
        } catch (error) {
          if (!(error instanceof CatalogError)) throw error
        }
      })
      for (const setting of ['numbers', 'formula', 'off']) {
        const steps = valueEvaluator(plan, chosenKernels(setting))
        const input = { length: rowCount, columns: batches }
        const made = last(steps(input, 0, rowCount, { live, budget: new WorkBudget() }))
        expect([expression, expected.map((_, i) => plain(scalarAt(made, i)))]).toEqual([
          expression,
          expected.map(plain),
        ])
      }
    }
  }
  expect(tried).toBeGreaterThan(300)
})

/** As a column stores it: -0 equals 0, and a year is cut to 32 bits. */
function plain(value: Scalar): Scalar {
  if (value === 0) return 0
  return typeof value === 'number' &&
    Number.isInteger(value) &&
    Math.abs(value) >= 2 ** 31 &&
    Math.abs(value) < 2 ** 53
    ? value | 0
    : value
}
