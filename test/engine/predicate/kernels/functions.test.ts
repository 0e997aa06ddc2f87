import {
  type DataType,
  dateDay,
  dateMillisecond,
  type Field,
  field,
  float64,
  int8,
  int16,
  int32,
  list,
  TimeUnit,
  timestamp,
  utf8,
} from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rowsIn } from '../../../../src/engine/arrow/bitmap.ts'
import { evaluator } from '../../../../src/engine/predicate/evaluate/index.ts'
import { kernels } from '../../../../src/engine/predicate/kernels/index.ts'
import { planPredicate } from '../../../../src/engine/predicate/plan/filter.ts'
import type { Plan, Scalar } from '../../../../src/engine/predicate/plan/plan.ts'
import { batchOf } from '../evaluate/batches.ts'
import { isTrue } from '../evaluate/interpret.ts'

/*
 * Functions that run over whole arrays answer as they do value by value, which is how the interpreter asks them.
 */

interface Column {
  readonly type: DataType
  readonly values: readonly Scalar[]
}

function expectSame(predicate: string, { type, values }: Column, live?: readonly boolean[]): void {
  const plan = planPredicate(predicate, { fields: [field('c', type) as Field], metadata: null })
  const isLive = (row: number) => live === undefined || live[row] === true
  const expected = values.flatMap((value, row) => (isLive(row) && isTrue(plan, () => value) ? [row] : []))
  const bits = new Uint32Array(Math.ceil(values.length / 32))
  values.forEach((_, row) => {
    if (isLive(row)) bits[row >> 5]! |= 1 << (row & 31)
  })
  const { select, count } = evaluator(plan, kernels)
  const rows = { length: values.length, columns: [batchOf(type, values)] }
  expect([...rowsIn(select(rows, 0, values.length, live && bits))]).toEqual(expected)
  const slow = evaluator(plan, [])
  expect([...rowsIn(slow.select(rows, 0, values.length, live && bits))]).toEqual(expected)
  expect(count(rows, 0, values.length, live && bits)).toBe(expected.length)
}

const orNull = <T>(value: fc.Arbitrary<T>) => fc.oneof({ arbitrary: value, weight: 5 }, fc.constant(null))
const columnOf = (type: DataType, value: fc.Arbitrary<Scalar>) =>
  fc.array(orNull(value), { maxLength: 80 }).map((values) => ({ type, values }))
const someLive = fc.option(fc.array(fc.boolean(), { minLength: 80, maxLength: 80 }), { nil: undefined })

// Letters whose other case is ASCII, is longer, or is several letters, and some that have none.
const letter = fc.constantFrom(
  ...'aAkKsSiIzZ0_[@`{~',
  'ß',
  'ſ',
  '\u212a',
  'İ',
  'ı',
  'ﬃ',
  'Ⱥ',
  'ⱥ',
  'é',
  'É',
  '漢',
  '😀',
)
const plainLetter = fc.constantFrom(...'aAkKsSiIzZ_@[`{')
const word = fc.oneof(
  fc.array(plainLetter, { maxLength: 12 }).map((letters) => letters.join('')),
  fc.array(letter, { maxLength: 10 }).map((letters) => letters.join('')),
)
const texts = columnOf(utf8(), word)
/** A column, and a text that is often one of its values or part of one. */
const withText = fc.tuple(texts, word, fc.nat(), fc.nat(4)).map(([column, other, pick, cut]) => {
  const found = column.values[pick % (column.values.length + 1)]
  return { column, text: typeof found === 'string' ? Array.from(found).slice(cut).join('') : other }
})

test('lower and upper beside a literal', () => {
  fc.assert(
    fc.property(
      withText,
      fc.constantFrom('lower', 'upper'),
      fc.constantFrom('=', '<>'),
      someLive,
      (given, name, operator, live) => {
        const { column, text } = given
        for (const literal of [text, text.toLowerCase(), text.toUpperCase()]) {
          expectSame(`${name}(c) ${operator} '${literal}'`, column, live)
        }
      },
    ),
  )
})

test('texts that begin, end and hold something, in any letters', () => {
  const part = fc.constantFrom('starts_with', 'ends_with', 'contains')
  fc.assert(
    fc.property(withText, part, fc.nat(3), someLive, ({ column, text }, name, length, live) => {
      const some = Array.from(text).slice(0, length).join('')
      expectSame(`${name}(c, '${some}')`, column, live)
      const holds = { starts_with: 'startsWith', ends_with: 'endsWith', contains: 'includes' } as const
      const plan = planPredicate(`${name}(c, '${some}')`, {
        fields: [field('c', utf8()) as Field],
        metadata: null,
      })
      for (const value of column.values) {
        if (value !== null)
          expect(isTrue(plan, () => value)).toBe((value as string)[holds[name as 'contains']](some))
      }
      for (const pattern of [`${text}%`, `%${some}%`, text, `%${some}_%`, `${some}_%`]) {
        expectSame(`c ILIKE '${pattern}'`, column, live)
        expectSame(`c LIKE '${pattern}'`, column, live)
      }
    }),
  )
})

