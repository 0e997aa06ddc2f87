import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import {
  decodeArrow,
  type Measure,
  type QueryOptions,
  type Snapshot,
  type TableEngine,
  tableEngine,
  toArrowTable,
} from '../../../../src/engine/table/index.ts'
import { limitEach } from '../../../support/time-limit.ts'
import { fixture, plain } from '../../arrow/fixtures.ts'
import { enginesWith } from '../scan/engines.ts'
import { distanceOf, type Element, randomNumbers, someValue, vectorTable } from './vectors.ts'

// It searches random rows, and compares all distances.
limitEach(60)

/*
 * A search finds what comparing each vector by the definition of the distance finds: on this thread, and on others.
 */

const { threaded, single } = await enginesWith({ fragmentRows: 128, cacheBytes: 1 << 20 })

type Row = { id: number; s: string; v: number[] | null }

const tables = new Map<string, Promise<{ rows: Row[]; snapshot: Snapshot }>>()

/** A table of 700 rows, of which some have no vector and some are deleted. */
function tableOf(element: Element, dimension: number) {
  const key = `${element}-${dimension}`
  let made = tables.get(key)
  if (made === undefined) {
    made = makeTable(key, element, dimension)
    tables.set(key, made)
  }
  return made
}

async function makeTable(prefix: string, element: Element, dimension: number) {
  const random = randomNumbers(dimension)
  const vectors = Array.from({ length: 700 }, (_, i) =>
    i % 13 === 5 ? null : Array.from({ length: dimension }, () => someValue(element, random)),
  )
  const created = await single.create(prefix, vectorTable(element, dimension, vectors))
  const { snapshot } = await single.deleteRows('id % 17 = 3').apply(created)
  const rows = vectors.map((v, id) => ({ id, s: `word ${id % 7}`, v })).filter(({ id }) => id % 17 !== 3)
  return { rows, snapshot }
}

const filters = {
  'id >= 300': ({ id }: Row) => id >= 300,
  "s = 'word 2' OR id < 10": ({ s, id }: Row) => s === 'word 2' || id < 10,
  'id < 0': () => false,
}

const search = fc.record({
  kind: fc.constantFrom<readonly [Element, Measure]>(
    ...(['float16', 'float32', 'float64', 'int8', 'uint8'] as const).flatMap((element) =>
      (['l2', 'cosine', 'dot'] as const).map((measure) => [element, measure] as const),
    ),
    ['int8', 'hamming'],
    ['uint8', 'hamming'],
  ),
  dimension: fc.constantFrom(1, 3, 8),
  seed: fc.integer(),
  vectors: fc.integer({ min: 1, max: 3 }),
  limit: fc.constantFrom(undefined, 1, 4, 40, 2000),
  offset: fc.constantFrom(0, 0, 3, 100),
  filter: fc.constantFrom(undefined, ...(Object.keys(filters) as (keyof typeof filters)[])),
  prefilter: fc.boolean(),
  lower: fc.constantFrom(undefined, 0.5, 2),
  upper: fc.constantFrom(undefined, 1, 9),
})

