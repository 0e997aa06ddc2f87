import {
  dictionary,
  type Field,
  field,
  fixedSizeList,
  float32,
  int8,
  int32,
  largeUtf8,
  struct,
  type Table,
  utf8,
} from '@uwdata/flechette'
import { describe, expect, test } from 'vitest'
import { type AnyBatch, makeColumn } from '../../../src/engine/arrow/batch.ts'
import { addRow, noRows } from '../../../src/engine/arrow/bitmap.ts'
import { typeName } from '../../../src/engine/arrow/type-name.ts'
import { compileExpression, compilePredicate, WorkBudget } from '../../../src/engine/predicate/index.ts'
import { makeTable, types } from './table.ts'

const table = makeTable({
  a: [types.int32, [1, 2, null, 4]],
  i8: [types.int8, [1, -7, null, 100]],
  s: [types.utf8, ['x', 'y', null, 'zz']],
  d: [types.float64, [1.5, 2, null, Number.NaN]],
  b: [types.bool, [true, false, null, true]],
  st: [
    struct([field('x', int32()), field('y', utf8())]),
    [{ x: 1, y: 'p' }, null, { x: null, y: 'q' }, { x: 4, y: '' }],
  ],
  li: [types.integers, [[1, 2], [], null, [3]]],
})
const nowhere = field('n', int32(), false) as Field

const rowsOf = (given: Table) => ({
  length: given.numRows,
  columns: given.children.map((column) => column.data[0] as AnyBatch),
})
const rows = rowsOf(table)
const listed = (batch: AnyBatch): unknown[] => [...makeColumn(batch.type, [batch])].map(plain)
const plain = (value: unknown): unknown =>
  ArrayBuffer.isView(value) ? [...(value as unknown as Iterable<unknown>)] : value

function compute(text: string, target?: Field) {
  const expression = compileExpression(text, table.schema, 0, target)
  return {
    type: typeName(expression.type),
    nullable: expression.nullable,
    values: listed(expression.values(rows, 0, 4)),
  }
}

describe('an expression has the type and the values of', () => {
  test.each([
    ['a', 'int32', true, [1, 2, null, 4]],
    ['A', 'int32', true, [1, 2, null, 4]],
    ['i8 + 1', 'int8', true, [2, -6, null, 101]],
    ['i8 * 100', 'int8', true, [100, 68, null, 16]],
    ['a + i8', 'int32', true, [2, -5, null, 104]],
    ['a IS NULL', 'bool', false, [false, false, true, false]],
    ["s || '!'", 'string', true, ['x!', 'y!', null, 'zz!']],
    ['upper(s)', 'string', true, ['X', 'Y', null, 'ZZ']],
    ['st.x', 'int32', true, [1, null, null, 4]],
    ['st.x + 1', 'int32', true, [2, null, null, 5]],
    ['li[1]', 'int32', true, [1, null, null, 3]],
    ['CAST(a AS STRING)', 'string', true, ['1', '2', null, '4']],
    ["'x'", 'string', false, ['x', 'x', 'x', 'x']],
    ['NULL', 'null', true, [null, null, null, null]],
    ["CASE WHEN a > 1 THEN 'big' ELSE s END", 'string', true, ['x', 'big', null, 'big']],
    ['CASE a WHEN 1 THEN 10 WHEN 2 THEN 20 END', 'int64', true, [10n, 20n, null, null]],
    ['CASE WHEN b THEN 0 ELSE i8 END', 'int8', true, [0, -7, null, 0]],
    ['CASE WHEN b THEN 300 ELSE i8 END', 'int64', true, [300n, -7n, null, 300n]],
    ['CASE WHEN b THEN 1.5 ELSE 2 END', 'double', false, [1.5, 2, 2, 1.5]],
    ['case s when null then 1 else 2 end', 'int64', false, [2n, 2n, 2n, 2n]],
    ['CASE WHEN a = 1 THEN CASE WHEN b THEN i8 END ELSE (-a) END', 'int32', true, [1, -2, null, -4]],
  ] as const)('%s', (text, type, nullable, values) => {
    expect(compute(text)).toEqual({ type, nullable, values })
  })

  test('nested columns, which are handed on', () => {
    expect(compute('st').values).toEqual([{ x: 1, y: 'p' }, null, { x: null, y: 'q' }, { x: 4, y: '' }])
    expect(compute('li').values).toEqual([[1, 2], [], null, [3]])
  })
})

