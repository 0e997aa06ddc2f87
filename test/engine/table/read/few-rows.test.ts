import { rm } from 'node:fs/promises'
import { type Table as ArrowTable, int32, Table } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Content } from '../../../../src/base/content/content.ts'
import { bucketContent } from '../../../../src/contents/bucket/index.ts'
import { fileContent } from '../../../../src/contents/files/index.ts'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import { type AnyBatch, makeBatch, makeColumn } from '../../../../src/engine/arrow/batch.ts'
import { assemble, type Piece } from '../../../../src/engine/arrow/take/take.ts'
import {
  decodeArrow,
  type QueryOptions,
  type Snapshot,
  type TableEngine,
  tableEngine,
  toArrowTable,
} from '../../../../src/engine/table/index.ts'
import { refused } from '../../../../src/testing/suites/checks.ts'
import { MemoryBucket } from '../../../contents/bucket/memory-bucket.ts'
import { contentWith } from '../../../support/contents.ts'
import { temporaryDirectory } from '../../../support/folders.ts'
import { limitEach } from '../../../support/time-limit.ts'
import { fixture, plain } from '../../arrow/fixtures.ts'

// It reads and damages tables of all types, in each place.
limitEach(60)

const types = await decodeArrow(fixture('types.arrows'))
const fragmentRows = 8_192

/** Rows of every type, each drawn from a few, and a number for each row. */
function rowsOfEveryType(count: number, seed: number): ArrowTable {
  const columns = types.children.map(({ data, type }) => {
    const batches = data as readonly AnyBatch[]
    const pieces: Piece[] = []
    for (let i = 0; i < 64; i++) {
      const batch = batches[i % batches.length]!
      const runs: number[] = []
      for (let k = 0; k < 16; k++) {
        const row = (i * 7919 + k * 104_729 + seed) % batch.length
        runs.push(row, row + 1)
      }
      pieces.push({ batch, runs })
    }
    let all = assemble(type, pieces)
    while (all.length < count)
      all = assemble(
        type,
        [all, all].map((batch) => ({ batch, runs: [0, batch.length] })),
      )
    return makeColumn(type, [assemble(type, [{ batch: all, runs: [0, count] }])])
  })
  const values = Int32Array.from({ length: count }, (_, n) => n)
  const fields = [...types.schema.fields, { name: 'n', type: int32(), nullable: true, metadata: null }]
  const numbers = makeColumn(int32(), [makeBatch(int32(), { length: count, values })])
  return new Table({ ...types.schema, fields } as never, [...columns, numbers] as never)
}

/** The content with another cost of a read: 0 for one that reads rows alone wherever that can be. */
function reading(content: Content, readCost: number): Content {
  return contentWith(content, {
    getRanges: content.getRanges && ((...given) => content.getRanges!(...given)),
    readCost,
  })
}

const contents: Readonly<Record<string, (folder: string) => Content>> = {
  memory: () => memoryContent(),
  files: (folder) => fileContent(folder),
  bucket: () => bucketContent(new MemoryBucket(), { prefix: 'p/' }),
}

async function answer(engine: TableEngine, snapshot: Snapshot, query: QueryOptions) {
  const table = await decodeArrow(await engine.queryRows(await engine.open('t/', snapshot.manifest), query))
  return table.children.map((column) => [...column].map(plain))
}