test('the nearest rows are those of the definition, in the order of distance and then of rows', async () => {
  await fc.assert(
    fc.asyncProperty(search, async (given) => {
      const { dimension, limit = 10, offset, lower, upper, prefilter } = given
      const [element, measure] = given.kind
      const { rows, snapshot } = await tableOf(element, dimension)
      const random = randomNumbers(given.seed)
      const vectors = Array.from({ length: given.vectors }, () =>
        Array.from({ length: dimension }, () => someValue(element, random)),
      )
      const matches = given.filter ? filters[given.filter] : () => true
      const expected = vectors.flatMap((vector, query_index) => {
        const near = rows
          .filter((row) => row.v && (!prefilter || matches(row)))
          .map((row) => ({ row, distance: distanceOf(measure, row.v!, vector) }))
          .filter(({ distance }) => distance >= (lower ?? -Infinity) && !(distance >= (upper ?? Infinity)))
          .sort((a, b) => a.distance - b.distance || a.row.id - b.row.id)
        const found = prefilter ? near : near.slice(0, limit + offset).filter(({ row }) => matches(row))
        return found.slice(offset, offset + limit).map(({ row, distance }) => ({
          ...(vectors.length > 1 && { query_index }),
          id: row.id,
          s: row.s,
          v: row.v,
          _distance: expect.closeTo(distance, 4),
        }))
      })
      const options: QueryOptions = {
        limit: given.limit,
        offset,
        filter: given.filter,
        search: { vectors, measure, lower, upper, prefilter },
      }
      const answers = await Promise.all(
        [single, threaded].map((engine) => engine.queryRows(snapshot, options)),
      )
      const found = (await decodeArrow(answers[0]!)).toArray().map(plain)
      // Sums of another order may swap two rows that are all but equally far.
      const seen = (list: readonly unknown[]) =>
        measure === 'cosine' ? list.map((row) => (row as { _distance: number })._distance) : list
      expect(seen(found)).toEqual(seen(expected))
      expect(Buffer.compare(answers[0]!, answers[1]!)).toBe(0)
    }),
    { numRuns: 30 },
  )
})

async function memoryTable(table: Parameters<TableEngine['create']>[1], fragmentRows = 64) {
  const engine = tableEngine({ content: memoryContent(), fragmentRows })
  const snapshot = await engine.create('t', table)
  const find = async (vector: number[] | number[][], options: QueryOptions = {}, more = {}) => {
    const vectors = Array.isArray(vector[0]) ? (vector as number[][]) : [vector as number[]]
    const bytes = await engine.queryRows(snapshot, { ...options, search: { vectors, ...more } })
    return decodeArrow(bytes)
  }
  return { engine, snapshot, find }
}

test('the answer has the columns asked for, the distance last, and the number of the vector first', async () => {
  const { find } = await memoryTable(
    vectorTable('float32', 2, [
      [0, 0],
      [1, 0],
      [3, 4],
    ]),
  )
  const all = await find([0, 0])
  expect(all.schema.fields.map(({ name }) => name)).toEqual(['id', 's', 'v', '_distance'])
  expect(all.toArray()).toMatchObject([
    { id: 0, _distance: 0 },
    { id: 1, _distance: 1 },
    { id: 2, _distance: 25 },
  ])
  const names = async (columns: QueryOptions['columns'], vectors: number[] | number[][] = [0, 0]) =>
    (await find(vectors, { columns })).schema.fields.map(
      ({ name, nullable }) => `${name}${nullable ? '' : '!'}`,
    )
  expect(await names(['s'])).toEqual(['s', '_distance'])
  expect(await names(['_distance', 's'])).toEqual(['_distance', 's'])
  expect(await names(['_distance'])).toEqual(['_distance'])
  expect(await names({ far: '_distance', word: 's' })).toEqual(['far', 'word'])
  expect(
    await names(
      ['s'],
      [
        [0, 0],
        [1, 1],
      ],
    ),
  ).toEqual(['query_index!', 's', '_distance'])
  const several = await find(
    [
      [0, 0],
      [3, 4],
    ],
    { columns: ['id'], limit: 2 },
  )
  expect(several.toArray()).toEqual([
    { query_index: 0, id: 0, _distance: 0 },
    { query_index: 0, id: 1, _distance: 1 },
    { query_index: 1, id: 2, _distance: 0 },
    { query_index: 1, id: 1, _distance: 20 },
  ])
  await expect(find([0, 0], { columns: { _distance: 'id', x: '_distance' } })).resolves.toBeDefined()
  await expect(
    find(
      [
        [0, 0],
        [1, 1],
      ],
      { columns: { query_index: 'id' } },
    ),
  ).rejects.toThrow('two columns')
})

