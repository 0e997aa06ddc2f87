import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Content } from '../../../../src/base/content/content.ts'
import { TimeSlice } from '../../../../src/base/scheduling/time-slice.ts'
import { fileContent } from '../../../../src/contents/files/index.ts'
import { addRow, noRows } from '../../../../src/engine/arrow/bitmap.ts'
import {
  type Measure,
  type QueryOptions,
  type Snapshot,
  type TableEngine,
  tableEngine,
} from '../../../../src/engine/table/index.ts'
import type { SearchTask } from '../../../../src/engine/table/scan/message.ts'
import { distances } from '../../../../src/engine/table/search/measures.ts'
import type { Candidates } from '../../../../src/engine/table/search/nearest.ts'
import { QuantizedVectors } from '../../../../src/engine/table/search/quantized-vectors.ts'
import { searchQuantized } from '../../../../src/engine/table/search/search-quantized.ts'
import { simdBlocks } from '../../../../src/engine/table/search/simd.ts'
import { queryVector } from '../../../../src/engine/table/search/vector-column.ts'
import { limitEach } from '../../../support/time-limit.ts'
import { hardQueries, hardVectors, type VectorKind, vectorKinds } from './adversarial.ts'
import { type Element, randomNumbers, vectorTable } from './vectors.ts'

// It searches random rows many times.
limitEach(60)

/*
 * A search by a quantized copy answers what a search of the vectors answers, byte for byte. The copy leaves out only rows
 * that are surely not among the nearest.
 */

const measures = fc.constantFrom<Measure>('l2', 'cosine', 'dot')
const elements = fc.constantFrom<Element>('float16', 'float32', 'float64')
const running = new TimeSlice(undefined)

interface Given {
  readonly element: Element
  readonly dimension: number
  readonly kind: VectorKind
  readonly seed: number
}

const given = {
  element: elements,
  dimension: fc.constantFrom(32, 33, 48, 100),
  kind: vectorKinds,
  seed: fc.integer({ min: 0, max: 1e9 }),
}

async function quantized({ element, dimension, kind, seed }: Given, rows: number) {
  const vectors = hardVectors({ element, dimension, kind, rows }, seed)
  const batch = vectorTable(element, dimension, vectors).getChild('v').data[0]!
  const column = { name: 'v', path: [2], dimension, element, isList: false }
  return { vectors, column, batch, copy: await QuantizedVectors.of(batch, column, running) }
}

test('rows are within their bounds, and those that are left out are farther than enough others', async () => {
  let bounded = 0
  let leftOut = 0
  const sample = fc.record({
    ...given,
    measure: measures,
    limit: fc.constantFrom(1, 4, 20),
    chosen: fc.constantFrom(1, 0.5, 0.1),
    lower: fc.constantFrom(undefined, 0.4, 30),
    upper: fc.constantFrom(undefined, 1.1, 40),
  })
  await fc.assert(
    fc.asyncProperty(sample, async (given) => {
      const { measure, limit, seed, element, chosen, lower, upper } = given
      const { vectors, column, copy } = await quantized(given, 200)
      if (copy === undefined) return
      const random = randomNumbers(seed)
      const among = noRows(200)
      const wanted = vectors.map((vector, row) => {
        const is = random() < chosen
        if (is) addRow(among, row)
        return is && vector !== null
      })
      for (const query of hardQueries(vectors, element, seed)) {
        const of = queryVector(column, query, 0)
        const task: SearchTask = {
          column,
          measure,
          queries: [of],
          lower,
          upper,
          limit,
          mayCopy: true,
          withVectors: false,
        }
        const [found] =
          (await searchQuantized(
            task,
            { vectors: copy, simd: simdBlocks()!, most: 200 },
            chosen === 1 ? undefined : among,
            running,
          )) ?? []
        if (found === undefined) continue
        const distanceOf = (row: number) => {
          if (!(chosen === 1 ? vectors[row] !== null : wanted[row])) return Number.NaN
          return Math.fround(distances[measure as 'l2'](Float64Array.from(vectors[row]!), 0, of))
        }
        bounded += requireBounds(found, distanceOf)
        // The k-th nearest of the rows in the range.
        const inRange = vectors
          .map((_, row) => distanceOf(row))
          .filter((distance) => distance >= (lower ?? -Infinity) && !(distance >= (upper ?? Infinity)))
          .sort((a, b) => a - b)
        const last = inRange[limit - 1] ?? Number.POSITIVE_INFINITY
        const candidates = new Set(found.positions)
        for (const row of vectors.keys()) {
          if (candidates.has(row)) continue
          leftOut++
          const distance = distanceOf(row)
          const isOut = distance < (lower ?? -Infinity) || distance >= (upper ?? Infinity)
          expect(Number.isNaN(distance) || isOut || distance > last).toBe(true)
        }
      }
    }),
    { numRuns: 100 },
  )
  expect(bounded).toBeGreaterThan(500)
  expect(leftOut).toBeGreaterThan(3_000)
})

/** Returns how many of the candidates have a distance. */
function requireBounds({ positions, lower, upper }: Candidates, distanceOf: (row: number) => number): number {
  let count = 0
  for (const [i, row] of positions.entries()) {
    const distance = distanceOf(row)
    // Of the rows without a distance nothing is claimed.
    if (Number.isNaN(distance)) expect(upper[i]).toBe(Number.POSITIVE_INFINITY)
    else {
      count++
      expect(lower[i]).toBeLessThanOrEqual(distance)
      expect(upper[i]).toBeGreaterThanOrEqual(distance)
    }
  }
  return count
}

