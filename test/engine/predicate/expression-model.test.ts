import { type Field, field, Type } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CatalogError } from '../../../src/base/errors.ts'
import { type AnyBatch, makeColumn } from '../../../src/engine/arrow/batch.ts'
import { addRow, hasRow, noRows } from '../../../src/engine/arrow/bitmap.ts'
import { scalarAt } from '../../../src/engine/predicate/evaluate/scalar.ts'
import { valueEvaluator } from '../../../src/engine/predicate/evaluate/values.ts'
import { last } from '../../../src/engine/predicate/evaluate/walk.ts'
import { kernels } from '../../../src/engine/predicate/kernels/index.ts'
import { planExpression } from '../../../src/engine/predicate/plan/expression.ts'
import type { Scalar } from '../../../src/engine/predicate/plan/plan.ts'
import { WorkBudget } from '../../../src/engine/predicate/work.ts'
import { evaluate } from './evaluate/interpret.ts'
import { expressionsWithCase } from './reference/expressions.ts'
import { randomTable } from './reference/rows.ts'
import { types } from './table.ts'

const table = randomTable(Number(process.env.FC_SEED ?? 7), 100)
const batches = table.children.map((column) => column.data[0] as AnyBatch)
const rows = { length: table.numRows, columns: batches }

const targets: Record<string, Field> = Object.fromEntries(
  Object.entries(types).map(([name, type]) => [name, field(name, type) as Field]),
)

function cellOf(row: number) {
  return ([first, ...rest]: readonly number[]): Scalar => {
    let batch = batches[first!]!
    for (const index of rest) {
      if (batch.nullCount > 0 && !batch.isValid(row)) return null
      batch = batch.children[index]!
    }
    return scalarAt(batch, row)
  }
}

const same = (value: Scalar): unknown => {
  if (Array.isArray(value)) return value.map(same)
  if (value instanceof Uint8Array) return [...value]
  return Object.is(value, -0) ? 0 : value
}

/** What goes through a layout of fewer digits is compared as that layout has it. */
function inLayout(type: Field['type'], value: Scalar): Scalar {
  return type.typeId === Type.Decimal && value !== null ? BigInt(value as bigint) : value
}

test('gives what one row at a time gives, or fails on the row that fails', () => {
  const asked = fc.record({
    text: expressionsWithCase,
    target: fc.option(fc.constantFrom(...Object.keys(targets)), { freq: 2, nil: undefined }),
    start: fc.constantFrom(0, 32, 64),
    length: fc.integer({ min: 0, max: 36 }),
    live: fc.option(fc.array(fc.boolean(), { minLength: 36, maxLength: 36 }), { nil: undefined }),
    inPlace: fc.boolean(),
  })
  fc.assert(
    fc.property(asked, ({ text, target, start, length, live, inPlace }) => {
      const aim = target === undefined ? undefined : targets[target]
      const end = Math.min(rows.length, start + length)
      let planned: ReturnType<typeof planExpression>
      try {
        planned = planExpression(text, table.schema, () => 0, aim)
      } catch (error) {
        if (error instanceof CatalogError) return
        throw error
      }
      const { plan, path, field } = planned
      const wanted = Array.from({ length: end - start }, (_, i) => live === undefined || live[i]!)
      const mask = live && noRows(end - start)
      if (mask) for (const [i, one] of wanted.entries()) if (one) addRow(mask, i)
      const expected: unknown[] = []
      let failed: number | undefined
      for (const [i, one] of wanted.entries()) {
        if (!one) {
          if (inPlace) expected.push(null)
          continue
        }
        try {
          const value = evaluate(plan, cellOf(start + i))
          expected.push(path === undefined ? same(inLayout(field.type, value)) : same(value))
        } catch (error) {
          if (!(error instanceof CatalogError)) throw error
          failed = start + i
          break
        }
      }
      for (const fast of [[], kernels]) {
        const budget = new WorkBudget()
        const run = () =>
          last(
            valueEvaluator(planned, fast)(rows, start, end, {
              live: mask,
              inPlace,
              budget,
              numberOf: (row) => row + 1000,
            }),
          )
        if (failed !== undefined) {
          expect(run).toThrow(`failed on row ${1000 + failed} `)
          continue
        }
        const batch = run()
        expect(makeColumn(batch.type, [batch]).length).toBe(expected.length)
        const found = Array.from({ length: batch.length }, (_, i) => same(scalarAt(batch, i)))
        // Where nothing was asked for, only a column that takes nulls says what lies there.
        const isAsked = (i: number) => !inPlace || mask === undefined || hasRow(mask, i)
        const isKnown = (i: number) =>
          isAsked(i) || (path === undefined && plan.kind !== 'literal' && field.nullable)
        if (field.type.typeId === Type.Struct) continue
        expect(found.filter((_, i) => isKnown(i))).toEqual(expected.filter((_, i) => isKnown(i)))
      }
    }),
    { numRuns: 500 },
  )
})
