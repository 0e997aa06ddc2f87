import { field, float32, float64, int32, Table, Type } from '@uwdata/flechette'
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

/** Few different values, so that the second key decides. Zeros and NaN are compared otherwise than by the processor. */
const fewValues = fc.constantFrom<readonly (number | null)[]>(
  [0],
  [3, 1, 2],
  [0, -0, 1],
  [Number.NaN, 7, -0],
  [null, 4, 5],
  [0.5, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
)

test('where the first key has few values, rows are in the order of both keys', async () => {
  const key = fc.record({
    descending: fc.boolean(),
    nullsFirst: fc.boolean(),
    values: fewValues,
    type: fc.constantFrom(float64(), int32(), float32()),
  })
  const compare = ({ descending, nullsFirst }: { descending: boolean; nullsFirst: boolean }) => {
    const rank = (a: number) => (Number.isNaN(a) ? 2 : 1)
    return (a: number | null, b: number | null) => {
      if (a === null || b === null) return a === b ? 0 : (a === null) === nullsFirst ? -1 : 1
      const order =
        rank(a) - rank(b) || (a < b ? -1 : a > b ? 1 : Number(Object.is(b, -0)) - Number(Object.is(a, -0)))
      return descending ? -order : order
    }
  }
  await fc.assert(
    fc.asyncProperty(
      key,
      key,
      fc.integer({ min: 1, max: 2_000 }),
      fc.integer({ min: 1, max: 9 }),
      async (first, second, limit, step) => {
        const length = 6_000
        const column = ({ values, type }: typeof first, spread: number, wide: boolean) =>
          Array.from({ length }, (_, i) => {
            const value = wide && i % 3 > 0 ? (i * 7_919 * step) % 997 : values[(i * spread) % values.length]!
            return value === null || type.typeId === Type.Float ? value : Math.trunc(value) || 0
          })
        const made = [column(first, 1, false), column(second, step, true)]
        const batches = [first, second].map(({ type }, k) => {
          const validity = new Uint8Array(length / 8)
          const nullCount = made[k]!.filter((value, i) => {
            if (value !== null) validity[i >> 3]! |= 1 << (i & 7)
            return value === null
          }).length
          const numbers = made[k]!.map((value) => value ?? 0)
          const values = new (type.values as Float64ArrayConstructor)(numbers)
          return makeBatch(type, { length, values, ...(nullCount > 0 && { nullCount, validity }) })
        })
        batches.push(makeBatch(int32(), { length, values: Int32Array.from({ length }, (_, i) => i) }))
        const fields = ['a', 'b', 'id'].map((name, k) => field(name, batches[k]!.type))
        const columns = batches.map((batch) => makeColumn(batch.type, [batch]))
        const engine = tableEngine({ content: memoryContent(), fragmentRows: 1_536 })
        const snapshot = await engine.create('t', new Table({ fields, metadata: null } as never, columns))
        const orderBy = [first, second].map(({ descending, nullsFirst }, k) => ({
          column: 'ab'[k]!,
          descending,
          nullsFirst,
        }))
        const answer = await engine.queryRows(snapshot, { orderBy, limit, columns: ['b', 'id', 'a'] })
        const ids = Array.from({ length }, (_, i) => i)
        const [one, two] = [compare(first), compare(second)]
        // Of the columns, an integer holds neither infinity nor NaN.
        const [a, b] = batches.map((batch) => Array.from({ length }, (_, i) => batch.at(i) as number | null))
        ids.sort((i, j) => one(a![i]!, a![j]!) || two(b![i]!, b![j]!) || i - j)
        const read = await decodeArrow(answer)
        const shown = ids.slice(0, limit)
        expect([...read.getChild('id')].map(Number)).toEqual(shown)
        expect([...read.getChild('a')]).toEqual(shown.map((i) => a![i]!))
        expect([...read.getChild('b')]).toEqual(shown.map((i) => b![i]!))
      },
    ),
    { numRuns: 30 },
  )
})