test.each(Object.keys(contents))('few rows are those among all, of any type, in %s', async (kind) => {
  const count = fragmentRows * 2 + 1_000
  const table = rowsOfEveryType(count, kind.length)
  const folder = await temporaryDirectory()
  try {
    const content = contents[kind]!(folder)
    const writer = tableEngine({ content, fragmentRows, cacheBytes: 0 })
    let snapshot = await writer.create('t/', table)
    expect(snapshot.fragments).toBe(3)
    snapshot = (await writer.deleteRows('n % 11 = 5 OR n BETWEEN 3000 AND 3500').apply(snapshot)).snapshot
    snapshot = (await writer.addColumns([{ name: 'more', expression: "concat('row ', n)" }]).apply(snapshot))
      .snapshot
    snapshot = (await (await writer.insertRows(snapshot, (await addMore(table)) as never)).apply(snapshot))
      .snapshot
    const whole = tableEngine({ content: reading(content, Number.MAX_SAFE_INTEGER) })
    const row = fc.nat(snapshot.rows + snapshot.deletedRows + 10)
    const ids = fc.uniqueArray(row, { minLength: 1, maxLength: 30 }).map((ids) => ids.join())
    const query: fc.Arbitrary<QueryOptions> = fc.oneof(
      ids.map((ids) => ({ filter: `_rowid IN (${ids})` })),
      ids.map((ids) => ({
        filter: `_rowoffset IN (${ids})`,
        columns: ['n', '_rowid', '_rowoffset', 'more'],
      })),
      fc.record({ offset: row, limit: fc.nat(40) }),
      fc.nat(900).map((rest) => ({ filter: `n % 911 = ${rest}` })),
      ids.map((ids) => ({
        filter: `_rowid IN (${ids})`,
        columns: { n: 'n', twice: 'n * 2', more: 'upper(more)', at: '_rowoffset' },
      })),
      fc.record({ orderBy: fc.constant([{ column: 'more', descending: true }]), limit: fc.nat(20) }),
    )
    await fc.assert(
      fc.asyncProperty(query, fc.constantFrom(0, 100_000, 64 << 20), async (query, cacheBytes) => {
        const engine = tableEngine({ content: reading(content, 0), cacheBytes })
        const expected = await answer(whole, snapshot, query)
        expect(await answer(engine, snapshot, query)).toEqual(expected)
        // What was kept of the first one must not be wrong for the next.
        expect(await answer(engine, snapshot, query)).toEqual(expected)
      }),
      { numRuns: 10 },
    )
    for await (const { path, problem } of writer.check('t/', [snapshot.manifest]))
      expect([path, problem]).toEqual([path, undefined])
  } finally {
    await rm(folder, { recursive: true })
  }
})

/** The rows with the column that the table got later. */
async function addMore(table: ArrowTable): Promise<ArrowTable> {
  const texts = await toArrowTable(Array.from({ length: table.numRows }, (_, n) => ({ more: `new ${n}` })))
  const fields = [...table.schema.fields, ...texts.schema.fields]
  return new Table({ ...table.schema, fields } as never, [...table.children, ...texts.children] as never)
}

const wide = 200_000

/** A table of one fragment of some 6 MB with a number, a text and a list in each row. */
async function wideTable(content: Content) {
  const rows = Array.from({ length: wide }, (_, n) => ({ n, text: `row ${n} of many`, list: [n, n + 1] }))
  const { manifest } = await tableEngine({ content }).create('t/', await toArrowTable(rows))
  let path = ''
  for await (const object of content.list('t/data/')) path = object.path
  return { manifest, path }
}

const few = (count: number) => Array.from({ length: count }, (_, i) => i * 9_973 + 17)
const takes = (ids: readonly number[]): QueryOptions => ({ filter: `_rowid IN (${ids.join()})` })
const rowsAt = (ids: readonly number[]) => [
  ids,
  ids.map((n) => `row ${n} of many`),
  ids.map((n) => [n, n + 1]),
]

/** The content, which counts reads of data and their bytes. */
function counting(content: Content) {
  const counts = { reads: 0, bytes: 0 }
  const note = (path: string, found: readonly (Uint8Array | undefined)[]) => {
    if (!path.includes('/data/')) return
    counts.reads += found.length
    for (const bytes of found) counts.bytes += bytes?.length ?? 0
  }
  const counted: Content = {
    ...reading(content, content.readCost as number),
    get: async (path, range) => {
      const bytes = await content.get(path, range)
      note(path, [bytes])
      return bytes
    },
    getRanges: async (path, ranges) => {
      const found = await content.getRanges!(path, ranges)
      note(path, found)
      return found
    },
  }
  return { counts, counted }
}