test('lengths', () => {
  fc.assert(
    fc.property(texts, fc.nat(12), someLive, (column, length, live) => {
      expectSame(`length(c) < ${length}`, column, live)
      expectSame(`octet_length(c) = ${length}`, column, live)
    }),
  )
})

test('lists that hold something', () => {
  const items = [
    [int32(), fc.integer({ min: -3, max: 3 }), (value: Scalar) => `${value}`],
    [
      float64(),
      fc.constantFrom(0, -0, 1.5, Number.NaN, 2),
      (value: Scalar) => (Number.isNaN(value) ? '2.0' : `${(value as number).toFixed(1)}`),
    ],
    [utf8(), fc.constantFrom('', 'a', 'ab', 'é'), (value: Scalar) => `'${value}'`],
  ] as const
  for (const [item, value, written] of items) {
    const some: fc.Arbitrary<Scalar> = value
    const lists = columnOf(
      list(field('item', item)),
      fc.array(orNull(some), { maxLength: 5 }) as fc.Arbitrary<Scalar>,
    )
    fc.assert(
      fc.property(lists, some, someLive, (column, wanted, live) => {
        expectSame(`array_has(c, ${written(wanted)})`, column, live)
        expectSame(`NOT array_has(c, ${written(wanted)})`, column, live)
        for (const index of [-5, -2, 0, 1, 2, 9]) expectSame(`c[${index}] = ${written(wanted)}`, column, live)
        for (const size of [0, 1, 3]) expectSame(`array_length(c) = ${size}`, column, live)
        expectSame('empty(c) OR c[-1] IS NULL', column, live)
      }),
      { numRuns: 40 },
    )
  }
  const column = { type: list(field('item', int32())), values: [[7], [1, 7], []] }
  expectSame('array_has(c, 7000000000)', column)
})

test('parts of dates and times, and times cut to units', () => {
  const day = 86_400n
  const seconds = fc.oneof(
    fc.bigInt({ min: -100n * 365n * day, max: 300n * 365n * day }),
    fc.bigInt({ min: -40n, max: 40n }).map((days) => days * day),
    fc.bigInt({ min: 19_000n, max: 19_100n }).map((days) => days * day - 1n),
  )
  const near = fc.bigInt({ min: 1_700_000_000n, max: 1_701_000_000n })
  const of = (scale: bigint) =>
    fc
      .oneof(near, seconds)
      .chain((value) => fc.constantFrom(value * scale, value * scale + 1n, value * scale - 1n))
  const kinds: readonly (readonly [DataType, fc.Arbitrary<Scalar>])[] = [
    [timestamp(TimeUnit.SECOND), of(1n)],
    [timestamp(TimeUnit.MILLISECOND), of(1_000n)],
    [timestamp(TimeUnit.MICROSECOND), of(1_000_000n)],
    [timestamp(TimeUnit.MICROSECOND, 'UTC'), of(1_000_000n)],
    [timestamp(TimeUnit.MICROSECOND, 'Europe/Oslo'), near.map((value) => value * 1_000_000n)],
    [
      timestamp(TimeUnit.NANOSECOND),
      of(1_000_000_000n).filter((value) => BigInt.asIntN(63, value) === value),
    ],
    [timestamp(TimeUnit.MICROSECOND), near.map((value) => value * 1_000_000n)],
    [dateDay(), fc.integer({ min: -50_000, max: 50_000 })],
    // date_trunc makes them nanoseconds.
    [dateMillisecond(), of(1_000n).filter((value) => BigInt.asIntN(43, value) === value)],
  ]
  for (const [type, value] of kinds) {
    fc.assert(
      fc.property(
        columnOf(type, value),
        fc.constantFrom('year', 'month', 'day', 'doy', 'dow', 'week', 'hour', 'minute'),
        fc.integer({ min: 0, max: 31 }),
        someLive,
        (column, part, wanted, live) => {
          expectSame(
            `date_part('${part}', c) = ${part === 'year' ? 2023 + (wanted % 2) : wanted}`,
            column,
            live,
          )
          expectSame(`date_part('${part}', c) NOT IN (${wanted}, ${wanted + 2}, NULL)`, column, live)
          expectSame(`date_part('${part}', c) IN (${wanted}, ${wanted + 2}, 2023)`, column, live)
          expectSame(`date_part('${part}', c) BETWEEN 3 AND ${wanted}`, column, live)
          const cut = part === 'doy' || part === 'dow' ? 'quarter' : part
          expectSame(`date_trunc('${cut}', c) > TIMESTAMP '2023-12-01 00:00:00'`, column, live)
        },
      ),
      { numRuns: 12 },
    )
  }
})

