import { bool, type Field, field, int8, int16, int32, type Schema } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileExpression } from '../../../../src/engine/predicate/index.ts'
import { batchOf } from '../evaluate/batches.ts'

/* Quotients and remainders of narrow integers that are compared with a literal are what each row gives by itself. */

const widths = { b: 8, s: 16, i: 32 } as const
const schema: Schema = {
  fields: [field('b', int8()), field('s', int16()), field('i', int32())] as Field[],
}

const operators: Record<string, (x: bigint, y: bigint) => boolean> = {
  '=': (x, y) => x === y,
  '<>': (x, y) => x !== y,
  '<': (x, y) => x < y,
  '<=': (x, y) => x <= y,
  '>': (x, y) => x > y,
  '>=': (x, y) => x >= y,
}

/** Integers of so many bits; those at the ends and around 0 often. */
const integer = (bits: number) => {
  const most = 2 ** (bits - 1)
  const edges = [0, 1, -1, 2, -2, 7, -7, most - 1, most - 2, -most, 1 - most]
  return fc.oneof(fc.constantFrom(...edges), fc.integer({ min: -most, max: most - 1 }))
}

const given = fc.constantFrom('b', 's', 'i').chain((name) => {
  const bits = widths[name as keyof typeof widths]
  const most = 2 ** (bits - 1)
  const power = fc.nat(bits - 2).map((exponent) => 2 ** exponent)
  const divisor = fc.oneof(
    power,
    power.map((size) => -size),
    integer(bits),
  )
  return fc.record({
    name: fc.constant(name),
    divisor: divisor.filter((by) => by !== 0),
    other: fc.oneof(fc.integer({ min: -9, max: 9 }), integer(bits), fc.constant(most)),
    division: fc.constantFrom('/', '%'),
    operator: fc.constantFrom(...Object.keys(operators)),
    // Multiples of the divisor, and their neighbors, are where a rounded quotient would be wrong.
    values: fc.array(
      fc.option(fc.oneof(integer(bits), fc.tuple(integer(bits), fc.integer({ min: -1, max: 1 })))),
      {
        minLength: 1,
        maxLength: 80,
      },
    ),
  })
})

test('as each row gives by itself, for all signs, with nulls, and at the ends of the types', () => {
  fc.assert(
    fc.property(given, ({ name, divisor, other, division, operator, values }) => {
      const bits = widths[name as keyof typeof widths]
      const numbers = values.map((value) => {
        if (!Array.isArray(value)) return value
        const [factor, beside] = value
        return Number(
          BigInt.asIntN(bits, BigInt(Math.trunc(factor / divisor)) * BigInt(divisor) + BigInt(beside)),
        )
      })
      const text = `${name} ${division} ${divisor} ${operator} ${other}`
      const found = answers(text, name, numbers)
      const wanted = numbers.map((value) => {
        if (value === null) return null
        const [x, y] = [BigInt(value), BigInt(divisor)]
        return operators[operator]!(division === '/' ? x / y : x % y, BigInt(other))
      })
      expect({ text, found }).toEqual({ text, found: wanted })
    }),
    { numRuns: Number(process.env.PREDICATE_RUNS ?? 1_000) },
  )
})

test('as each row gives by itself, for multiples of many divisors and their neighbors', () => {
  for (let divisor = 2; divisor < 1_000; divisor++) {
    const most = Math.floor((2 ** 31 - 2) / divisor)
    const multiples = [1, 2, 3, 5, 7, 29, most].flatMap((k) => [k * divisor, -k * divisor])
    const numbers = multiples.flatMap((value) => [value - 1, value, value + 1])
    for (const by of [divisor, -divisor]) {
      const found = [`i % ${by} = 0`, `i / ${by} >= 1`].map((text) => answers(text, 'i', numbers))
      const wanted = [numbers.map((value) => value % by === 0), numbers.map((value) => value / by >= 1)]
      expect({ by, found }).toEqual({ by, found: wanted })
    }
  }
})

/** What a predicate says of the values of one column. */
function answers(text: string, name: string, values: readonly (number | null)[]): (boolean | null)[] {
  const columns = schema.fields.map((column) =>
    batchOf(column.type, column.name === name ? values : values.map(() => 0)),
  )
  const expression = compileExpression(text, schema, 0, field('made', bool()) as Field)
  const made = expression.values({ length: values.length, columns }, 0, values.length)
  const bit = (bits: ArrayLike<number | bigint>, i: number) => (Number(bits[i >> 3]) >> (i & 7)) & 1
  return values.map((_, i) => {
    const isKnown = made.nullCount === 0 || bit(made.validity, i) === 1
    return isKnown ? bit(made.values as Uint8Array, i) === 1 : null
  })
}
