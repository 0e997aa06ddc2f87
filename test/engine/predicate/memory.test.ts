import { utf8 } from '@uwdata/flechette'
import { describe, expect, test } from 'vitest'
import type { AnyBatch } from '../../../src/engine/arrow/batch.ts'
import { compileExpression, compilePredicate } from '../../../src/engine/predicate/index.ts'
import { bytesUsed, collect } from '../../support/garbage.ts'
import { limitEach } from '../../support/time-limit.ts'
import { makeTable, types } from './table.ts'

// It fills tens of megabytes with texts.
limitEach(60)

const mebibyte = 1024 * 1024

/** The most bytes that are in use at a step of some work, over those at the beginning and over a bound that is fine. */
function excessOf(works: Iterable<Generator<void, unknown>>, bound: number): number {
  collect()
  const most = bytesUsed() + bound
  let excess = 0
  const look = () => {
    // What nobody uses any more does not count.
    if (bytesUsed() > most) collect()
    excess = Math.max(excess, bytesUsed() - most)
  }
  for (const steps of works) {
    while (!steps.next().done) look()
    look()
  }
  return excess
}

describe('scratch memory', () => {
  test('of thousands of expressions over ten rows is that of one', () => {
    const length = 10
    const table = makeTable({ x: [types.int32, Array.from({ length }, (_, i) => i)] })
    const rows = { length, columns: table.children.map((column) => column.data[0]) }
    const expressions = Array.from({ length: 1_000 }, (_, i) => compileExpression(`x + ${i}`, table.schema))
    expect(
      excessOf(
        expressions.map((one) => one.steps(rows, 0, length)),
        48 * mebibyte,
      ),
    ).toBe(0)
    expect(Number(expressions[7]!.values(rows, 0, length).at(2))).toBe(9)
  })

  test('is shared by expressions that rest between their slices', () => {
    const length = 200_000
    const table = makeTable({ x: [types.int32, Array.from({ length }, (_, i) => i)] })
    const rows = { length, columns: table.children.map((column) => column.data[0]) }
    const works = [1, 2, 3].map((n) =>
      compileExpression(`x * ${n} + ${n}`, table.schema).steps(rows, 0, length),
    )
    const results: (AnyBatch | undefined)[] = [undefined, undefined, undefined]
    while (results.includes(undefined)) {
      for (const [i, steps] of works.entries()) {
        const { done, value } = results[i] ? { done: false, value: undefined } : steps.next()
        if (done) results[i] = value
      }
    }
    for (const [i, batch] of results.entries()) {
      for (const row of [0, 65_535, 65_536, 199_999])
        expect(Number(batch!.at(row))).toBe(row * (i + 1) + i + 1)
    }
  })
})

describe('texts that functions make', () => {
  const length = 2_000
  const texts = Array.from({ length }, (_, i) => `value ${i} `)
  const table = makeTable({ s: [utf8(), texts], encoded: [types.dictionary, texts] })
  const rows = { length, columns: table.children.map((column) => column.data[0]) }

  // Made all at once, they take 200 MiB.
  test.each(['s', 'encoded'])('of %s are in memory for some rows at a time', (column) => {
    const predicate = compilePredicate(`length(upper(repeat(${column}, 10000))) > 1`, table.schema)
    expect(excessOf([predicate.steps(rows, 0, length)], 80 * mebibyte)).toBe(0)
    expect(predicate.count(rows, 0, 64)).toBe(64)
  })

  test('are made again when there is no room to remember them', () => {
    const predicate = compilePredicate(`right(upper(repeat(encoded, 1000)), 3) LIKE '%7 '`, table.schema)
    expect(predicate.count(rows, 0, length)).toBe(200)
    expect(predicate.count(rows, 0, length)).toBe(200)
  })
})