test('a plain column is not copied', () => {
  const expression = compileExpression('st', table.schema)
  expect(expression.path).toEqual([5])
  expect(expression.columns).toEqual([5])
  expect(expression.values(rows, 0, 4)).toBe(rows.columns[5])
})

describe('parts are evaluated only for rows that come to them', () => {
  test.each([
    ['CASE WHEN a <> 2 THEN 10 / (a - 2) ELSE 0 END', [-10, 0, 0, 5]],
    ['CASE WHEN a = 2 THEN 0 WHEN 10 / (a - 2) < 0 THEN 1 ELSE 2 END', [1, 0, 2, 2]],
    ['CASE a WHEN 1 THEN 0 WHEN 10 / (a - 1) THEN 1 ELSE 2 END', [0, 2, 2, 2]],
  ])('%s', (text, values) => {
    expect(compute(text).values.map(Number)).toEqual(values)
  })

  test('rows that are not live', () => {
    const live = noRows(4)
    addRow(live, 0)
    addRow(live, 3)
    const expression = compileExpression('10 / (a - 2)', table.schema)
    expect(listed(expression.values(rows, 0, 4, { live }))).toEqual([-10n, 5n])
    expect(listed(expression.values(rows, 0, 4, { live, inPlace: true }))).toEqual([-10n, null, null, 5n])
    expect(() => expression.values(rows, 0, 4)).toThrow('failed on row 1 (counted from 0): division by zero')
    expect(() => expression.values(rows, 0, 4, { numberOf: (row) => row + 100 })).toThrow('failed on row 101')
  })
})

describe('assigns', () => {
  const aim = (type: Field['type'], nullable = true) => field('n', type, nullable) as Field
  test.each([
    ['1', int8(), [1, 1, 1, 1]],
    ['2.0', int8(), [2, 2, 2, 2]],
    ["'5'", int8(), [5, 5, 5, 5]],
    ['a', utf8(), ['1', '2', null, '4']],
    ['s', largeUtf8(), ['x', 'y', null, 'zz']],
    ['s', dictionary(utf8(), int8()), ['x', 'y', null, 'zz']],
    ['NULL', struct([field('x', int32())]), [null, null, null, null]],
    ['[1, 2.5]', fixedSizeList(field('item', float32()), 2), Array(4).fill([1, 2.5])],
    ['[]', types.integers, Array(4).fill([])],
    ['li', types.integers, [[1, 2], [], null, [3]]],
    ["'2024-01-01'", types.milliseconds, Array(4).fill(BigInt(Date.UTC(2024, 0, 1)))],
    ['CASE WHEN b THEN 1 ELSE i8 END', int8(), [1, -7, null, 1]],
  ] as const)('%s', (text, type, values) => {
    expect(compute(text, aim(type)).values).toEqual(values)
    expect(compute(text, aim(type)).type).toBe(typeName(type))
  })

  test.each([
    ['300', int8(), /int64 "300" does not fit column "n" of type int8, at line 1, column 1/],
    ['1.5', int8(), /double "1.5" does not fit/],
    ["'x'", int8(), /does not fit/],
    ['[1]', fixedSizeList(field('item', float32()), 2), /which does not fit column "n"/],
    ['1e300', float32(), /does not fit/],
    ['a', struct([field('x', int32())]), /cannot be converted/],
    // A constant keeps its type when it is null.
    ['NOT (5 > NULL)', types.milliseconds, /type bool for column .* cannot be converted/],
    ['st', int32(), /can only be handed on to a column of its own type/],
    ['a * 100', int8(), /failed on row 1 \(counted from 0\): int32 "200" does not fit/],
    ['d', int32(), /failed on row 0 .*double "1.5" does not fit/],
    ['CASE WHEN a = 4 THEN 300 ELSE 1 END', int8(), /failed on row 3 /],
  ] as const)('%s to a column that it does not fit: %s', (text, type, message) => {
    expect(() => compute(text, aim(type))).toThrow(message)
  })

  test.each([
    ['NULL', /^Invalid expression: NULL for column "n" of type int32, which takes none,/],
    ['a', /failed on row 2 .* its value is null, and column "n" takes no nulls/],
    ['a + 1', /failed on row 2 .* takes no nulls/],
    ['CASE WHEN a = 4 THEN NULL ELSE 1 END', /failed on row 3 .* takes no nulls/],
  ])('%s to a column that takes no nulls', (text, message) => {
    expect(() => compute(text, nowhere)).toThrow(message)
  })

  test('0 where a row is not asked for and the column takes no nulls', () => {
    const live = noRows(4)
    addRow(live, 1)
    const expression = compileExpression('a + 1', table.schema, 0, nowhere)
    const batch = expression.values(rows, 0, 4, { live, inPlace: true })
    expect([listed(batch), batch.nullCount]).toEqual([[0, 3, 0, 0], 0])
  })
})

