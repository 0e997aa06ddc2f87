import * as fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { comparisonOf } from '../../../../src/engine/table/search/comparison.ts'
import { distances, type Measure } from '../../../../src/engine/table/search/measures.ts'
import { rowsInBlock, simdBlocks } from '../../../../src/engine/table/search/simd.ts'
import { queryVector } from '../../../../src/engine/table/search/vector-column.ts'
import { type Element, randomNumbers, someValue, vectorTable } from './vectors.ts'

/*
 * Loops in WebAssembly compare as the loops of `measures.ts` do. One block of memory serves all columns of a thread, so
 * nothing of an earlier column may be left in it.
 */

afterEach(() => {
  vi.unstubAllGlobals()
  // Files that follow in this process must not meet modules that were loaded without loops.
  vi.resetModules()
})

function columnOf(element: Element, dimension: number, rows: number, seed: number) {
  const random = randomNumbers(seed)
  // Half of the components may be anything, as otherwise many sums are exact.
  const component = () => (element.startsWith('float') && random() < 0.5 ? random() * 8 - 4 : undefined)
  const vectors = Array.from({ length: rows }, () =>
    Array.from({ length: dimension }, () => {
      const value = component()
      return value === undefined || element === 'float16' ? someValue(element, random) : value
    }),
  )
  const batch = vectorTable(element, dimension, vectors).getChild('v').data[0]!
  const column = { name: 'v', path: [2], dimension, element, isList: false }
  const query = () =>
    queryVector(
      column,
      vectors[0]!.map(() => someValue(element, random)),
      0,
    )
  return { batch, column, query }
}

const given = fc.record({
  element: fc.constantFrom<Element>('float16', 'float32', 'int8', 'uint8'),
  measure: fc.constantFrom<Measure>('l2', 'cosine', 'dot'),
  dimension: fc.oneof(fc.integer({ min: 30, max: 70 }), fc.constantFrom(1, 128, 768, 1001)),
  chosen: fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }),
  seed: fc.integer(),
})

test('several components at once make the distances that one after the other make', async () => {
  const simd = simdBlocks()!
  expect(simd).toBeDefined()
  await fc.assert(
    fc.property(given, ({ element, measure, dimension, chosen, seed }) => {
      chosen[0] = true
      const { batch, column, query } = columnOf(element, dimension, chosen.length, seed)
      const rows = Int32Array.from(chosen.flatMap((is, row) => (is ? [row] : [])))
      const fast = comparisonOf(batch, column, measure, simd)
      const slow = comparisonOf(batch, column, measure, undefined)
      const compared = (way: typeof fast, of: ReturnType<typeof query>) => {
        const found: number[] = []
        const atOnce = Math.min(way.rowsAtOnce, 16)
        for (let at = 0; at < rows.length; at += atOnce) {
          const some = rows.subarray(at, at + atOnce)
          way.load(some, some.length)
          found.push(...way.compare(of).subarray(0, some.length))
        }
        return found
      }
      for (const one of [query(), query()]) {
        const expected = compared(slow, one).map((distance) =>
          Number.isNaN(distance) ? distance : expect.closeTo(distance, 9),
        )
        expect(compared(fast, one)).toEqual(expected)
      }
    }),
    { numRuns: 300 },
  )
})

test('a full block has a distance for each row, the last one too', () => {
  const simd = simdBlocks()!
  for (const dimension of [32, 33, 39, 768]) {
    const rows = rowsInBlock(dimension)
    const { batch, column, query } = columnOf('float32', dimension, rows, dimension)
    const comparison = comparisonOf(batch, column, 'l2', simd)
    expect(comparison.rowsAtOnce).toBe(rows)
    const of = query()
    comparison.load(
      Int32Array.from({ length: rows }, (_, row) => row),
      rows,
    )
    const found = comparison.compare(of)
    const values = batch.children[0]!.values as Float32Array
    for (const row of [0, 1, rows >> 1, rows - 2, rows - 1])
      expect(found[row]).toBeCloseTo(distances.l2(values, row * dimension, of), 9)
  }
})

test('what is not a number, or infinite, is so in its own row only', () => {
  const dimension = 33
  const long = (first: readonly number[]) => Array.from({ length: dimension }, (_, i) => first[i] ?? 0)
  const vectors = [
    [1, Number.NaN],
    [Number.POSITIVE_INFINITY, 0],
    [0, 0],
    [3, 4],
  ].map(long)
  const batch = vectorTable('float32', dimension, vectors).getChild('v').data[0]!
  const column = { name: 'v', path: [2], dimension, element: 'float32', isList: false } as const
  const of = queryVector(column, long([3, 4]), 0)
  const all = Int32Array.from([0, 1, 2, 3])
  const found = (measure: Measure) => {
    const comparison = comparisonOf(batch, column, measure, simdBlocks()!)
    comparison.load(all, 4)
    return [...comparison.compare(of).subarray(0, 4)]
  }
  expect(found('l2')).toEqual([Number.NaN, Number.POSITIVE_INFINITY, 25, 0])
  expect(found('dot')).toEqual([Number.NaN, Number.NEGATIVE_INFINITY, 1, -24])
  expect(found('cosine')).toEqual([Number.NaN, Number.NaN, Number.NaN, 0])
})

test('vectors that are longer than a block are compared, too', () => {
  const dimension = 32_769
  expect(rowsInBlock(dimension)).toBe(0)
  const { batch, column, query } = columnOf('float32', dimension, 2, 1)
  const comparison = comparisonOf(batch, column, 'l2', simdBlocks()!)
  comparison.load(Int32Array.of(1), 1)
  const of = query()
  const values = batch.children[0]!.values as Float32Array
  expect(comparison.compare(of)[0]).toBe(distances.l2(values, dimension, of))
})

test.each([
  ['has no WebAssembly', undefined],
  [
    'forbids compiling',
    {
      Module: function forbidden() {
        throw new EvalError('Wasm code generation disallowed by embedder')
      },
    },
  ],
])('where the runtime %s, there are no such loops', async (_, runtime) => {
  vi.stubGlobal('WebAssembly', runtime)
  vi.resetModules()
  const without = await import('../../../../src/engine/table/search/simd.ts')
  expect(without.simdBlocks()).toBeUndefined()
})
