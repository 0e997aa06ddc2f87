import { field, int32 } from '@uwdata/flechette'
import { expect, test } from 'vitest'
import type { ByteRange, Content } from '../../../../src/base/content/content.ts'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import type { LoadedSnapshot } from '../../../../src/engine/table/format/snapshot.ts'
import {
  decodeArrow,
  type EngineOptions,
  type NewIndex,
  type Snapshot,
  type TableEngine,
  tableEngine,
  toArrowTable,
} from '../../../../src/engine/table/index.ts'
import { isIndexObject } from '../../../../src/engine/table/storage/objects.ts'

const rowsOf = (first: number, count: number) =>
  toArrowTable(
    Array.from({ length: count }, (_, i) => ({ k: ((first + i) * 7_919) % 1_000_003, n: first + i })),
    { schema: { fields: ['k', 'n'].map((name) => field(name, int32(), true)) } },
  )

const onKeys: NewIndex = { column: 'k', type: 'BTREE', parameters: {}, uuid: '1', createdAt: 0 }

/** A content that tells what is read, and that can spoil objects. */
function watched(content: Content) {
  const reads: { readonly path: string; readonly bytes: number }[] = []
  let spoil: ((path: string, bytes: Uint8Array | undefined) => Uint8Array | undefined) | undefined
  const get = async (path: string, range?: ByteRange) => {
    const whole = await content.get(path)
    const bytes = spoil ? spoil(path, whole?.slice()) : whole
    const found = range ? bytes?.subarray(range.start, range.end) : bytes
    reads.push({ path, bytes: found?.length ?? 0 })
    return found
  }
  const over: Content = {
    ...content,
    put: (...args) => content.put(...args),
    list: (prefix) => content.list(prefix),
    remove: (at) => content.remove(at),
    get,
    // With so few rows, whole columns would be read from a disk.
    readCost: 512,
  }
  return {
    content: over,
    reads,
    spoilWith: (how: typeof spoil) => {
      spoil = how
    },
  }
}

const fragment = 40_000

/** A table of three fragments with an index, and what is read of it. */
async function indexed(options: Partial<EngineOptions> = {}) {
  const { content, ...watching } = watched(memoryContent())
  const engine = tableEngine({ content, fragmentRows: fragment, cacheBytes: 0, ...options })
  const plain = await engine.create('t', await rowsOf(0, 3 * fragment))
  const { snapshot } = await engine.createIndices([onKeys]).apply(plain)
  watching.reads.length = 0
  return { content, engine, plain, snapshot, ...watching }
}

async function coverage(engine: TableEngine, snapshot: Snapshot) {
  const [found] = await engine.coverageOf(snapshot, engine.indicesOf(snapshot))
  return [found!.indexedRows, found!.unindexedRows]
}

const entriesOf = (snapshot: Snapshot) => (snapshot as LoadedSnapshot).body.tail
const indexesIn = (snapshot: Snapshot) => entriesOf(snapshot).map(({ indexes = [] }) => indexes.length)
const keyOf = (n: number) => (n * 7_919) % 1_000_003

async function reached(engine: TableEngine, snapshot: Snapshot): Promise<string[]> {
  const paths: string[] = []
  for await (const path of engine.reachable(snapshot.prefix, [snapshot.manifest])) paths.push(path)
  return paths
}

test('a value is found in a few blocks, whatever asks for it', async () => {
  const { engine, plain, snapshot, reads } = await indexed()
  const bytesFor = async (work: () => Promise<unknown>) => {
    reads.length = 0
    await work()
    return reads.reduce((sum, { bytes }) => sum + bytes, 0)
  }
  const one = `k = ${keyOf(50_000)}`
  const ten = `k IN (${Array.from({ length: 10 }, (_, i) => keyOf(i * 11_000)).join()}) AND n >= 0`
  const source = await rowsOf(7, 1)
  const merge = { on: ['k'], matched: 'update', inserts: true, orphans: 'keep' } as const
  for (const ask of [
    (base: Snapshot) => engine.countRows(base, { predicate: one }),
    (base: Snapshot) => engine.countRows(base, { predicate: ten }),
    (base: Snapshot) => engine.queryRows(base, { filter: one }),
    (base: Snapshot) => engine.queryRows(base, { filter: one, limit: 1 }),
    (base: Snapshot) => engine.deleteRows(one).apply(base),
    async (base: Snapshot) =>
      (await engine.updateRows(base, { updates: [['n', '0']], predicate: one })).apply(base),
    async (base: Snapshot) => (await engine.mergeRows(base, source, merge)).apply(base),
  ]) {
    const [fast, slow] = [await bytesFor(() => ask(snapshot)), await bytesFor(() => ask(plain))]
    expect(fast).toBeLessThan(slow / 2)
  }
})

