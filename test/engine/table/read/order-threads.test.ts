import { field, float64, int32, int64, Table, utf8 } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { fileContent } from '../../../../src/contents/files/index.ts'
import { makeColumn } from '../../../../src/engine/arrow/batch.ts'
import { decodeArrow, type Snapshot, tableEngine } from '../../../../src/engine/table/index.ts'
import { ScanWorker } from '../../../../src/engine/table/scan/pool.ts'
import { limitEach } from '../../../support/time-limit.ts'
import { batchOf } from '../../predicate/evaluate/batches.ts'
import { enginesWith } from '../scan/engines.ts'

// It starts threads, and sorts thousands of rows.
limitEach(60)

/*
 * The first rows of an order are those of a plain sort: on worker threads and without them, where values are null, NaN or
 * the same in many rows, whichever fragments are read, and whether they are read the first time or again.
 */

interface Row {
  readonly id: number
  readonly at: bigint
  readonly f: number | null
  readonly g: number | null
  readonly s: string | null
}

type Column = keyof Row | '_rowid' | '_rowoffset'

const { folder, threaded, single } = await enginesWith({ fragmentRows: 2_500 })

const special = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0, 1, null]

/** Rows whose `at` rises, falls or is scattered, by `shape`. */
function rowsOf(length: number, shape: 'rising' | 'falling' | 'scattered', seed: number): Row[] {
  const mixed = (i: number, of: number) => ((i + seed) * 7_919 + (i >> 3) * seed) % of
  return Array.from({ length }, (_, i) => ({
    id: i,
    at: BigInt(shape === 'rising' ? i >> 1 : shape === 'falling' ? length - i : mixed(i, length)) << 33n,
    f: mixed(i, 5) === 0 ? special[mixed(i, special.length)]! : mixed(i, 1_000) / 8,
    g: mixed(i, 11) === 4 ? null : mixed(i, 4),
    s: mixed(i, 13) === 5 ? null : `name ${'x'.repeat(mixed(i, 3))}${mixed(i, 90)}`,
  }))
}

async function stored(name: string, rows: readonly Row[], deletes: string | undefined): Promise<Snapshot> {
  const types = { id: int32(), at: int64(), f: float64(), g: int32(), s: utf8() }
  const columns = Object.entries(types).map(([column, type]) => {
    const values = rows.map((row) => row[column as keyof Row])
    return makeColumn(type, [batchOf(type, values as never[])])
  })
  const fields = Object.entries(types).map(([column, type]) => field(column, type))
  const made = await single.create(name, new Table({ fields, metadata: null } as never, columns))
  return deletes === undefined ? made : (await single.deleteRows(deletes).apply(made)).snapshot
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string))
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
  if (a === b) return Number(Object.is(b, -0)) - Number(Object.is(a, -0))
  return (a as number) < (b as number) ? -1 : 1
}

/** Filters, and what they mean. The last ones may fail for a row, so all rows are looked at. */
const filters = new Map<string, (row: Row) => boolean>([
  ['g = 3', ({ g }) => g === 3],
  ['f < 2', ({ f }) => f !== null && f < 2],
  ["s LIKE '%x7%'", ({ s }) => s?.includes('x7') === true],
  ['id BETWEEN 3000 AND 3004', ({ id }) => id >= 3000 && id <= 3004],
  ['id < 0', () => false],
  ['id >= 0 OR g IS NULL', () => true],
  ['at > 42949672960000 AND g <> 1', ({ at, g }) => at > 42949672960000n && g !== null && g !== 1],
  ['_rowid % 7 = 2', ({ id }) => id % 7 === 2],
  ["length(s) = 7 AND starts_with(s, 'name')", ({ s }) => s?.length === 7],
])

const deletions = new Map<string, (row: Row) => boolean>([
  ['id % 9 = 1', ({ id }) => id % 9 === 1],
  ['id BETWEEN 2000 AND 5200', ({ id }) => id >= 2000 && id <= 5200],
  ['g = 2 OR id < 20', ({ g, id }) => g === 2 || id < 20],
])

