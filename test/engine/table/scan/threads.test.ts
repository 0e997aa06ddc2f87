import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import * as fc from 'fast-check'
import { beforeAll, expect, test, vi } from 'vitest'
import { type Snapshot, toArrowTable } from '../../../../src/engine/table/index.ts'
import { ScanPool } from '../../../../src/engine/table/scan/pool.ts'
import { ByteCache } from '../../../../src/engine/table/storage/cache.ts'
import { limitEach } from '../../../support/time-limit.ts'
import { enginesWith } from './engines.ts'

// It starts threads, and ends some in their work.
limitEach(60)

/*
 * What worker threads find is what one thread finds: the same counts, rows and errors.
 */

let table: Snapshot
let now = 0
const { folder, engine, threaded, single } = await enginesWith({ fragmentRows: 128, now: () => now })

beforeAll(async () => {
  const rows = Array.from({ length: 2000 }, (_, i) => ({
    n: i % 11 === 5 ? null : i,
    m: (i * 7) % 13,
    s: `name ${i % 97}`,
    place: { city: i % 3 === 0 ? 'Oslo' : null },
    tags: [i % 5, i % 7],
  }))
  table = await single.create('t', await toArrowTable(rows))
  table = (await single.deleteRows('n % 19 = 3').apply(table)).snapshot
})

const atom = fc.oneof(
  fc.integer({ min: -1, max: 2001 }).map((n) => `n < ${n}`),
  fc.integer({ min: 0, max: 13 }).map((n) => `m = ${n}`),
  fc.integer({ min: 0, max: 99 }).map((n) => `s LIKE 'name ${n}%'`),
  fc.constantFrom('_rowid % 3 = 1', '_rowoffset BETWEEN 100 AND 700', '_rowid IN (5, 700)'),
  fc.constantFrom("place.city = 'Oslo'", 'n IS NULL', 'array_has(tags, 3)', 'length(s) > 6', 'true', 'false'),
)
const predicate = fc
  .tuple(atom, fc.constantFrom('AND', 'OR', 'AND NOT'), atom)
  .map(([a, operator, b]) => `${a} ${operator} ${b}`)

test('threads are started once that is worth it, and share in the bytes of the cache', async () => {
  const cache = new ByteCache(1000)
  const pool = new ScanPool({ threads: 1, minRows: 0, startAfter: 10 }, cache)
  await pool.enter()
  pool.spend(9)
  expect(pool.ready).toHaveLength(0)
  expect(cache.limit).toBe(1000)
  pool.spend(1)
  await vi.waitUntil(() => pool.ready.length > 0, { timeout: 15_000, interval: 5 })
  expect(pool.ready).toHaveLength(1)
  expect(cache.limit).toBe(250)
  await pool.close()
  expect(pool.ready).toHaveLength(0)

  const early = new ScanPool({ threads: 1, minRows: 0, startAfter: 10 }, cache)
  early.spend(10)
  await early.close()
  expect(early.ready).toHaveLength(0)
  expect(cache.limit).toBe(250)
})

test('threads count, read and delete what one thread does', async () => {
  await fc.assert(
    fc.asyncProperty(predicate, async (predicate) => {
      const count = await single.countRows(table, { predicate })
      expect(await threaded.countRows(table, { predicate })).toBe(count)
      const [read, expected] = await Promise.all(
        [threaded, single].map((engine) =>
          engine.queryRows(table, { filter: predicate, columns: ['n', 's'] }),
        ),
      )
      expect(Buffer.compare(read!, expected!)).toBe(0)
      if (predicate.includes('_rowoffset')) {
        const refused = { code: 'Unsupported', message: expect.stringContaining('_rowoffset') }
        await expect(threaded.deleteRows(predicate).apply(table)).rejects.toMatchObject(refused)
        return
      }
      const { affected, snapshot } = await threaded.deleteRows(predicate).apply(table)
      expect(affected).toBe(count)
      expect(snapshot.rows).toBe(table.rows - count)
      expect(await threaded.countRows(snapshot, { predicate })).toBe(0)
      expect(await single.countRows(snapshot, { predicate: 'true' })).toBe(table.rows - count)
    }),
    { numRuns: 12 },
  )
})

test('the time in a predicate is that of the count, in every thread', async () => {
  const rows = Array.from({ length: 1000 }, (_, i) => ({ at: new Date(i * 1000) }))
  const timed = await single.create('timed', await toArrowTable(rows))
  for (const [time, count] of [
    [5_000, 5],
    [500_000, 500],
    [777, 1],
  ] as const) {
    now = time
    expect(await threaded.countRows(timed, { predicate: 'at < now()' })).toBe(count)
    expect(await single.countRows(timed, { predicate: 'at < now()' })).toBe(count)
  }
})