test('an index that is asked often is kept in the cache, and nothing is read of fragments without the value', async () => {
  const { engine, snapshot, reads } = await indexed({ cacheBytes: 1 << 26 })
  for (let i = 0; i < 200; i++) await engine.countRows(snapshot, { predicate: `k = ${keyOf(i)}` })
  reads.length = 0
  expect(await engine.countRows(snapshot, { predicate: `k = ${keyOf(99_999)}` })).toBe(1)
  const fragments = entriesOf(snapshot).map(({ path }) => `t/${path}`)
  const read = new Set(reads.map(({ path }) => path))
  expect(fragments.filter((path) => read.has(path))).toEqual([fragments[2]])
  expect([...read].filter(isIndexObject)).toEqual([])
})

test('rows that were added are scanned until the table is optimized, and small fragments count as indexed', async () => {
  const { engine, snapshot } = await indexed()
  expect(await coverage(engine, snapshot)).toEqual([3 * fragment, 0])
  const add = async (base: Snapshot, first: number, count: number) => {
    const insert = await engine.insertRows(base, await rowsOf(first, count))
    return (await insert.apply(base)).snapshot
  }
  let now = await add(snapshot, 200_000, 30_000)
  expect(await coverage(engine, now)).toEqual([3 * fragment, 30_000])
  now = await add(now, 300_000, 4_000)
  expect(await coverage(engine, now)).toEqual([3 * fragment + 4_000, 30_000])
  now = (await engine.deleteRows('n % 2 = 1').apply(now)).snapshot
  expect(await coverage(engine, now)).toEqual([1.5 * fragment + 2_000, 15_000])
  expect(indexesIn(now)).toEqual([1, 1, 1, 0, 0])
  expect(await engine.isOptimized(now)).toBe(false)
  now = (await (await engine.optimizeRows(now)).apply(now)).snapshot
  expect(await coverage(engine, now)).toEqual([1.5 * fragment + 17_000, 0])
  expect(await engine.isOptimized(now)).toBe(true)
  expect(await engine.countRows(now, { predicate: `k = ${keyOf(200_004)}` })).toBe(1)
})

test('optimizing writes only what is missing where nothing is to be merged', async () => {
  const { engine, plain } = await indexed()
  const insert = await engine.insertRows(plain, await rowsOf(200_000, fragment))
  const indexedFirst = (await engine.createIndices([onKeys]).apply(plain)).snapshot
  const grown = (await insert.apply(indexedFirst)).snapshot
  expect(indexesIn(grown)).toEqual([1, 1, 1, 0])
  const { snapshot, affected } = await (await engine.optimizeRows(grown)).apply(grown)
  expect(affected).toBe(0)
  expect(indexesIn(snapshot)).toEqual([1, 1, 1, 1])
  expect(entriesOf(snapshot).map(({ path }) => path)).toEqual(entriesOf(grown).map(({ path }) => path))
  const dropped = (await engine.dropIndex('k_idx').apply(snapshot)).snapshot
  expect(indexesIn(dropped)).toEqual([0, 0, 0, 0])
  expect((await reached(engine, dropped)).filter(isIndexObject)).toEqual([])
})

const spoils: Readonly<Record<string, (bytes: Uint8Array | undefined) => Uint8Array | undefined>> = {
  missing: () => undefined,
  'cut off': (bytes) => bytes?.subarray(0, bytes.length >> 1),
  empty: () => new Uint8Array(0),
  damaged: (bytes) => {
    for (let i = 0; bytes && i < bytes.length; i += 3) bytes[i]! ^= 255
    return bytes
  },
}

test.each(Object.keys(spoils))('an index that is %s is reported, and rows are scanned', async (how) => {
  for (const cacheBytes of [0, 1 << 26]) {
    const { engine, plain, snapshot, spoilWith } = await indexed({ cacheBytes })
    spoilWith((path, bytes) => (isIndexObject(path) ? spoils[how]!(bytes) : bytes))
    const query = { filter: `k IN (${keyOf(5)}, ${keyOf(70_000)}, 1)` }
    expect(await engine.queryRows(snapshot, query)).toEqual(await engine.queryRows(plain, query))
    const { affected } = await engine.deleteRows(`k = ${keyOf(5)}`).apply(snapshot)
    expect(affected).toBe(1)
    const problems: string[] = []
    for await (const { path, problem } of engine.check('t', [snapshot.manifest])) {
      if (problem) problems.push(path)
    }
    expect(problems).toEqual((await reached(engine, snapshot)).filter(isIndexObject))
    expect(problems.length).toBeGreaterThan(0)
  }
})