describe('refuses', () => {
  test.each([
    ['', /^The expression is empty\. Write a value/],
    ['a +', /^Invalid expression: it ends/],
    ['a; b', /^Invalid expression: found ";"/],
    ['nope', /^Invalid expression: no column named `nope`/],
    ["a + 'x'", /^Invalid expression: a column of type int32 beside the string literal/],
    ['CASE WHEN b THEN 1', /Expected WHEN, ELSE or END there/],
    ['CASE WHEN b THEN 1 ELSE 2', /Expected END there/],
    ['CASE WHEN b 1 END', /Expected THEN there/],
    ["CASE WHEN b THEN 1 ELSE 'x' END", /CASE with values of type int64 and of type string/],
    ['CASE WHEN a THEN 1 END', /WHEN over a value of type int32/],
    ['CASE WHEN b THEN st END', /into which expressions cannot look/],
    ["repeat('x', 2000000)", /^Invalid expression|^The expression/],
  ])('%s', (text, message) => {
    expect(() => compute(text)).toThrow(message)
  })

  test('CASE in a predicate, as the reference does', () => {
    expect(() => compilePredicate('CASE WHEN b THEN true ELSE false END', table.schema)).toThrow(
      /CASE is not/,
    )
  })

  test('functions that take more work than the budget has', () => {
    const expression = compileExpression('repeat(s, 1000)', table.schema)
    expect(() => expression.values(rows, 0, 4, { budget: new WorkBudget(1_000) })).toThrow(
      /^The functions of the expression took more than 1000 steps/,
    )
  })
})

test('a column may be named case, end and when', () => {
  const named = makeTable({
    case: [types.int32, [1, 2]],
    end: [types.int32, [3, 4]],
    when: [types.bool, [true, false]],
  })
  const of = (text: string) =>
    listed(compileExpression(text, named.schema).values(rowsOf(named), 0, 2)).map(Number)
  expect(of('case + 1')).toEqual([2, 3])
  expect(of('CASE WHEN `when` THEN `end` ELSE `case` END')).toEqual([3, 2])
})

test('many rows are evaluated in steps, and the one that fails is named', () => {
  const length = 100_000
  const many = makeTable({ n: [types.int32, Array.from({ length }, (_, i) => i)] })
  const compiled = compileExpression("CAST(n AS STRING) || '!'", many.schema)
  let steps = 0
  const walk = compiled.steps(rowsOf(many), 0, length)
  for (;;) {
    const { done, value } = walk.next()
    if (done) {
      expect(value.length).toBe(length)
      for (const row of [0, 65_535, 65_536, 99_999]) expect(value.at(row)).toBe(`${row}!`)
      break
    }
    steps++
  }
  expect(steps).toBeGreaterThan(2)
  const failing = compileExpression('10 / (n - 80001)', many.schema)
  expect(() => failing.values(rowsOf(many), 0, length)).toThrow('failed on row 80001 ')
})
