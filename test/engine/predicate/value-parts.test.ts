import {
  type DataType,
  dictionary,
  type Field,
  field,
  fixedSizeList,
  int32,
  largeUtf8,
  list,
  runEndEncoded,
  type Schema,
  utf8,
  utf8View,
} from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CatalogError } from '../../../src/base/errors.ts'
import { byteLength, makeBatch, makeColumn } from '../../../src/engine/arrow/batch.ts'
import { addRow, noRows, rowsIn } from '../../../src/engine/arrow/bitmap.ts'
import { scalarAt } from '../../../src/engine/predicate/evaluate/scalar.ts'
import { compileExpression, type ValueExpression } from '../../../src/engine/predicate/index.ts'
import type { Scalar } from '../../../src/engine/predicate/plan/plan.ts'
import { batchOf } from './evaluate/batches.ts'

const length = 100
/** A text that many rows share: the entry of a dictionary, a run, or a constant. */
const shared = 'x'.repeat(2_000)
const sharedTexts = Array.from({ length }, (_, i) => (i % 5 === 0 ? `own ${i}` : shared))
const columns = Object.entries({
  id: [int32(), Array.from({ length }, (_, i) => i)],
  text: [utf8(), Array.from({ length }, (_, i) => `${i},`)],
  encoded: [dictionary(utf8(), int32()), sharedTexts],
  runs: [runEndEncoded(int32(), utf8()), sharedTexts],
  lists: [list(field('item', utf8())), sharedTexts.map((text) => [text, 'a'])],
  vectors: [
    fixedSizeList(field('item', int32()), 100),
    Array.from({ length }, (_, i) => new Array(100).fill(i)),
  ],
} as unknown as Record<string, [DataType, Scalar[]]>)
const schema = { fields: columns.map(([name, [type]]) => field(name, type)) } as unknown as Schema
const given = { length, columns: columns.map(([, [type, values]]) => batchOf(type, values)) }

const texts = fc.constantFrom(
  'text',
  'encoded',
  'runs',
  `'${shared}'`,
  "concat(text, 'x')",
  'repeat(text, 100)',
  'upper(encoded)',
  "lpad(encoded, 3000, 'xy')",
  "lpad(runs, 3000, 'xy')",
  'NULL',
)
const either = (values: fc.Arbitrary<string>) =>
  fc.oneof(
    values,
    fc.tuple(values, values).map(([a, b]) => `CASE WHEN id % 3 = 1 THEN ${a} ELSE ${b} END`),
    fc.tuple(values, values).map(([a, b]) => `coalesce(${a}, ${b})`),
  )
const textTypes = [
  utf8(),
  largeUtf8(),
  utf8View(),
  dictionary(utf8(), int32()),
  runEndEncoded(int32(), utf8()),
]
const asked = fc.oneof(
  fc.record({ text: either(texts), target: fc.constantFrom(undefined, ...textTypes) }),
  fc.record({
    text: either(fc.constantFrom('lists', 'make_array(encoded, text)', 'NULL')),
    target: fc.constant(undefined),
  }),
  fc.record({ text: either(fc.constantFrom('vectors', 'NULL')), target: fc.constant(undefined) }),
)

test('an expression gives as many rows as take so many bytes, and then the others', () => {
  fc.assert(
    fc.property(
      asked,
      fc.oneof(
        { weight: 1, arbitrary: fc.constant(1) },
        { weight: 9, arbitrary: fc.integer({ min: 4_000, max: 50_000 }) },
        { weight: 1, arbitrary: fc.constant(2 ** 30) },
      ),
      fc.boolean(),
      ({ text, target }, mostBytes, skips) => {
        let expression: ValueExpression
        try {
          expression = compileExpression(text, schema, 0, target && (field('to', target) as Field))
        } catch (error) {
          if (error instanceof CatalogError) return
          throw error
        }
        const wanted = noRows(length)
        for (let row = 0; row < length; row++) if (!skips || row % 7 !== 3) addRow(wanted, row)
        const whole = expression.values(given, 0, length, { live: wanted })
        const expected = Array.from({ length: whole.length }, (_, i) => scalarAt(whole, i))
        const found: Scalar[] = []
        for (let next = 0; found.length < expected.length; ) {
          const start = next & ~31
          const live = wanted.slice(start >>> 5)
          live[0]! &= -1 << (next & 31)
          const part = expression.values(given, start, length, { live, mostBytes })
          expect(part.length).toBeGreaterThan(0)
          if (mostBytes === 2 ** 30) expect(part.length).toBe(expected.length)
          for (let i = 0; i < part.length; i++) found.push(scalarAt(part, i))
          // A column is given as it is.
          const isBounded = expression.path === undefined
          if (isBounded) expect(byteLength(part)).toBeLessThan(mostBytes + 3_100 + part.length * 20)
          const taken = Array.from(rowsIn(live)).slice(0, part.length)
          next = start + taken.at(-1)! + 1
        }
        expect(found).toEqual(expected)
      },
    ),
    { numRuns: 50 },
  )
})

test('a long value that very many rows share is written out for few rows at a time', () => {
  const many = { ...given, length: 65_536 }
  const codes = makeBatch(columns[2]![1][0], {
    length: many.length,
    values: new Int32Array(many.length),
    dictionary: makeColumn(utf8(), [batchOf(utf8(), [shared.repeat(500)])]),
  })
  const batches = given.columns.map((batch, i) => (i === 2 ? codes : batch))
  const expression = compileExpression("coalesce(encoded, '')", schema, 0, field('to', utf8()) as Field)
  const part = expression.values({ ...many, columns: batches }, 0, many.length, { mostBytes: 2 ** 24 })
  expect(part.length).toBe(17)
})
