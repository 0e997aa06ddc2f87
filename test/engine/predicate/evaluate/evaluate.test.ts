import {
  bool,
  type DataType,
  field,
  int32,
  int64,
  map,
  struct,
  UnionMode,
  union,
  utf8,
} from '@uwdata/flechette'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CatalogError } from '../../../../src/base/errors.ts'
import { makeBatch } from '../../../../src/engine/arrow/batch.ts'
import { noRows, rowsIn } from '../../../../src/engine/arrow/bitmap.ts'
import { fold } from '../../../../src/engine/predicate/evaluate/fold.ts'
import { evaluator, type Rows } from '../../../../src/engine/predicate/evaluate/index.ts'
import { kernels } from '../../../../src/engine/predicate/kernels/index.ts'
import type { Plan, Scalar } from '../../../../src/engine/predicate/plan/plan.ts'
import { prune } from '../../../../src/engine/predicate/prune/prune.ts'
import { limitEach } from '../../../support/time-limit.ts'
import { plans, statisticsOf, types } from './arbitrary.ts'
import { batchOf, structOf } from './batches.ts'
import { type Case, caseOf, column, selected } from './case.ts'
import { type Cell, isTrue } from './interpret.ts'

// It evaluates random predicates row by row.
limitEach(60)

const evaluatorOf = (plan: Plan) => evaluator(fold(plan), kernels)

/** Rows are those that the interpreter gives, or both fail; with kernels and without. */
function expectSame(given: Case): void {
  const { cells, plan, start, end, live } = given
  const isLive = (row: number) => live === undefined || live[row - start]!
  let expected: number[] | 'error' = []
  try {
    for (let row = start; row < end; row++) {
      if (isLive(row) && isTrue(plan, cells[row]!)) expected.push(row - start)
    }
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    expected = 'error'
  }
  expect(selected(given, [])).toEqual(expected)
  expect(selected(given, kernels)).toEqual(expected)
}

const boolean = bool()

describe('evaluates as row by row would', () => {
  test.each(types)('%s', (...entry) => {
    fc.assert(fc.property(caseOf([entry, entry]), expectSame), { numRuns: 35 })
  })

  test('several columns of any type', () => {
    const some = fc.shuffledSubarray([...types], { minLength: 2, maxLength: 4 })
    fc.assert(fc.property(some.chain(caseOf), expectSame), { numRuns: 250 })
  })

  test('fields of structs, null where a struct around them is', () => {
    const inner = struct([field('t', utf8()), field('n', int64())])
    const outer = struct([field('s', inner), field('i', int32())])
    const [texts, longs, numbers] = ['utf8', 'int64', 'int32'].map(
      (name) => types.find(([of]) => of === name)!,
    )
    const row = fc.record({
      outerIsNull: fc.boolean(),
      innerIsNull: fc.boolean(),
      t: fc.option(texts![2]),
      n: fc.option(longs![2]),
      i: fc.option(numbers![2]),
    })
    const leaves = [
      { column: column(utf8(), 0, 0, 0), values: texts![2] },
      { column: column(int64(), 0, 0, 1), values: longs![2] },
      { column: column(int32(), 0, 1), values: numbers![2] },
    ]
    const cases = fc
      .record({ given: fc.array(row, { maxLength: 80 }), plan: plans(leaves) })
      .map(({ given, plan }) => {
        const length = given.length
        const children = [
          structOf(
            inner,
            length,
            given.map((one) => one.innerIsNull),
            [
              batchOf(
                utf8(),
                given.map((one) => one.t),
              ),
              batchOf(
                int64(),
                given.map((one) => one.n),
              ),
            ],
          ),
          batchOf(
            int32(),
            given.map((one) => one.i),
          ),
        ]
        const batch = structOf(
          outer,
          length,
          given.map((one) => one.outerIsNull),
          children,
        )
        const cells = given.map(
          (one): Cell =>
            ([, ...path]) => {
              if (one.outerIsNull || (path[0] === 0 && one.innerIsNull)) return null
              return path[0] === 1 ? one.i : path[1] === 0 ? one.t : one.n
            },
        )
        return {
          values: [],
          rows: { length, columns: [batch] },
          cells,
          plan,
          start: 0,
          end: length,
          live: undefined,
        }
      })
    fc.assert(fc.property(cases, expectSame), { numRuns: 100 })
  })
})