test('a few rows of a file are read by their blocks, and those of a kept column not at all', async () => {
  const folder = await temporaryDirectory()
  try {
    const content = fileContent(folder)
    const { manifest } = await wideTable(content)
    const { counts, counted } = counting(content)
    const engine = tableEngine({ content: counted, cacheBytes: 0 })
    const snapshot = await engine.open('t/', manifest)
    const ids = few(20)
    expect(await answer(engine, snapshot, takes(ids))).toEqual(rowsAt(ids))
    // Numbers, two times offsets, texts and items: a block or two of each row, and what tells where they lie.
    expect(counts.bytes).toBeLessThan(20 * 5 * 2 * 4_096 + 16_384)
    expect(counts.bytes).toBeLessThan(1_000_000)
    counts.bytes = 0
    const page = { offset: wide >> 1, limit: 100 }
    const middle = Array.from({ length: 100 }, (_, i) => (wide >> 1) + i)
    expect(await answer(engine, snapshot, page)).toEqual(rowsAt(middle))
    expect(counts.bytes).toBeLessThan(5 * 2 * 4_096 + 16_384)

    const keeping = tableEngine({ content: counted })
    await keeping.countRows(snapshot, { predicate: 'n % 2 = 0' })
    counts.bytes = 0
    // The best are found by a column that is kept, and the others are read for them alone.
    const best = { orderBy: [{ column: 'n', descending: true }], limit: 10 }
    const last = Array.from({ length: 10 }, (_, i) => wide - 1 - i)
    expect(await answer(keeping, snapshot, best)).toEqual(rowsAt(last))
    expect(counts.bytes).toBeLessThan(4 * 2 * 4_096 + 16_384)
    counts.bytes = 0
    const selective = await answer(keeping, snapshot, { filter: `n IN (${ids.join()})` })
    expect(selective).toEqual(rowsAt(ids))
    expect(counts.bytes).toBeLessThan(20 * 4 * 2 * 4_096)
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('columns that are asked for again and again are kept, if there is room for all of them', async () => {
  const folder = await temporaryDirectory()
  try {
    const content = fileContent(folder)
    const { manifest } = await wideTable(content)
    const bytesOfLast = async (cacheBytes: number) => {
      const { counts, counted } = counting(content)
      const engine = tableEngine({ content: counted, cacheBytes })
      const snapshot = await engine.open('t/', manifest)
      for (let turn = 0; turn < 40; turn++) {
        counts.bytes = 0
        const ids = few(20)
          .map((id) => (id + turn * 100) % wide)
          .sort((a, b) => a - b)
        expect(await answer(engine, snapshot, takes(ids))).toEqual(rowsAt(ids))
      }
      return counts.bytes
    }
    expect(await bytesOfLast(64 << 20)).toBe(0)
    const always = await bytesOfLast(2 << 20)
    expect(always).toBeGreaterThan(0)
    expect(always).toBeLessThan(1_000_000)
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('rows in object storage are taken by a few requests, at most eight at once', async () => {
  const bucket = new MemoryBucket()
  const content = bucketContent(bucket, { prefix: '' })
  const rows = 3_000_000
  const values = Int32Array.from({ length: rows }, (_, n) => n)
  const floats = Float64Array.from(values)
  const numbers = await toArrowTable([{ n: 0, x: 0.5, y: 0.5, z: 0.5 }])
  const columns = numbers.schema.fields.map(({ type }) => {
    const array = type.typeId === int32().typeId ? values : floats
    return makeColumn(type, [makeBatch(type, { length: rows, values: array })])
  })
  const writer = tableEngine({ content, fragmentRows: 1 << 22 })
  const { manifest } = await writer.create('t/', new Table(numbers.schema, columns as never))
  bucket.reads.length = 0
  const engine = tableEngine({ content, cacheBytes: 1 << 20 })
  const snapshot = await engine.open('t/', manifest)
  const ids = [5, 1_000_000, 1_000_001, 1_000_100, 2_500_000]
  bucket.bytes = 0
  const found = await answer(engine, snapshot, { ...takes(ids), columns: ['n', 'x', 'y', 'z'] })
  expect(found).toEqual([ids, ids, ids, ids])
  // The manifest, metadata at the beginning and at the end, and three places in each column.
  expect(bucket.reads).toHaveLength(1 + 2 + 3 * 4)
  expect(bucket.most).toBeLessThanOrEqual(8)
  expect(bucket.bytes).toBeLessThan(1 << 20)
  bucket.reads.length = 0
  // Where rows lie all over a column, the whole column is fewer requests.
  const many = Array.from({ length: 1_000 }, (_, i) => i * 2_999)
  expect(await answer(engine, snapshot, { ...takes(many), columns: ['n', 'x'] })).toEqual([many, many])
  expect(bucket.reads.length).toBeLessThanOrEqual(5)
})

test.each(['memory', 'files', 'bucket'])(
  'damage is told of what is read of a few rows in %s',
  async (kind) => {
    const folder = await temporaryDirectory()
    try {
      const content = contents[kind]!(folder)
      const { manifest, path } = await wideTable(content)
      const size = (await content.get(path))!.length
      const ids = few(3)
      /** Takes rows while a bit of some bytes, or of each answer, is another one: in the first answers or in all. */
      const taking = async (places: readonly number[] | 'each', times: number) => {
        let left = times
        const spoil = (bytes: Uint8Array | undefined, start: number, isMine: boolean) => {
          const end = start + (bytes?.length ?? 0)
          const mine =
            places === 'each' ? [(start + end) >> 1] : places.filter((at) => at >= start && at < end)
          if (!bytes || !isMine || mine.length === 0 || left-- <= 0) return bytes
          const copy = bytes.slice()
          for (const at of mine) copy[at - start]! ^= 4
          return copy
        }
        const plainly = reading(content, 0)
        const spoiled: Content = {
          ...plainly,
          get: async (from, range) => spoil(await content.get(from, range), range?.start ?? 0, from === path),
          getRanges:
            content.getRanges &&
            (async (from, ranges) =>
              (await content.getRanges!(from, ranges)).map((bytes, i) =>
                spoil(bytes, ranges[i]!.start, from === path),
              )),
        }
        const engine = tableEngine({ content: spoiled, cacheBytes: 0 })
        return answer(engine, await engine.open('t/', manifest), takes(ids))
      }
      await refused(taking('each', Number.POSITIVE_INFINITY), 'InvalidTableState')
      // On the way only, and of one block alone.
      expect(await taking('each', 1)).toEqual(rowsAt(ids))
      let told = 0
      for (let block = 0; block * 4_096 < size; block += 7) {
        const places = [Math.min(size - 1, block * 4_096 + 2_048)]
        await taking(places, Number.POSITIVE_INFINITY).then(
          (found) => expect(found).toEqual(rowsAt(ids)),
          (error) => {
            expect(error).toMatchObject({ code: 'InvalidTableState' })
            told++
          },
        )
      }
      expect(told).toBeLessThan(20)
      // Rows whose blocks are damaged are never given.
      const inNumbers = (await blocksWith(content, path, ids[1]!)).map((at) => at + 1)
      expect(inNumbers.length).toBeGreaterThan(0)
      await refused(taking(inNumbers, Number.POSITIVE_INFINITY), 'InvalidTableState')
    } finally {
      await rm(folder, { recursive: true })
    }
  },
)

/** Where a file has a number and the next one. */
async function blocksWith(content: Content, path: string, number: number): Promise<number[]> {
  const bytes = Buffer.from((await content.get(path))!)
  const wanted = Buffer.from(Float64Array.of(number, number + 1).buffer)
  const found: number[] = []
  for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + 1)) found.push(at)
  return found
}