const key = fc.record({
  column: fc.constantFrom<Column>('id', 'at', 'f', 'g', 's', '_rowid', '_rowoffset'),
  descending: fc.boolean(),
  nullsFirst: fc.boolean(),
})
const query = fc.record({
  keys: fc.array(key, { minLength: 1, maxLength: 3 }),
  limit: fc.oneof(
    fc.integer({ min: 1, max: 30 }),
    fc.integer({ min: 1, max: 3_000 }),
    fc.constant(undefined),
  ),
  offset: fc.constantFrom(0, 0, 7, 900),
  filter: fc.constantFrom(undefined, ...filters.keys()),
})
const table = fc.record({
  // Of one fragment, and of up to four.
  length: fc.integer({ min: 1, max: 9_000 }),
  shape: fc.constantFrom('rising' as const, 'falling' as const, 'scattered' as const),
  seed: fc.integer({ min: 1, max: 5_000 }),
  deletes: fc.constantFrom(undefined, ...deletions.keys()),
})

test('the first rows of an order are those of a sort, on threads as without them', async () => {
  const sent = vi.spyOn(ScanWorker.prototype, 'scan')
  let tables = 0
  await fc.assert(
    fc.asyncProperty(
      table,
      fc.array(query, { minLength: 8, maxLength: 8 }),
      async ({ length, shape, seed, deletes }, queries) => {
        const all = rowsOf(length, shape, seed)
        const snapshot = await stored(`t${tables++}`, all, deletes)
        const live = all.filter((row) => deletes === undefined || !deletions.get(deletes)!(row))
        const offsets = new Map(live.map(({ id }, i) => [id, i]))
        const valueIn = (row: Row, column: Column) => {
          if (column === '_rowid') return row.id
          return column === '_rowoffset' ? offsets.get(row.id)! : row[column]
        }
        for (const { keys, limit, offset, filter } of queries) {
          const order = (a: Row, b: Row) => {
            for (const { column, descending, nullsFirst } of keys) {
              const [x, y] = [valueIn(a, column), valueIn(b, column)]
              if (x === null || y === null) {
                if (x !== y) return (x === null) === nullsFirst ? -1 : 1
                continue
              }
              const found = compare(x, y)
              if (found !== 0) return descending ? -found : found
            }
            return a.id - b.id
          }
          const rows = live.filter(filter === undefined ? () => true : filters.get(filter)!).toSorted(order)
          const expected = rows.slice(offset, offset + (limit ?? rows.length)).map(({ id }) => id)
          const options = { orderBy: keys, limit, offset, filter, columns: ['id'] }
          for (const engine of [threaded, single, single]) {
            const answer = await decodeArrow(await engine.queryRows(snapshot, options))
            expect([...answer.getChild('id')]).toEqual(expected)
          }
        }
      },
    ),
    { numRuns: 25 },
  )
  const orders = sent.mock.calls.filter(([{ wanted }]) => typeof wanted === 'object' && 'keys' in wanted)
  sent.mockRestore()
  expect(orders.length).toBeGreaterThan(30)
})

test('a filter that follows the order is looked at where the first rows lie, and elsewhere only if it must be', async () => {
  const rows = rowsOf(9_000, 'rising', 3)
  const snapshot = await stored('late', rows, undefined)
  const engine = tableEngine({ content: fileContent(folder), threads: 0 })
  const comparedFor = async (filter: string) => {
    let compared = 0
    await engine.queryRows(snapshot, {
      orderBy: [{ column: 'at', descending: true }],
      limit: 2,
      filter,
      onStep: ({ name, rows }) => {
        if (name === 'rows') compared = rows
      },
    })
    return compared
  }
  expect(await comparedFor('id >= 0 OR g IS NULL')).toBeLessThan(2_500)
  // A row that makes the filter fail makes the query fail, wherever that row comes in the order.
  await expect(comparedFor('10 / id > 1')).rejects.toThrow('division by zero')
})