test('a row that makes a predicate fail gives the same error, also if it is in a later fragment', async () => {
  const failing = [
    '10 / (CAST(n AS INT) - 1500) > 1',
    'CAST(s AS INT) + 1 = 1',
    'n > 1900 AND 1 % CAST(m AS INT) = 0',
  ]
  for (const predicate of failing) {
    const error = await single.countRows(table, { predicate }).catch((error) => error)
    expect(error.code).toBe('InvalidInput')
    const expected = { code: error.code, message: error.message }
    await expect(threaded.countRows(table, { predicate })).rejects.toMatchObject(expected)
    await expect(threaded.queryRows(table, { filter: predicate })).rejects.toMatchObject(expected)
    await expect(threaded.deleteRows(predicate).apply(table)).rejects.toMatchObject(expected)
  }
})

test('a damaged file is named as one thread names it', async () => {
  const fresh = await single.create(
    'damaged',
    await toArrowTable(Array.from({ length: 500 }, (_, n) => ({ n }))),
  )
  for (const name of await readdir(join(folder, 'damaged/data'))) {
    await writeFile(join(folder, 'damaged/data', name), 'gone')
  }
  const error = await engine(0)
    .countRows(fresh, { predicate: 'n % 2 = 0' })
    .catch((error) => error)
  expect(error.code).toBe('InvalidTableState')
  // Which part of a file is read first is left to chance.
  const file = /"damaged\/data\/[^"]+" is cut off/.exec(error.message)![0]
  const found = await threaded.countRows(fresh, { predicate: 'n % 2 = 0' }).catch((error) => error)
  expect(found).toMatchObject({ code: 'InvalidTableState', message: expect.stringContaining(file) })
})

test('progress grows to all rows, and a signal stops the work with its reason', async () => {
  const seen: number[] = []
  const total = table.rows + table.deletedRows
  await threaded.countRows(table, {
    predicate: 'm % 5 = 1',
    onProgress: ({ rowsDone, rowsTotal }) => {
      expect(rowsTotal).toBe(total)
      seen.push(rowsDone)
    },
  })
  expect(seen).toEqual(seen.toSorted((a, b) => a - b))
  expect(seen.length).toBeGreaterThan(3)
  expect(seen.at(-1)).toBe(total)

  const reason = new Error('enough')
  const abort = new AbortController()
  const stopped = threaded.countRows(table, {
    predicate: 'm % 7 = 1',
    signal: abort.signal,
    onProgress: () => abort.abort(reason),
  })
  await expect(stopped).rejects.toBe(reason)
  expect(await threaded.countRows(table, { predicate: 'm = 1' })).toBe(
    await single.countRows(table, { predicate: 'm = 1' }),
  )
})

test.each([
  ['threads', () => threaded],
  ['this thread', () => single],
])('a predicate that takes long holds up nothing else on %s, and is aborted', async (_, on) => {
  // Some ten seconds of work, none of which is for one row.
  const predicate = 'levenshtein(repeat(s, 800), repeat(s, 799)) < 0'
  const abort = new AbortController()
  let isOver = false
  const work = on().countRows(table, { predicate, signal: abort.signal })
  work
    .catch(() => {})
    .finally(() => {
      isOver = true
    })
  expect(await on().countRows(table, { predicate: 'm = 1' })).toBeGreaterThan(0)
  for (let turn = 0; turn < 20; turn++) await setImmediate()
  expect(isOver).toBe(false)
  const reason = new Error('enough')
  abort.abort(reason)
  await expect(work).rejects.toBe(reason)
  expect(await on().countRows(table, { predicate: 'm = 2' })).toBeGreaterThan(0)
})

test('what is under way when threads end is finished without them', async () => {
  const closing = engine(1)
  const expected = await single.countRows(table, { predicate: 'm % 3 = 1' })
  expect(await closing.countRows(table, { predicate: 'm % 3 = 1' })).toBe(expected)
  const counts = Array.from({ length: 5 }, () => closing.countRows(table, { predicate: 'm % 3 = 1' }))
  await closing.close()
  expect(await Promise.all(counts)).toEqual(counts.map(() => expected))
  expect(await closing.countRows(table, { predicate: 'm % 3 = 1' })).toBe(expected)
})