describe('slices', () => {
  const length = 150_000
  const numbers = Array.from({ length }, (_, i) => (i % 7 === 0 ? null : i % 1000))
  const texts = numbers.map((value) => (value === null ? null : `user_${value}`))
  const rows: Rows = { length, columns: [batchOf(int32(), numbers), batchOf(utf8(), texts)] }
  const plan: Plan = {
    kind: 'or',
    type: boolean,
    args: [
      {
        kind: 'compare',
        type: boolean,
        operator: '>',
        left: column(int32(), 0),
        right: { kind: 'literal', type: int32(), value: 900 },
      },
      {
        kind: 'like',
        type: boolean,
        arg: column(utf8(), 1),
        pattern: ['user_1', { any: 'one' }, '5'],
        insensitive: false,
        negated: false,
      },
    ],
  }
  const expected = numbers.flatMap((value, i) =>
    value !== null && (value > 900 || /^1.5$/.test(String(value))) ? [i] : [],
  )

  test.each([
    [0, length],
    [0, 65_536],
    [65_536, 131_072],
    [131_072, length],
    [32, 100_001],
    [149_984, length],
    [64, 64],
  ])('rows from %i to %i', (start, end) => {
    const { select, count } = evaluatorOf(plan)
    const inside = expected.filter((row) => row >= start && row < end).map((row) => row - start)
    expect([...rowsIn(select(rows, start, end))]).toEqual(inside)
    expect(count(rows, start, end)).toBe(inside.length)
  })

  test('begin at a multiple of 32', () => {
    expect(() => evaluatorOf(plan).count(rows, 31, 64)).toThrow(RangeError)
  })

  test('know which columns they read', () => {
    expect(evaluatorOf(plan).columns).toEqual([0, 1])
  })
})

describe('IS NULL looks into any type', () => {
  const isNull = (type: DataType): Plan => ({
    kind: 'isNull',
    type: boolean,
    arg: column(type, 0),
    negated: false,
  })

  test('unions are null where the value they stand for is', () => {
    const type = union(UnionMode.Sparse, [int32(), utf8()])
    const batch = makeBatch(type, {
      length: 4,
      typeIds: Int8Array.of(0, 1, 0, 1),
      children: [batchOf(int32(), [1, 2, null, 4]), batchOf(utf8(), ['a', null, 'c', 'd'])],
    })
    const { select } = evaluatorOf(isNull(type))
    expect([...rowsIn(select({ length: 4, columns: [batch] }, 0, 4))]).toEqual([1, 2])
  })

  test('maps', () => {
    const type = map(utf8(), int32())
    const entries = structOf(
      type.children[0].type,
      2,
      [false, false],
      [batchOf(utf8(), ['a', 'b']), batchOf(int32(), [1, null])],
    )
    const batch = makeBatch(type, {
      length: 3,
      nullCount: 1,
      validity: Uint8Array.of(0b101),
      offsets: Int32Array.of(0, 1, 1, 2),
      children: [entries],
    })
    const { select } = evaluatorOf(isNull(type))
    expect([...rowsIn(select({ length: 3, columns: [batch] }, 0, 3))]).toEqual([1])
  })
})

describe('errors', () => {
  const literal = (value: Scalar): Plan => ({ kind: 'literal', type: int32(), value })
  const divide = (left: Plan, right: Plan): Plan => ({
    kind: 'compare',
    type: boolean,
    operator: '=',
    left: { kind: 'arithmetic', type: int32(), operator: '/', left, right, at: 4 },
    right: literal(1),
  })
  const rows: Rows = { length: 3, columns: [batchOf(int32(), [1, 0, 3])] }
  const [one, zero] = [literal(1), literal(0)]

  test('name the operator, and what to do', () => {
    const { count } = evaluatorOf(divide(one, column(int32(), 0)))
    expect(() => count(rows, 0, 3)).toThrow(/division by zero at offset 4\. .*nullif/)
  })

  test('of constants come only when a row is asked for', () => {
    const { count } = evaluatorOf(divide(one, zero))
    expect(() => count(rows, 0, 3)).toThrow(CatalogError)
    expect(count(rows, 0, 0)).toBe(0)
    expect(count(rows, 0, 3, noRows(3))).toBe(0)
  })

  test('do not come from rows that are deleted, nor from those an operand to the left has settled', () => {
    const column0 = column(int32(), 0)
    const fails = divide(one, column0)
    expect(evaluatorOf(fails).count(rows, 0, 3, Uint32Array.of(0b101))).toBe(1)
    const guard: Plan = { kind: 'compare', type: boolean, operator: '<>', left: column0, right: zero }
    const count = (args: Plan[]) => evaluatorOf({ kind: 'and', type: boolean, args }).count(rows, 0, 3)
    expect(count([guard, fails])).toBe(1)
    expect(() => count([fails, guard])).toThrow(CatalogError)
  })

  test('a column that was not read is a mistake of the caller', () => {
    expect(() => evaluatorOf(divide(one, column(int32(), 1))).count(rows, 0, 3)).toThrow(/Column 1/)
  })
})