test('times by parts, slice after slice', () => {
  const minute = 60_000_000n
  const at = fc.bigInt({ min: -3_000_000n * minute, max: 30_000_000n * minute })
  const some = fc.tuple(at, fc.bigInt({ min: -400n, max: 400n }))
  fc.assert(
    fc.property(
      fc.array(some, { minLength: 2, maxLength: 4 }),
      fc.integer({ min: 1, max: 12 }),
      (runs, month) => {
        const values = runs.flatMap(([start, step]) =>
          Array.from({ length: 96 }, (_, i) => (i % 9 === 5 ? null : start + BigInt(i) * step * minute)),
        )
        const type = timestamp(TimeUnit.MICROSECOND)
        const plan = planPredicate(`date_part('month', c) <= ${month}`, {
          fields: [field('c', type) as Field],
          metadata: null,
        })
        const { select } = evaluator(plan, kernels)
        const rows = { length: values.length, columns: [batchOf(type, values)] }
        for (let start = 0; start < values.length; start += 96) {
          const found = [...rowsIn(select(rows, start, start + 96))].map((row) => row + start)
          const expected = values.flatMap((value, row) =>
            row >= start && row < start + 96 && isTrue(plan, () => value) ? [row] : [],
          )
          expect(found).toEqual(expected)
        }
      },
    ),
    { numRuns: 25 },
  )
})

test('functions of many texts in ASCII, or of which one is not', () => {
  for (const last of ['Zz', 'é']) {
    const values = Array.from({ length: 3000 }, (_, i) =>
      i % 7 === 0 ? null : `aB${i % 11}${'x'.repeat(i % 17)}`,
    )
    const column = { type: utf8(), values: [...values, last] }
    for (const predicate of [
      "upper(c) LIKE 'AB1_X%' OR c = 'é'",
      "concat(c, '!') = 'aB3xxx!'",
      "reverse(c) > 'x'",
    ]) {
      expectSame(predicate, column)
      expectSame(
        predicate,
        column,
        Array.from({ length: 3001 }, (_, i) => i % 2 === 0 || i > 2500),
      )
    }
  }
})

test('functions of numbers', () => {
  const values = columnOf(float64(), fc.double())
  fc.assert(
    fc.property(values, fc.constantFrom('abs', 'sqrt', 'signum', 'cbrt'), someLive, (column, name, live) => {
      expectSame(`${name}(c) > 0.5`, column, live)
    }),
    { numRuns: 30 },
  )
})

test('what lies in memory before a slice does not matter', () => {
  const values = Array.from({ length: 200 }, (_, i) => (i % 7 === 0 ? null : `é${'x'.repeat(i % 5)}`))
  const plan: Plan = planPredicate('length(c) = 3', { fields: [field('c', utf8()) as Field], metadata: null })
  const rows = { length: 200, columns: [batchOf(utf8(), values)] }
  const found = [...rowsIn(evaluator(plan, kernels).select(rows, 64, 200))].map((row) => row + 64)
  expect(found).toEqual(values.flatMap((value, row) => (row >= 64 && value?.length === 3 ? [row] : [])))
})

test.each([
  ['int8', int8(), 7],
  ['int16', int16(), 15],
  ['int32', int32(), 31],
] as const)('quotients and remainders of %s by a literal', (_, type, bits) => {
  const least = -(2 ** bits)
  const edges = [least, least + 1, -3, -2, -1, 0, 1, 2, 3, -least - 2, -least - 1]
  const value = fc.oneof(fc.constantFrom(...edges), fc.integer({ min: least, max: -least - 1 }))
  const divisor = fc.oneof(fc.constantFrom(...edges, -least, 300, 2 ** 31, -(2 ** 31), 2 ** 40), value)
  fc.assert(
    fc.property(
      columnOf(type, value),
      fc.constantFrom('/', '%'),
      divisor.filter((literal) => literal !== 0),
      fc.constantFrom('=', '<', '>=', '<>'),
      fc.constantFrom(...edges),
      (column, operator, literal, comparison, other) => {
        expectSame(`c ${operator} ${literal} ${comparison} ${other}`, column)
        expectSame(`c ${operator} CAST(${literal} AS BIGINT) ${comparison} ${other}`, column)
      },
    ),
    { numRuns: 300 },
  )
})
