import { join } from 'node:path'
import { connect } from '@lancedb/lancedb'
import { list, Table } from '@uwdata/flechette'
import { tableFromIPC } from 'apache-arrow'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AnyColumn, makeBatch, makeColumn } from '../../../../src/engine/arrow/batch.ts'
import { decodeArrow, type Measure, type TableEngine } from '../../../../src/engine/table/index.ts'
import { enginesWith } from '../scan/engines.ts'
import { distanceOf, type Element, randomNumbers, someValue, vectorTable } from './vectors.ts'

/*
 * A search of lists of vectors finds what the definition of late interaction finds, on this thread and on others, and
 * what LanceDB finds.
 */

const { folder, threaded, single } = await enginesWith({ fragmentRows: 64, cacheBytes: 1 << 20 })
const engines = [single, threaded]

type Row = readonly (readonly number[] | null)[] | null

/** The table of vectors with the last column cut into lists. */
function listTable(element: Element, dimension: number, rows: readonly Row[]): Table {
  const flat = vectorTable(
    element,
    dimension,
    rows.flatMap((row) => row ?? []),
  )
  const ids = vectorTable(
    element,
    dimension,
    rows.map(() => null),
  )
  const vectors = flat.getChild('v')
  const offsets = new Int32Array(rows.length + 1)
  const validity = new Uint8Array(Math.ceil(rows.length / 8))
  for (const [i, row] of rows.entries()) {
    offsets[i + 1] = offsets[i]! + (row?.length ?? 0)
    if (row) validity[i >> 3]! |= 1 << (i & 7)
  }
  const type = list(vectors.type)
  const nullCount = rows.filter((row) => row === null).length
  const batch = makeBatch(type, {
    length: rows.length,
    nullCount,
    ...(nullCount > 0 && { validity }),
    offsets,
    children: [vectors.data[0] as never],
  })
  const [idField, , field] = ids.schema.fields
  return new Table({ ...ids.schema, fields: [idField!, { ...field!, type }] }, [
    ids.getChild('id') as AnyColumn,
    makeColumn(type, [batch]),
  ])
}

function rowsOf(element: Element, dimension: number, count: number, seed: number, hasNulls: boolean): Row[] {
  const random = randomNumbers(seed)
  const vector = () => Array.from({ length: dimension }, () => someValue(element, random))
  return Array.from({ length: count }, (_, i) => {
    if (hasNulls && i % 17 === 3) return null
    const vectors: (number[] | null)[] = Array.from({ length: hasNulls ? i % 5 : 1 + (i % 4) }, () =>
      vector(),
    )
    if (hasNulls && i % 11 === 4) vectors.unshift(null)
    return vectors
  })
}

/** The rows by the definition, the nearest first. */
function nearest(rows: readonly Row[], queries: readonly number[][], measure: Measure) {
  return rows
    .flatMap((row, id) => {
      const vectors = row?.filter((vector) => vector !== null) ?? []
      const least = queries.map((query) =>
        vectors
          .map((vector) => distanceOf(measure, vector, query))
          .filter((distance) => !Number.isNaN(distance))
          .reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
      )
      const distance = least.reduce((a, b) => a + b, 0)
      return Number.isFinite(distance) ? [{ id, distance }] : []
    })
    .sort((a, b) => a.distance - b.distance || a.id - b.id)
}

const search = fc.record({
  kind: fc.constantFrom<readonly [Element, Measure]>(
    ['float32', 'l2'],
    ['float32', 'cosine'],
    ['float32', 'dot'],
    ['float64', 'dot'],
    ['uint8', 'hamming'],
  ),
  // The longer ones are compared by SIMD instructions, some at a time.
  dimension: fc.constantFrom(3, 40),
  vectors: fc.integer({ min: 1, max: 4 }),
  limit: fc.constantFrom(1, 7, 1000),
  seed: fc.integer({ min: 1, max: 3 }),
})

