import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Connection, connect, type Table as LanceTable } from '@lancedb/lancedb'
import { tableFromIPC } from 'apache-arrow'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import {
  decodeArrow,
  type Measure,
  type Snapshot,
  type TableEngine,
  tableEngine,
} from '../../../../src/engine/table/index.ts'
import { type Element, randomNumbers, vectorTable } from './vectors.ts'

/*
 * A search answers what LanceDB answers on the same rows: the same rows in the same order, at the same distances as far
 * as 32 bits tell. Where we differ on purpose, docs/rows.md says so.
 */

const dimension = 6
const elements = ['float16', 'float32', 'float64', 'uint8'] as const

let folder: string
let lance: Connection
const engine: TableEngine = tableEngine({ content: memoryContent(), fragmentRows: 64 })
const tables = new Map<Element, { theirs: LanceTable; ours: Snapshot }>()

function value(element: Element, random: () => number): number {
  if (element === 'uint8') return Math.floor(random() * 256)
  // Eighths have few digits, so that no measure rounds.
  const eighths = Math.floor(random() * 32 - 16) / 8
  return eighths
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reference-'))
  lance = await connect(folder)
  for (const element of elements) {
    const random = randomNumbers(5)
    const vectors = Array.from({ length: 300 }, (_, i) =>
      i % 11 === 4 ? null : Array.from({ length: dimension }, () => value(element, random)),
    )
    const table = vectorTable(element, dimension, vectors)
    const ours = await engine.create(element, table)
    const theirs = await lance.createTable(element, tableFromIPC(await engine.queryRows(ours)))
    tables.set(element, { theirs, ours })
  }
})

afterAll(async () => {
  lance.close()
  await rm(folder, { recursive: true })
})

interface Near {
  readonly query_index?: number
  readonly id: number
  readonly _distance: number
}

const search = fc.record({
  element: fc.constantFrom(...elements),
  measure: fc.constantFrom<Measure>('l2', 'cosine', 'dot', 'hamming'),
  seed: fc.integer(),
  several: fc.boolean(),
  limit: fc.constantFrom(1, 5, 40, 1000),
  offset: fc.constantFrom(0, 0, 4),
  filter: fc.constantFrom(undefined, 'id > 100', "s = 'word 3'", 'id < 0'),
  prefilter: fc.boolean(),
  range: fc.constantFrom([undefined, undefined], [undefined, 6], [2, undefined], [1, 8]),
})

test('rows and distances are those of LanceDB', async () => {
  await fc.assert(
    fc.asyncProperty(search, async (given) => {
      const { element, several, limit, offset, filter, prefilter, range } = given
      const [lower, upper] = range
      const measure = element === 'uint8' ? 'hamming' : given.measure === 'hamming' ? 'l2' : given.measure
      const random = randomNumbers(given.seed)
      const vectors = Array.from({ length: several ? 2 : 1 }, () =>
        Array.from({ length: dimension }, () => value(element, random)),
      )
      const { theirs, ours } = tables.get(element)!
      let query = theirs.query().nearestTo(vectors[0]!)
      if (several) query = query.addQueryVector(vectors[1]!)
      query = query
        .distanceType(measure as 'l2')
        .select(['id', '_distance'])
        .limit(limit)
        .offset(offset)
      if (filter) query = query.where(filter)
      if (!prefilter) query = query.postfilter()
      if (lower !== undefined || upper !== undefined) query = query.distanceRange(lower, upper)
      const expected = (await query.toArray()).map((row: Near) => ({ ...row })) as Near[]
      const bytes = await engine.queryRows(ours, {
        columns: ['id', '_distance'],
        filter,
        limit,
        offset,
        search: { vectors, measure, lower, upper, prefilter },
      })
      const found = (await decodeArrow(bytes)).toArray() as unknown as Near[]
      // LanceDB answers the vectors in any order.
      expected.sort((a, b) => (a.query_index ?? 0) - (b.query_index ?? 0))
      expect(found.map(({ query_index }) => query_index)).toEqual(
        expected.map(({ query_index }) => query_index),
      )
      for (const [i, { id, _distance }] of found.entries()) {
        const theirs = expected[i]!
        expect(_distance).toBeCloseTo(theirs._distance, 4)
        // Rounded in another order, two rows may swap that are all but equally far.
        if (measure !== 'cosine') expect(id).toBe(theirs.id)
      }
    }),
    { numRuns: 60 },
  )
})

test('the same is refused', async () => {
  const { theirs, ours } = tables.get('float32')!
  const refuse = async (vector: number[], limit: number, measure: Measure) => {
    await expect(
      theirs
        .query()
        .nearestTo(vector)
        .distanceType(measure as 'l2')
        .limit(limit)
        .toArray(),
    ).rejects.toThrow()
    await expect(engine.queryRows(ours, { limit, search: { vectors: [vector], measure } })).rejects.toThrow()
  }
  await refuse([1, 2], 3, 'l2')
  await refuse([1, 2, 3, 4, 5, 6], 0, 'l2')
  await refuse([1, 2, 3, 4, 5, 6], 3, 'hamming')
})