test.each(Object.keys(spoils))('an index that is %s is written anew by optimizing', async (how) => {
  const { engine, snapshot, spoilWith, reads } = await indexed()
  expect(await engine.brokenIndexes(snapshot)).toEqual(new Set())
  const spoiled = (await reached(engine, snapshot)).filter(isIndexObject)
  spoilWith((path, bytes) => (spoiled.includes(path) ? spoils[how]!(bytes) : bytes))
  const broken = await engine.brokenIndexes(snapshot)
  expect([...broken].map((path) => `t/${path}`)).toEqual(spoiled)
  expect(await engine.isOptimized(snapshot)).toBe(true)
  expect(await engine.isOptimized(snapshot, { broken })).toBe(false)
  const optimization = await engine.optimizeRows(snapshot, { broken })
  // Others insert and delete meanwhile.
  const insert = await engine.insertRows(snapshot, await rowsOf(200_000, 5_000))
  const grown = (await insert.apply(snapshot)).snapshot
  const base = (await engine.deleteRows('n < 5').apply(grown)).snapshot
  const { snapshot: mended, affected } = await optimization.apply(base)
  expect(affected).toBe(0)
  expect(indexesIn(mended)).toEqual([1, 1, 1, 0])
  expect(await coverage(engine, mended)).toEqual([3 * fragment - 5, 5_000])
  expect(await engine.brokenIndexes(mended)).toEqual(new Set())
  const fresh = (await reached(engine, mended)).filter(isIndexObject)
  expect(fresh.filter((path) => spoiled.includes(path))).toEqual([])
  for (const n of [2, 7, 70_000, 119_999, 200_001]) {
    reads.length = 0
    expect(await engine.countRows(mended, { predicate: `k = ${keyOf(n)}` })).toBe(n < 5 ? 0 : 1)
    expect(reads.some(({ path }) => fresh.includes(path))).toBe(true)
  }
  for await (const { path, problem } of engine.check('t', [mended.manifest]))
    expect([path, problem?.message]).toEqual([path, undefined])
})

test('an index of rows that are damaged, too, is left out', async () => {
  const { engine, snapshot, spoilWith } = await indexed()
  const [first] = entriesOf(snapshot)
  spoilWith((path, bytes) =>
    isIndexObject(path) || path === `t/${first!.path}` ? spoils.damaged!(bytes) : bytes,
  )
  const broken = await engine.brokenIndexes(snapshot)
  const { snapshot: mended } = await (await engine.optimizeRows(snapshot, { broken })).apply(snapshot)
  expect(indexesIn(mended)).toEqual([0, 1, 1])
})

test('clones share the files of indexes, and copies have their own, unless they are damaged', async () => {
  const { content, engine, snapshot, reads, spoilWith } = await indexed()
  const clone = await engine.shareRows('clone', snapshot)
  const files = (paths: readonly string[]) => paths.filter(isIndexObject)
  expect(files(await reached(engine, clone))).toEqual(files(await reached(engine, snapshot)))
  const second = await engine.shareRows('far/away', clone)
  const copy = await engine.copyRows('copy', second, content)
  const own = files(await reached(engine, copy))
  expect(own.length).toBeGreaterThan(0)
  expect(own.every((path) => path.startsWith('copy/'))).toBe(true)
  for (const one of [clone, second, copy]) {
    reads.length = 0
    expect(await engine.countRows(one, { predicate: `k = ${keyOf(123)}` })).toBe(1)
    expect(reads.some(({ path }) => isIndexObject(path))).toBe(true)
    expect(await coverage(engine, one)).toEqual([3 * fragment, 0])
  }
  spoilWith((path, bytes) => (isIndexObject(path) ? undefined : bytes))
  const without = await engine.copyRows('without', snapshot, content)
  expect(files(await reached(engine, without))).toEqual([])
  expect(await coverage(engine, without)).toEqual([0, 3 * fragment])
  expect(await engine.countRows(without, { predicate: `k = ${keyOf(123)}` })).toBe(1)
})