test('the nearest rows are those of the definition', async () => {
  const tables = new Map<
    string,
    Promise<{ rows: Row[]; snapshot: Awaited<ReturnType<TableEngine['create']>> }>
  >()
  const tableOf = (element: Element, dimension: number) => {
    const key = `${element}-${dimension}`
    const rows = rowsOf(element, dimension, 150, 7, true)
    const make = async () => ({
      rows,
      snapshot: await engines[0]!.create(key, listTable(element, dimension, rows)),
    })
    if (!tables.has(key)) tables.set(key, make())
    return tables.get(key)!
  }
  await fc.assert(
    fc.asyncProperty(search, async ({ kind: [element, measure], dimension, vectors: count, limit, seed }) => {
      const { rows, snapshot } = await tableOf(element, dimension)
      const random = randomNumbers(seed)
      const vectors = Array.from({ length: count }, () =>
        Array.from({ length: dimension }, () => someValue(element, random)),
      )
      const all = nearest(rows, vectors, measure)
      const expected = all.slice(0, limit)
      const distanceTo = new Map(all.map(({ id, distance }) => [id, distance]))
      const answers = await Promise.all(
        engines.map((engine) =>
          engine.queryRows(snapshot, { columns: ['id'], limit, search: { vectors, measure } }),
        ),
      )
      expect(Buffer.compare(answers[0]!, answers[1]!)).toBe(0)
      const found = (await decodeArrow(answers[0]!)).toArray() as unknown as {
        id: number
        _distance: number
      }[]
      expect(found.length).toBe(expected.length)
      for (const [i, { id, _distance }] of found.entries()) {
        // Where sums are rounded in another order, two rows may swap that are all but equally far.
        for (const distance of [expected[i]!.distance, distanceTo.get(id)!])
          expect(Math.abs(_distance - distance)).toBeLessThanOrEqual(1e-5 * Math.max(1, Math.abs(distance)))
      }
    }),
    { numRuns: 20 },
  )
})

test('of many vectors of a query, few rows are looked at together', async () => {
  const rows = rowsOf('float64', 1, 100, 5, true)
  const snapshot = await engines[0]!.create('many', listTable('float64', 1, rows))
  const random = randomNumbers(9)
  // 2 ** 18 distances are kept: those of 43 rows, of the 64 of a fragment.
  const vectors = Array.from({ length: 6_000 }, () => [someValue('float64', random)])
  const bytes = await engines[0]!.queryRows(snapshot, { columns: ['id'], limit: 400, search: { vectors } })
  const found = (await decodeArrow(bytes)).toArray() as unknown as { id: number; _distance: number }[]
  const expected = new Map(nearest(rows, vectors, 'l2').map(({ id, distance }) => [id, distance]))
  expect(found.length).toBe(expected.size)
  for (const { id, _distance } of found) expect(_distance / expected.get(id)!).toBeCloseTo(1, 4)
})

test('rows and distances are those of LanceDB', async () => {
  const lance = await connect(join(folder, 'lance'))
  const [engine] = engines
  for (const element of ['float32', 'float64'] as const) {
    const rows = rowsOf(element, 6, 200, 3, false)
    const ours = await engine!.create(`ours-${element}`, listTable(element, 6, rows))
    const theirs = await lance.createTable(element, tableFromIPC(await engine!.queryRows(ours)))
    const random = randomNumbers(11)
    for (const measure of ['l2', 'dot', 'cosine'] as const) {
      for (const count of [1, 3]) {
        const vectors = Array.from({ length: count }, () =>
          Array.from({ length: 6 }, () => someValue(element, random)),
        )
        let query = theirs.query().nearestTo(vectors[0]!)
        for (const vector of vectors.slice(1)) query = query.addQueryVector(vector)
        const expected = (await query
          .distanceType(measure)
          .select(['id', '_distance'])
          .limit(200)
          .toArray()) as { id: number; _distance: number }[]
        const bytes = await engine!.queryRows(ours, {
          columns: ['id'],
          limit: 200,
          search: { vectors, measure },
        })
        const found = (await decodeArrow(bytes)).toArray() as unknown as typeof expected
        const distances = (list: typeof expected) => new Map(list.map(({ id, _distance }) => [id, _distance]))
        const own = distances(found)
        expect(own.size).toBe(expected.length)
        for (const [id, distance] of distances(expected)) expect(own.get(id)).toBeCloseTo(distance, 3)
      }
    }
  }
  lance.close()
})
