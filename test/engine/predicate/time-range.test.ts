import { dateDay, type Field, field, type Schema, TimeUnit, timestamp } from '@uwdata/flechette'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareScalars, holdsFor } from '../../../src/engine/predicate/evaluate/scalar.ts'
import { compilePredicate } from '../../../src/engine/predicate/index.ts'
import { planPredicate } from '../../../src/engine/predicate/plan/filter.ts'
import type { CompareOperator } from '../../../src/engine/predicate/plan/plan.ts'
import { batchOf } from './evaluate/batches.ts'
import { isTrue } from './evaluate/interpret.ts'

const schemaOf = (type: ReturnType<typeof timestamp> | ReturnType<typeof dateDay>): Schema => ({
  fields: [field('c', type) as Field],
  metadata: null,
})
const operators = Object.keys(holdsFor) as CompareOperator[]
const day = 86_400n

/** A function that a list of literals asks, which is not made a range. */
function functionIn(predicate: string, schema: Schema) {
  const plan = planPredicate(predicate, schema)
  if (plan.kind !== 'in' || plan.arg.kind !== 'call') throw new TypeError('not a list of literals')
  return { evaluate: plan.arg.function.evaluate, value: plan.values[0]! }
}

describe('comparisons of a time cut to a unit, or of its year, are ranges that mean the same', () => {
  const units = [
    [TimeUnit.SECOND, 1n],
    [TimeUnit.MILLISECOND, 1_000n],
    [TimeUnit.MICROSECOND, 1_000_000n],
    [TimeUnit.NANOSECOND, 1_000_000_000n],
  ] as const
  const parts = ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'] as const
  const near = fc
    .bigInt({ min: -400n * day, max: 400n * day })
    .chain((value) => fc.constantFrom(value, (value / day) * day, (value / 3_600n) * 3_600n))

  test.each(units)('in unit %i', (unit, scale) => {
    const schema = schemaOf(timestamp(unit))
    const times = fc.tuple(near, fc.constantFrom(-1n, 0n, 1n)).map(([value, more]) => value * scale + more)
    fc.assert(
      fc.property(
        fc.array(times, { minLength: 1, maxLength: 20 }),
        near,
        fc.constantFrom(...parts),
        fc.constantFrom(...operators),
        fc.boolean(),
        (values, literal, part, operator, isTurned) => {
          const written = `TIMESTAMP '${new Date(Number(literal) * 1000).toISOString().slice(0, 19)}'`
          const call = `date_trunc('${part}', c)`
          const { evaluate, value } = functionIn(`${call} IN (${written}, ${written})`, schema)
          const plan = planPredicate(
            isTurned ? `${written} ${operator} ${call}` : `${call} ${operator} ${written}`,
            schema,
          )
          for (const time of values) {
            const order = compareScalars(evaluate(time), value)
            const expected = holdsFor[operator](isTurned ? -order : order)
            expect(isTrue(plan, () => time)).toBe(expected)
          }
        },
      ),
      { numRuns: 60 },
    )
  })

  test.each(units)('days, in unit %i', (unit, scale) => {
    const bounds = [-(2n ** 63n), 2n ** 63n - 1n].map((time) => time / 2n)
    const times = fc
      .tuple(near, fc.constantFrom(-1n, 0n, 1n))
      .map(([value, more]) => value * scale + more)
      .chain((time) => fc.constantFrom(time, time, time, ...bounds))
    fc.assert(
      fc.property(
        fc.array(times, { minLength: 1, maxLength: 20 }),
        fc.integer({ min: -401, max: 401 }),
        fc.constantFrom(...operators),
        fc.constantFrom(null, 'UTC', '+02:00', '-05:30'),
        (values, days, operator, zone) => {
          const written = `DATE '${new Date(days * 86_400_000).toISOString().slice(0, 10)}'`
          const plan = planPredicate(
            `CAST(c AS DATE) ${operator} ${written}`,
            schemaOf(timestamp(unit, zone)),
          )
          const offset = { UTC: 0n, '+02:00': 7_200n, '-05:30': -19_800n }[zone ?? 'UTC']! * scale
          for (const time of values) {
            const local = time + offset
            const length = day * scale
            const found = local / length - (local % length < 0n ? 1n : 0n)
            expect(isTrue(plan, () => time)).toBe(holdsFor[operator](compareScalars(found, BigInt(days))))
          }
        },
      ),
      { numRuns: 60 },
    )
  })

  test('years', () => {
    for (const type of [timestamp(TimeUnit.MICROSECOND), dateDay()]) {
      const schema = schemaOf(type)
      const isDay = !('timezone' in type)
      fc.assert(
        fc.property(
          fc.bigInt({ min: -3_000n, max: 3_000n }),
          fc.integer({ min: 1962, max: 1978 }),
          fc.constantFrom(...operators),
          fc.constantFrom('year', 'isoyear'),
          (days, year, operator, part) => {
            const time = isDay ? Number(days) : days * day * 1_000_000n
            const { evaluate } = functionIn(`date_part('${part}', c) IN (${year}, 5)`, schema)
            const plan = planPredicate(`date_part('${part}', c) ${operator} ${year}`, schema)
            const expected = holdsFor[operator](compareScalars(evaluate(time), year))
            expect(isTrue(plan, () => time)).toBe(expected)
            expect(isTrue(plan, () => null)).toBe(false)
          },
        ),
        { numRuns: 100 },
      )
    }
  })
})

