import { field, float64, int32, Table } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import { makeBatch, makeColumn } from '../../../../src/engine/arrow/batch.ts'
import { decodeArrow, tableEngine } from '../../../../src/engine/table/index.ts'
import { blockRows, FirstKey } from '../../../../src/engine/table/read/first-key.ts'

/* To rank the blocks of a column by their best values takes a look at each value, so it must be worthwhile. */

async function tableOf(values: Float64Array) {
  const { length } = values
  const ids = Int32Array.from({ length }, (_, i) => i)
  const batches = [makeBatch(float64(), { length, values }), makeBatch(int32(), { length, values: ids })]
  const fields = [field('v', float64()), field('id', int32())]
  const columns = batches.map((batch) => makeColumn(batch.type, [batch]))
  const engine = tableEngine({ content: memoryContent() })
  const snapshot = await engine.create('t', new Table({ fields, metadata: null } as never, columns))
  return async (descending: boolean, limit: number, filter?: string) => {
    const orderBy = [{ column: 'v', descending }]
    const answer = await engine.queryRows(snapshot, { orderBy, limit, filter, columns: ['id'] })
    return [...(await decodeArrow(answer)).getChild('id')].map(Number)
  }
}

/** Numbers that look random, and are the same in every run. */
const scattered = (i: number) => (i * 7_919) % 100_003

test('blocks are ranked once more rows come first than in a random order, or when a column is read again', async () => {
  const asked = vi.spyOn(FirstKey.prototype, 'bestOf')
  onTestFinished(() => asked.mockRestore())
  const rankedOf = async (work: () => Promise<unknown>) => {
    asked.mockClear()
    await work()
    return asked.mock.calls.length
  }
  const length = 100 * blockRows
  const made = (value: (i: number) => number) => tableOf(Float64Array.from({ length }, (_, i) => value(i)))
  const late = (i: number) => Math.min(length / 2, length - i)
  for (const limit of [1, 10, 300]) {
    for (const value of [scattered, (i: number) => i]) {
      const first = await made(value)
      expect(await rankedOf(() => first(false, limit))).toBe(0)
      // One look at each block, and another one until the others come behind.
      expect(await rankedOf(() => first(false, limit))).toBeGreaterThan(100)
      // The order of the blocks is known.
      expect(await rankedOf(() => first(false, limit))).toBeLessThanOrEqual(100)
    }
    const [descending, lately] = [await made((i) => -i), await made(late)]
    expect(await rankedOf(() => descending(false, limit))).toBeGreaterThan(90)
    expect(await rankedOf(() => lately(false, limit))).toBeGreaterThan(40)
  }
})

/** Values that follow one shape for some rows, and then another one. */
const part = fc.record({
  shape: fc.constantFrom<(i: number, rows: number) => number>(
    (i) => i,
    (i, rows) => rows - i,
    scattered,
    () => 5,
    (i, rows) => (i % 2 ? 9e9 : rows - i),
    (i) => (i % 700 === 0 ? Number.NaN : -scattered(i)),
  ),
  from: fc.integer({ min: -20_000, max: 20_000 }),
  rows: fc.integer({ min: 1, max: 9_000 }),
})

test('the first rows are those of a sort, wherever the best values lie', async () => {
  const query = fc.record({
    descending: fc.boolean(),
    limit: fc.integer({ min: 1, max: 250 }),
    filter: fc.constantFrom(undefined, undefined, 'id % 3 > 0'),
  })
  const order = (a: number, b: number) =>
    Number.isNaN(a) ? (Number.isNaN(b) ? 0 : 1) : Number.isNaN(b) ? -1 : a - b
  await fc.assert(
    fc.asyncProperty(
      fc.array(part, { minLength: 1, maxLength: 5 }),
      fc.array(query, { minLength: 3, maxLength: 3 }),
      async (parts, queries) => {
        const values = parts.flatMap(({ shape, from, rows }) =>
          Array.from({ length: rows }, (_, i) => from + shape(i, rows)),
        )
        const first = await tableOf(Float64Array.from(values))
        for (const { descending, limit, filter } of queries) {
          const ids = values.map((_, i) => i).filter((i) => filter === undefined || i % 3 > 0)
          ids.sort((a, b) => (descending ? -1 : 1) * order(values[a]!, values[b]!) || a - b)
          expect(await first(descending, limit, filter)).toEqual(ids.slice(0, limit))
        }
      },
    ),
    { numRuns: 40 },
  )
})