test('of vectors that are not alike, few are left', async () => {
  for (const element of ['float16', 'float32', 'float64'] as const) {
    const { vectors, column, copy } = await quantized(
      { element, dimension: 64, kind: 'even', seed: 7 },
      4_000,
    )
    for (const measure of ['l2', 'cosine', 'dot'] as const) {
      const query = queryVector(column, vectors.find((vector) => vector !== null)!, 0)
      const task = { column, measure, queries: [query], lower: undefined, upper: undefined, limit: 10 }
      const [found] = (await searchQuantized(
        { ...task, mayCopy: true, withVectors: false },
        { vectors: copy!, simd: simdBlocks()!, most: 200 },
        undefined,
        running,
      ))!
      expect(found!.positions.length).toBeLessThan(30)
    }
  }
})

let folder: string
let plain: TableEngine
/** It keeps copies, and never a whole column for long. */
let small: TableEngine
/** It keeps copies and columns. */
let large: TableEngine
let threaded: TableEngine
let bytesRead = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quantized-'))
  const content = fileContent(folder)
  const counted: Content = {
    ...content,
    get: async (path, range) => {
      const bytes = await content.get(path, range)
      bytesRead += bytes?.length ?? 0
      return bytes
    },
  }
  const settings = { fragmentRows: 1_024, levels: [] }
  plain = tableEngine({ ...settings, content, cacheBytes: 0 })
  small = tableEngine({ ...settings, content: counted, cacheBytes: 500_000 })
  large = tableEngine({ ...settings, content, cacheBytes: 1 << 26 })
  threaded = tableEngine({
    ...settings,
    content,
    cacheBytes: 2_000_000,
    threads: 2,
    threadedRows: 0,
    threadedAfter: 0,
  })
})

afterAll(async () => {
  await threaded?.close()
  await rm(folder, { recursive: true })
})

let tables = 0

async function tableOf(given: Given): Promise<{ snapshot: Snapshot; vectors: (number[] | null)[] }> {
  const { element, dimension } = given
  const vectors = hardVectors({ ...given, rows: 2_600 }, given.seed)
  const created = await plain.create(`t${++tables}`, vectorTable(element, dimension, vectors))
  const { snapshot } = await plain.deleteRows('id % 17 = 3').apply(created)
  return { snapshot, vectors }
}

test('searches by copies answer the bytes that a search of the vectors answers', async () => {
  const sample = fc.record({
    ...given,
    searches: fc.array(
      fc.record({
        measure: measures,
        limit: fc.constantFrom(1, 10, 100),
        filter: fc.constantFrom(undefined, 'id >= 1000', "s = 'word 2'", 'id = 77'),
        prefilter: fc.boolean(),
        lower: fc.constantFrom(undefined, undefined, 0.4),
        upper: fc.constantFrom(undefined, undefined, 1.1),
        several: fc.boolean(),
        columns: fc.constantFrom(['id'], ['id', 'v']),
      }),
      { minLength: 8, maxLength: 8 },
    ),
  })
  await fc.assert(
    fc.asyncProperty(sample, async ({ searches, ...given }) => {
      const { snapshot, vectors } = await tableOf(given)
      const queries = hardQueries(vectors, given.element, given.seed)
      for (const [i, { limit, filter, columns, several, ...range }] of searches.entries()) {
        const search = { ...range, vectors: several ? queries : [queries[i % 3]!] }
        const options: QueryOptions = { limit, filter, columns, search }
        const expected = await plain.queryRows(snapshot, options)
        for (const engine of [small, large, threaded])
          expect(Buffer.compare(await engine.queryRows(snapshot, options), expected)).toBe(0)
      }
    }),
    { numRuns: 6 },
  )
})

test('a search reads few bytes once there are copies, and the column need not fit into the cache', async () => {
  const { snapshot, vectors } = await tableOf({ element: 'float32', dimension: 100, kind: 'even', seed: 3 })
  const options: QueryOptions = {
    columns: ['id'],
    limit: 10,
    search: { vectors: [vectors.find((vector) => vector !== null)!], measure: 'l2' },
  }
  const reads: number[] = []
  for (let i = 0; i < 4; i++) {
    bytesRead = 0
    await small.queryRows(snapshot, options)
    reads.push(bytesRead)
  }
  const column = 2_600 * 100 * 4
  // The copies are made in the second search.
  expect(reads[0]).toBeGreaterThan(column)
  expect(reads[1]).toBeGreaterThan(column * 0.5)
  expect(reads[2]).toBeLessThan(column * 0.4)
  expect(reads[3]).toBeLessThan(column * 0.4)
  expect(small.cacheUse.bytes).toBeLessThanOrEqual(500_000)
})

test('after a copy left too many rows, searches do without it for a while', async () => {
  const { copy } = await quantized({ element: 'float32', dimension: 32, kind: 'equal', seed: 1 }, 100)
  const tries = (searches: number) => {
    let tried = 0
    for (let i = 0; i < searches; i++) {
      if (!copy!.shouldTry()) continue
      tried++
      copy!.note(false)
    }
    return tried
  }
  expect(tries(100)).toBeLessThan(8)
  expect(tries(10_000)).toBeLessThan(50)
  while (!copy!.shouldTry()) {}
  copy!.note(true)
  expect([copy!.shouldTry(), copy!.shouldTry()]).toEqual([true, true])
})

test('vectors that have no codes, or a null in them, have no copy', async () => {
  expect(
    (await quantized({ element: 'float32', dimension: 32, kind: 'odd', seed: 1 }, 100)).copy,
  ).toBeUndefined()
})