test('columns are computed, sorted by, and name rows, as in other queries', async () => {
  const { find } = await memoryTable(
    vectorTable(
      'float32',
      1,
      Array.from({ length: 200 }, (_, i) => [(i * 7) % 200]),
    ),
  )
  const columns = { twice: 'id * 2', id: 'id', far: '_distance' }
  const near = await find([0], { columns, limit: 3, withRowId: true })
  expect(near.schema.fields.map(({ name }) => name)).toEqual(['twice', 'id', 'far', '_rowid'])
  // Row 143 has 143 * 7 % 200 = 1, row 86 has 2.
  expect(near.toArray()).toEqual([
    { twice: 0, id: 0, far: 0, _rowid: 0n },
    { twice: 286, id: 143, far: 1, _rowid: 143n },
    { twice: 172, id: 86, far: 4, _rowid: 86n },
  ])
  const ids = async (options: QueryOptions, vectors: number[] | number[][] = [0], more = {}) =>
    (await find(vectors, { columns: ['id'], limit: 3, ...options }, more))
      .toArray()
      .map((row) => Number((row as unknown as Row).id))
  expect(await ids({ orderBy: [{ column: 'id' }] })).toEqual([0, 86, 143])
  expect(await ids({ orderBy: [{ column: '_distance', descending: true }] })).toEqual([86, 143, 0])
  expect(await ids({ orderBy: [{ column: 's' }, { column: 'id', descending: true }] })).toEqual([0, 86, 143])
  expect(await ids({ orderBy: [{ column: 'id', descending: true }], limit: 2 }, [[0], [199]])).toEqual([
    143, 0, 114, 57,
  ])
  expect(await ids({ filter: '_rowid > 100' })).toEqual([143, 172, 115])
  const after = { prefilter: false }
  expect(await ids({ filter: '_rowid > 100 AND _distance < 2 AND id % 2 = 1' }, [0], after)).toEqual([143])
  expect(await ids({ filter: '_rowoffset > 100 AND _rowid < 144' }, [0], after)).toEqual([143])
  expect(await ids({ columns: { id: '_rowoffset' } })).toEqual([0, 143, 86])
  const only = await find([0], { columns: ['_distance'], withRowId: true, limit: 1 })
  expect(only.toArray()).toEqual([{ _distance: 0, _rowid: 0n }])
  await expect(find([0], { orderBy: [{ column: 'v' }] })).rejects.toThrow('no order')
  await expect(find([0], { columns: ['id + none'] })).rejects.toThrow('none')
})

test('columns of every type come with the nearest rows', async () => {
  const table = await decodeArrow(fixture('types.arrows'))
  const vectors = vectorTable(
    'float32',
    2,
    Array.from({ length: table.numRows }, (_, i) => [(i * 5) % 13, 0]),
    'vector',
  )
  const wide = new (table.constructor as new (...given: unknown[]) => typeof table)(
    { ...table.schema, fields: [...table.schema.fields, vectors.schema.fields[2]!] },
    [...table.children, vectors.getChildAt(2)],
  )
  const { find, engine, snapshot } = await memoryTable(wide)
  const all = (await decodeArrow(await engine.queryRows(snapshot))).toArray().map(plain)
  const found = (await find([0, 0], { limit: 13 }, { column: 'vector' })).toArray().map(plain)
  const order = Array.from({ length: 13 }, (_, i) => i).sort((a, b) => ((a * 5) % 13) - ((b * 5) % 13))
  expect(found.map((row) => ({ ...(row as object), _distance: 0 }))).toEqual(
    order.map((i) => ({ ...(all[i] as object), _distance: 0 })),
  )
})

test('what is not a number is at no distance, and what is infinitely far comes last', async () => {
  const { find } = await memoryTable(
    vectorTable('float32', 2, [[Number.NaN, 0], [Number.POSITIVE_INFINITY, 0], [1, 0], null, [0, 0]]),
  )
  const ids = async (measure: Measure, vector = [1, 0], limit = 10) =>
    (await find(vector, { columns: ['id'], limit }, { measure })).toArray()
  expect(await ids('l2')).toEqual([
    { id: 2, _distance: 0 },
    { id: 4, _distance: 1 },
    { id: 1, _distance: Number.POSITIVE_INFINITY },
  ])
  expect(await ids('l2', [1, 0], 2)).toMatchObject([{ id: 2 }, { id: 4 }])
  expect(await ids('cosine')).toEqual([{ id: 2, _distance: 0 }])
  expect(await ids('cosine', [0, 0])).toEqual([])
})

