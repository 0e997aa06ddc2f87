import { type Field, field, float64, int32, type Schema } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rowsIn } from '../../../../src/engine/arrow/bitmap.ts'
import { compilePredicate } from '../../../../src/engine/predicate/index.ts'
import { batchOf } from '../evaluate/batches.ts'

/*
 * Formulas of doubles, which one loop calculates, are what each row gives by itself.
 */

type Row = readonly (number | null)[]
interface Term {
  readonly text: string
  readonly of: (row: Row) => number | null
}

const types = { x: float64(), y: float64(), n: int32() }
const schema: Schema = { fields: Object.entries(types).map(([name, type]) => field(name, type)) as Field[] }

const operations: Record<string, (a: number, b: number) => number> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
}
const functions: Record<string, (a: number) => number> = {
  abs: Math.abs,
  sqrt: Math.sqrt,
  cbrt: Math.cbrt,
  atan: Math.atan,
}
const strict =
  (of: (...values: number[]) => number, ...terms: Term[]) =>
  (row: Row) => {
    const values = terms.map((term) => term.of(row))
    return values.includes(null) ? null : of(...(values as number[]))
  }

const { term } = fc.letrec<{ term: Term }>((tie) => ({
  term: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc
      .constantFrom(0, 1, 2)
      .map((i): Term => ({ text: ['x', 'y', 'CAST(n AS DOUBLE)'][i]!, of: (row) => row[i]! })),
    fc
      .constantFrom(0.5, 2.25, 1e300, 3.0)
      .map((value): Term => ({ text: value.toFixed(2), of: () => value })),
    fc.tuple(fc.constantFrom(...Object.keys(operations)), tie('term'), tie('term')).map(
      ([operator, a, b]): Term => ({
        text: `(${a.text} ${operator} ${b.text})`,
        of: strict(operations[operator]!, a, b),
      }),
    ),
    tie('term').map((a): Term => ({ text: `(- ${a.text})`, of: strict((value) => -value, a) })),
    fc
      .tuple(fc.constantFrom(...Object.keys(functions)), tie('term'))
      .map(([name, a]): Term => ({ text: `${name}(${a.text})`, of: strict(functions[name]!, a) })),
  ),
}))

/** NaN is equal to itself and greater than all others. */
function order(a: number, b: number): number {
  if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : 1
  return Number.isNaN(b) || a < b ? -1 : a > b ? 1 : 0
}

const holds: Record<string, (order: number) => boolean> = {
  '=': (o) => o === 0,
  '<>': (o) => o !== 0,
  '<': (o) => o < 0,
  '<=': (o) => o <= 0,
  '>': (o) => o > 0,
  '>=': (o) => o >= 0,
}

const double = fc.constantFrom(null, 0, -0, 0.5, -2.25, 3, 1e300, -1e300, Infinity, -Infinity, Number.NaN)
const rows = fc.array(fc.tuple(double, double, fc.constantFrom(null, 0, -1, 3, 2 ** 31 - 1)), {
  maxLength: 70,
})

test('a formula compared with another or with a number', () => {
  fc.assert(
    fc.property(
      rows,
      fc.tuple(term, term),
      fc.constantFrom(...Object.keys(holds)),
      fc.boolean(),
      fc.boolean(),
      (rows, [a, b], operator, isTurned, isNegated) => {
        const [left, right] = isTurned ? [b, a] : [a, b]
        const text = `${isNegated ? 'NOT ' : ''}(${left.text} ${operator} ${right.text})`
        const expected = rows.flatMap((row, i) => {
          const [p, q] = [left.of(row), right.of(row)]
          if (p === null || q === null) return []
          return holds[operator]!(order(p, q)) !== isNegated ? [i] : []
        })
        const columns = schema.fields.map(({ type }, i) =>
          batchOf(
            type,
            rows.map((row) => row[i]!),
          ),
        )
        const predicate = compilePredicate(text, schema)
        expect([...rowsIn(predicate.select({ length: rows.length, columns }, 0, rows.length))]).toEqual(
          expected,
        )
      },
    ),
    { numRuns: Number(process.env.PREDICATE_RUNS ?? 300) },
  )
})