describe('time does not explode', () => {
  const long = 'a'.repeat(200_000)
  const rows: Rows = { length: 2, columns: [batchOf(utf8(), [long, `${long}b`])] }
  const many = { any: 'many' as const }
  const one = { any: 'one' as const }
  const like = (pattern: readonly (string | typeof many | typeof one)[]): Plan => ({
    kind: 'like',
    type: boolean,
    arg: column(utf8(), 0),
    pattern,
    insensitive: false,
    negated: false,
  })

  test.each([
    ['needles that nearly match everywhere', [many, `${'a'.repeat(20_000)}b`, many], 1],
    ['many gaps', [...new Array(2_000).fill([many, 'a']).flat(), many, 'c'], 0],
    ['wildcards in needles', [many, ...new Array(300).fill(['a', one]).flat(), 'b', many], 1],
  ])('%s', (_, pattern, expected) => {
    expect(evaluatorOf(like(pattern)).count(rows, 0, 2)).toBe(expected)
  })

  test('tens of thousands of operands and of values', () => {
    const numbers: Rows = {
      length: 100,
      columns: [
        batchOf(
          int32(),
          Array.from({ length: 100 }, (_, i) => i),
        ),
      ],
    }
    const equals = (value: number): Plan => ({
      kind: 'compare',
      type: boolean,
      operator: '=',
      left: column(int32(), 0),
      right: { kind: 'literal', type: int32(), value },
    })
    const args = Array.from({ length: 20_000 }, (_, i) => equals(i * 2))
    expect(evaluatorOf({ kind: 'or', type: boolean, args }).count(numbers, 0, 100)).toBe(50)
    const values = Array.from({ length: 20_000 }, (_, i) => i * 2)
    const isIn: Plan = {
      kind: 'in',
      type: boolean,
      arg: column(int32(), 0),
      values,
      hasNull: false,
      negated: false,
    }
    expect(evaluatorOf(isIn).count(numbers, 0, 100)).toBe(50)
  })
})

describe('prune', () => {
  const some = fc.shuffledSubarray([...types], { minLength: 1, maxLength: 3 })

  test('never says what evaluation does not', () => {
    const cases = some.chain((entries) =>
      fc.tuple(
        caseOf(entries),
        fc.tuple(...entries.map(() => fc.record({ known: fc.boolean(), cut: fc.boolean() }))),
      ),
    )
    fc.assert(
      fc.property(cases, ([{ rows, cells, plan, values }, known]) => {
        const verdict = prune(
          fold(plan),
          ([index]) => statisticsOf(plan, index!, values[index!]!, known[index!]!),
          rows.length,
        )
        if (verdict === 'some') return
        // Neither verdict may hide an error.
        const selected = cells.filter((cell) => isTrue(plan, cell))
        expect(selected.length).toBe(verdict === 'all' ? rows.length : 0)
      }),
      { numRuns: 500 },
    )
  })

  const between = { nullCount: 0, min: 10, max: 20 }
  const compare = (operator: '<' | '=' | '>', value: number): Plan => ({
    kind: 'compare',
    type: boolean,
    operator,
    left: column(int32(), 0),
    right: { kind: 'literal', type: int32(), value },
  })

  test.each([
    [compare('>', 20), 'none'],
    [compare('>', 19), 'some'],
    [compare('>', 9), 'all'],
    [compare('=', 9), 'none'],
    [compare('=', 10), 'some'],
    [compare('<', 21), 'all'],
  ] as const)('finds out, case %#', (plan, verdict) => {
    expect(prune(plan, () => between, 5)).toBe(verdict)
    const negated = { none: 'all', some: 'some', all: 'none' } as const
    expect(prune({ kind: 'not', type: boolean, arg: plan }, () => between, 5)).toBe(negated[verdict])
  })

  test('by prefixes, also of bounds that were cut', () => {
    const like = (prefix: string): Plan => ({
      kind: 'like',
      type: boolean,
      arg: column(utf8(), 0),
      pattern: [prefix, { any: 'many' }],
      insensitive: false,
      negated: false,
    })
    const cut = { nullCount: 0, min: 'user_1', max: 'user_7', minExact: false, maxExact: false }
    expect(prune(like('user_8'), () => cut, 5)).toBe('none')
    expect(prune(like('user_'), () => cut, 5)).toBe('all')
    expect(prune(like('user_4'), () => cut, 5)).toBe('some')
    expect(prune(like('user_0'), () => cut, 5)).toBe('none')
  })

  test('by null counts', () => {
    const isNull: Plan = { kind: 'isNull', type: boolean, arg: column(int32(), 0), negated: false }
    expect(prune(isNull, () => ({ nullCount: 0 }), 5)).toBe('none')
    expect(prune(isNull, () => ({ nullCount: 5 }), 5)).toBe('all')
    expect(prune(isNull, () => ({ nullCount: 2 }), 5)).toBe('some')
    expect(prune(compare('>', 1), () => ({ nullCount: 5 }), 5)).toBe('none')
  })
})