test('a vector with a null in it is passed over', async () => {
  const table = await toArrowTable([{ id: 1 }, { id: 2 }])
  const vectors = vectorTable('float32', 2, [
    [1, 0],
    [2, 0],
  ])
  const column = vectors.getChildAt(2)!
  const batch = column.data[0] as unknown as { children: { nullCount: number; validity: Uint8Array }[] }
  Object.assign(batch.children[0]!, { nullCount: 1, validity: Uint8Array.of(0b1101) })
  const both = new (table.constructor as new (...given: unknown[]) => typeof table)(
    { ...table.schema, fields: [...table.schema.fields, vectors.schema.fields[2]!] },
    [...table.children, column],
  )
  const { find } = await memoryTable(both)
  expect((await find([1, 0], { columns: ['id'] })).toArray()).toEqual([{ id: 2, _distance: 1 }])
})

test('vectors lie in structs, too, and are named by their path', async () => {
  const { struct, field, Table } = await import('@uwdata/flechette')
  const { makeBatch, makeColumn } = await import('../../../../src/engine/arrow/batch.ts')
  const inner = vectorTable('float32', 2, [
    [5, 0],
    [1, 0],
    [2, 0],
  ])
  const type = struct([field('a.b', inner.schema.fields[2]!.type)])
  const batch = makeBatch(type, {
    length: 3,
    nullCount: 1,
    validity: Uint8Array.of(0b101),
    children: [inner.getChildAt(2)!.data[0] as never],
  })
  const table = new Table(
    { fields: [inner.schema.fields[0]!, field('place', type)], metadata: null } as never,
    [inner.getChildAt(0)!, makeColumn(type, [batch])],
  )
  const { find } = await memoryTable(table)
  for (const column of [undefined, 'place.`a.b`']) {
    const found = await find([1, 0], { columns: ['id'] }, { column })
    expect(found.toArray()).toEqual([
      { id: 2, _distance: 1 },
      { id: 0, _distance: 16 },
    ])
  }
})

test('a filter after the search may ask for the distance, one before it may not', async () => {
  const { find } = await memoryTable(
    vectorTable(
      'float32',
      1,
      Array.from({ length: 200 }, (_, i) => [i]),
    ),
  )
  const filter = '_distance > 4 AND id % 2 = 0'
  const found = await find([0], { columns: ['id'], filter, limit: 10 }, { prefilter: false })
  expect(found.toArray().map((row) => (row as unknown as Row).id)).toEqual([4, 6, 8])
  await expect(find([0], { filter })).rejects.toThrow('_distance')
  const near = await find([0], { columns: ['id'], filter: '_distance < 4' }, { prefilter: false })
  expect(near.numRows).toBe(2)
})

