import { type Field, field, int8, int32, int64, type Schema, uint32 } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileExpression } from '../../../../src/engine/predicate/index.ts'
import { batchOf } from '../evaluate/batches.ts'

/*
 * Formulas of 64-bit integers, which one loop calculates with doubles where these are exact, are what each row gives
 * by itself, cut to 64 bits.
 */

type Row = readonly (bigint | null)[]
interface Term {
  readonly text: string
  readonly of: (row: Row) => bigint | null
}

const types = { a: int32(), u: uint32(), b: int8(), w: int64() }
const schema: Schema = { fields: Object.entries(types).map(([name, type]) => field(name, type)) as Field[] }
const cut = (value: bigint) => BigInt.asIntN(64, value)

const operations: Record<string, (x: bigint, y: bigint) => bigint> = {
  '+': (x, y) => cut(x + y),
  '-': (x, y) => cut(x - y),
  '*': (x, y) => cut(x * y),
}
const strict =
  (of: (...values: bigint[]) => bigint, ...terms: Term[]) =>
  (row: Row) => {
    const values = terms.map((term) => term.of(row))
    return values.includes(null) ? null : of(...(values as bigint[]))
  }

const texts = ['CAST(a AS BIGINT)', 'CAST(u AS BIGINT)', 'CAST(b AS BIGINT)', 'w', 'w']
const literals = [0n, 1n, 2n, -3n, 1000n, 2n ** 31n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 62n]
const { term } = fc.letrec<{ term: Term }>((tie) => ({
  term: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.nat(4).map((i): Term => ({ text: texts[i]!, of: (row) => row[Math.min(i, 3)]! })),
    fc
      .constantFrom(...literals)
      .map((value): Term => ({ text: `CAST(${value} AS BIGINT)`, of: () => value })),
    fc.tuple(fc.constantFrom(...Object.keys(operations)), tie('term'), tie('term')).map(
      ([operator, x, y]): Term => ({
        text: `(${x.text} ${operator} ${y.text})`,
        of: strict(operations[operator]!, x, y),
      }),
    ),
    tie('term').map((x): Term => ({ text: `(- ${x.text})`, of: strict((value) => cut(-value), x) })),
  ),
}))

const orNull = (...values: bigint[]) => fc.constantFrom(null, ...values)
const small = orNull(0n, 1n, -1n, 77n, -4096n)
const wide = orNull(
  0n,
  2n ** 32n,
  -(2n ** 32n) - 5n,
  2n ** 53n - 1n,
  -(2n ** 53n),
  2n ** 63n - 1n,
  -(2n ** 63n),
)
const rowsOf = (w: fc.Arbitrary<bigint | null>) =>
  fc.array(
    fc.tuple(
      orNull(0n, -1n, 3n, 2n ** 31n - 1n, -(2n ** 31n)),
      orNull(0n, 9n, 2n ** 32n - 1n),
      orNull(0n, -128n, 127n),
      w,
    ),
    { minLength: 1, maxLength: 70 },
  )

test('a formula of small and of large values, with nulls', () => {
  fc.assert(
    fc.property(fc.oneof(rowsOf(small), rowsOf(wide)), term, (rows, { text, of }) => {
      const columns = schema.fields.map(({ type }, i) =>
        batchOf(
          type,
          rows.map((row) => (i === 3 || row[i] === null ? row[i]! : Number(row[i]))),
        ),
      )
      const expression = compileExpression(text, schema, 0, field('made', int64()) as Field)
      const made = expression.values({ length: rows.length, columns }, 0, rows.length)
      const has = (i: number) => made.nullCount === 0 || ((made.validity[i >> 3]! >> (i & 7)) & 1) === 1
      const values = rows.map((_, i) => (has(i) ? (made.values as BigInt64Array)[i]! : null))
      expect(values).toEqual(rows.map((row) => of(row)))
    }),
    { numRuns: Number(process.env.PREDICATE_RUNS ?? 500) },
  )
})