test('such ranges tell which fragments to leave out', () => {
  const schema = schemaOf(timestamp(TimeUnit.MICROSECOND))
  const at = (text: string) => BigInt(Date.parse(`${text}Z`)) * 1_000n
  const march = { nullCount: 0, min: at('2024-03-01T00:00:00'), max: at('2024-03-31T23:59:59') }
  const verdict = (text: string) => compilePredicate(text, schema).prune(() => march, 10)
  expect(verdict("date_trunc('month', c) = TIMESTAMP '2024-03-01 00:00:00'")).toBe('all')
  expect(verdict("date_trunc('month', c) = TIMESTAMP '2024-04-01 00:00:00'")).toBe('none')
  expect(verdict("date_trunc('month', c) <> TIMESTAMP '2024-03-01 00:00:00'")).toBe('none')
  expect(verdict("date_trunc('day', c) > TIMESTAMP '2024-03-31 00:00:00'")).toBe('none')
  expect(verdict("date_trunc('day', c) >= TIMESTAMP '2024-03-02 00:00:00'")).toBe('some')
  expect(verdict("CAST(c AS DATE) > DATE '2024-03-31'")).toBe('none')
  expect(verdict("CAST(c AS DATE) BETWEEN DATE '2024-03-01' AND DATE '2024-03-31'")).toBe('all')
  expect(verdict("CAST(c AS DATE) = DATE '2024-03-02'")).toBe('some')
  expect(verdict("date_part('year', c) = 2024")).toBe('all')
  expect(verdict("date_part('year', c) < 2024")).toBe('none')
  expect(verdict("date_part('year', c) BETWEEN 2020 AND 2023")).toBe('none')
  expect(verdict("date_trunc('month', c) = TIMESTAMP '2024-03-02 00:00:00'")).toBe('none')
})

test('bounds past the last time there is hold for none, or for all', () => {
  const schema = schemaOf(timestamp(TimeUnit.MICROSECOND))
  const values = [-(2n ** 63n), 0n, 2n ** 63n - 1n, null]
  const rows = { length: 4, columns: [batchOf(timestamp(TimeUnit.MICROSECOND), values)] }
  const count = (text: string) => compilePredicate(text, schema).count(rows, 0, 4)
  expect(count("date_part('year', c) > 2000000")).toBe(0)
  expect(count("date_part('year', c) < 2000000")).toBe(3)
  expect(count("date_part('year', c) = 1970")).toBe(1)
})

test('clock times whose instant is past the first or the last time there is are refused', () => {
  const times = fc.tuple(
    fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n),
    fc.bigInt({ min: 0n, max: 16n * 3_600_000_000_000n }),
  )
  fc.assert(
    fc.property(
      fc.array(times, { minLength: 1, maxLength: 20 }),
      fc.constantFrom('Europe/Berlin', 'UTC', '+05:30', '-08:00'),
      fc.constantFrom(...operators),
      (ends, zone, operator) => {
        const clock = timestamp(TimeUnit.NANOSECOND)
        const zoned = timestamp(TimeUnit.NANOSECOND, zone)
        const schema = { fields: [field('c', clock) as Field, field('z', zoned) as Field], metadata: null }
        const values = ends.map(([end, inside]) => (end < 0n ? end + inside : end - inside))
        const length = values.length
        const rows = { length, columns: [batchOf(clock, values), batchOf(zoned, Array(length).fill(0n))] }
        const text = `c ${operator} z`
        const plan = planPredicate(text, schema)
        const held = refusedOr(() => values.filter((c) => isTrue(plan, ([i]) => (i === 0 ? c : 0n))).length)
        const found = refusedOr(() => compilePredicate(text, schema).count(rows, 0, length))
        expect(found).toBe(held)
        // By its first rule, Berlin was 53 minutes and 28 seconds ahead.
        const ahead = {
          'Europe/Berlin': [3_208n, 3_600n],
          UTC: [0n, 0n],
          '+05:30': [19_800n, 19_800n],
          '-08:00': [-28_800n, -28_800n],
        }[zone]!
        const isOut = ends.some(([end, inside]) =>
          end < 0n ? inside < ahead[0]! * 1_000_000_000n : inside < -ahead[1]! * 1_000_000_000n,
        )
        expect(found === 'refused').toBe(isOut)
      },
    ),
    { numRuns: 200 },
  )
})

function refusedOr(ask: () => number): number | 'refused' {
  try {
    return ask()
  } catch (error) {
    expect((error as Error).message).toMatch(/cannot be cast/)
    return 'refused'
  }
}