test('what cannot be searched is refused with what would do', async () => {
  const { find, engine, snapshot } = await memoryTable(vectorTable('float32', 2, [[0, 0]]))
  const refused = async (work: Promise<unknown>, ...parts: (string | RegExp)[]) => {
    const error = await work.then(
      () => undefined,
      (error: unknown) => error as { code: string; message: string },
    )
    expect(error?.code).toMatch(/InvalidInput|TableColumnNotFound/)
    for (const part of parts) expect(error?.message).toMatch(part)
  }
  await refused(find([0, 0, 0]), 'dim(3)', 'dimension 2', 'column v ')
  await refused(find([0, 0, 0], {}, { column: 'v' }), 'dim(3)', 'dimension 2')
  await refused(find([[0, 0], [0]]), 'vector 1 has dimension 1')
  await refused(find([]), 'empty')
  await refused(find([0, Number.NaN]), 'Component 1', 'NaN')
  await refused(find([0, 1e39]), 'Component 1', '1e+39')
  await refused(find([0, 0], { limit: 0 }), 'k of 1')
  await refused(find([0, 0], {}, { column: 'id' }), 'does not hold vectors')
  await refused(find([0, 0], {}, { column: 'w' }), 'no column "w"')
  await refused(find([0, 0], {}, { measure: 'hamming' }), 'hamming', 'float32')
  const bytes = await memoryTable(vectorTable('uint8', 2, [[0, 0]]))
  await refused(bytes.find([0, 256]), 'Component 1', '0 to 255')
  await refused(bytes.find([0, 0.5]), 'Component 1', '0 to 255')
  const none = await memoryTable(await toArrowTable([{ n: 1 }]))
  await refused(none.find([1]), 'No vector column')
  const one = vectorTable('float32', 2, [[0, 0]])
  const two = new (one.constructor as new (...given: unknown[]) => typeof one)(
    { ...one.schema, fields: [...one.schema.fields, { ...one.schema.fields[2]!, name: 'w' }] },
    [...one.children, one.getChildAt(2)],
  )
  const both = await memoryTable(two)
  await refused(both.find([0, 0]), '2 columns', '"v" (2), "w" (2)', 'vector_column')
  await expect(both.find([0, 0], {}, { column: 'w' })).resolves.toBeDefined()
  const own = new (one.constructor as new (...given: unknown[]) => typeof one)(
    { ...one.schema, fields: [...one.schema.fields, { ...one.schema.fields[0]!, name: '_distance' }] },
    [...one.children, one.getChildAt(0)],
  )
  await refused((await memoryTable(own)).find([0, 0]), 'of its own')
  await expect(find([0, 0], { maxBytes: 10 })).rejects.toThrow('more than 10 bytes')
  const signal = AbortSignal.abort(new Error('stopped'))
  await expect(engine.queryRows(snapshot, { signal, search: { vectors: [[0, 0]] } })).rejects.toThrow(
    'stopped',
  )
})

test('a search ranks at most a million rows', async () => {
  const { find } = await memoryTable(
    vectorTable(
      'float32',
      1,
      Array.from({ length: 600 }, (_, i) => [i]),
    ),
    1024,
  )
  await expect(
    find(
      Array.from({ length: 1700 }, () => [0]),
      { limit: 1e6 },
    ),
  ).rejects.toThrow('1,020,000 rows')
  expect((await find([3], { limit: 1e6, columns: ['id'] })).numRows).toBe(600)
})

test('memory is taken for what is ranked and read, and the budget may refuse it', async () => {
  const { engine, snapshot } = await memoryTable(
    vectorTable(
      'float32',
      64,
      Array.from({ length: 100 }, () => Array.from({ length: 64 }, () => 1)),
    ),
  )
  let taken = 0
  const memory = {
    take: (bytes: number) => {
      taken += bytes
      return undefined
    },
    give: () => {},
  }
  const search = { vectors: [Array.from({ length: 64 }, () => 1)] }
  await engine.queryRows(snapshot, { search, limit: 50, memory })
  expect(taken).toBeGreaterThan(50 * 64 * 4)
  const full = {
    take: () => {
      throw new Error('no room')
    },
    give: () => {},
  }
  await expect(engine.queryRows(snapshot, { search, memory: full })).rejects.toThrow('no room')
})

test('a search that is stopped ends, and lets others work meanwhile', async () => {
  const { engine, snapshot } = await memoryTable(
    vectorTable(
      'float32',
      16,
      Array.from({ length: 2000 }, () => Array.from({ length: 16 }, () => 0.5)),
    ),
    1 << 20,
  )
  const stop = new AbortController()
  let turns = 0
  const count = () => {
    if (++turns === 3) stop.abort(new Error('enough'))
  }
  const timer = setInterval(count, 1)
  const vectors = Array.from({ length: 50_000 }, () => Array.from({ length: 16 }, () => 1))
  await expect(
    engine.queryRows(snapshot, { search: { vectors }, limit: 1, signal: stop.signal }),
  ).rejects.toThrow('enough')
  clearInterval(timer)
  expect(turns).toBeGreaterThanOrEqual(3)
})