test('an index that an older release left in a copy is no part of it', async () => {
  const { engine, snapshot } = await indexed()
  // Such a release renames the files of rows, and leaves members alone that it does not know.
  const { body } = snapshot as LoadedSnapshot
  const tail = body.tail.map((entry) => ({ ...entry, path: `../t/${entry.path}` }))
  const copy = { ...(snapshot as LoadedSnapshot), prefix: 'copy/', body: { ...body, tail } }
  expect(await engine.countRows(copy, { predicate: `k = ${keyOf(123)}` })).toBe(1)
  expect(await coverage(engine, copy)).toEqual([0, 3 * fragment])
})

test('an index is written once, also if others change the table meanwhile', async () => {
  const { engine, content, plain } = await indexed()
  const change = engine.createIndices([onKeys])
  await change.prepare(plain)
  const indexFiles = async () => {
    const found: string[] = []
    for await (const { path } of content.list('')) if (isIndexObject(path)) found.push(path)
    return found.length
  }
  const before = await indexFiles()
  const deleted = (await engine.deleteRows('n < 10').apply(plain)).snapshot
  const { snapshot } = await change.apply(deleted)
  expect(await indexFiles()).toBe(before)
  expect(indexesIn(snapshot)).toEqual([1, 1, 1])
  expect(await engine.countRows(snapshot, { predicate: `k IN (${keyOf(5)}, ${keyOf(50)})` })).toBe(1)
})

test('columns of one value in most rows are scanned', async () => {
  const { content, reads } = watched(memoryContent())
  const engine = tableEngine({ content, fragmentRows: fragment, cacheBytes: 0 })
  const rows = Array.from({ length: fragment }, (_, n) => ({ n, s: n % 1_000 === 0 ? `rare ${n}` : 'usual' }))
  const plain = await engine.create('t', await toArrowTable(rows))
  const change = engine.createIndices([{ ...onKeys, column: 's', type: 'BITMAP' }])
  const { snapshot } = await change.apply(plain)
  expect(await engine.countRows(snapshot, { predicate: "s = 'usual'" })).toBe(fragment - 40)
  reads.length = 0
  const answer = await decodeArrow(await engine.queryRows(snapshot, { filter: "s = 'rare 2000'" }))
  expect(answer.toArray()).toEqual([{ n: 2_000, s: 'rare 2000' }])
  expect(reads.some(({ path }) => isIndexObject(path))).toBe(true)
})

test('with a limit, only rows that a scan evaluates can fail', async () => {
  const engine = tableEngine({ content: memoryContent() })
  // The last of four rows with the key fails: it is in the second slice, as is the third.
  const rows = Array.from({ length: 140_000 }, (_, n) => ({
    k: n % 40_000 === 9 ? 7 : n + 100,
    n: 120_009 - n,
  }))
  const plain = await engine.create('t', await toArrowTable(rows))
  const { snapshot } = await engine.createIndices([onKeys]).apply(plain)
  for (const limit of [1, 2, 3, 4, undefined]) {
    const query = { filter: 'k = 7 AND 10 / CAST(n AS INT) >= 0', columns: ['n'], limit }
    const [fast, slow] = await Promise.allSettled([
      engine.queryRows(snapshot, query),
      engine.queryRows(plain, query),
    ])
    expect(fast).toEqual(slow)
    expect(fast!.status).toBe((limit ?? 4) < 3 ? 'fulfilled' : 'rejected')
  }
})

test('indexes of an optimization fit a later version, with rows deleted and columns renamed since', async () => {
  const { engine, snapshot } = await indexed()
  let now = snapshot
  for (let i = 0; i < 3; i++) {
    const insert = await engine.insertRows(now, await rowsOf(200_000 + i * 10_000, 10_000))
    now = (await insert.apply(now)).snapshot
  }
  now = (await engine.addColumns([{ name: 'more', expression: 'n * 2' }]).apply(now)).snapshot
  const optimization = await engine.optimizeRows(now)
  now = (await engine.deleteRows('n % 10 = 0').apply(now)).snapshot
  now = (await engine.alterColumns([{ path: 'k', rename: 'key' }]).apply(now)).snapshot
  const { snapshot: optimized } = await optimization.apply(now)
  expect(indexesIn(optimized)).toEqual([1, 1, 1, 1])
  const { body } = optimized as LoadedSnapshot
  const plain = { ...(optimized as LoadedSnapshot), body: { ...body, indices: [] } }
  for (const n of [200_000, 200_001, 225_555, 5, 10]) {
    const query = { filter: `key = ${keyOf(n)}`, withRowId: true }
    expect(await engine.queryRows(optimized, query)).toEqual(await engine.queryRows(plain, query))
    expect(await engine.countRows(optimized, { predicate: query.filter })).toBe(n % 10 === 0 ? 0 : 1)
  }
})
