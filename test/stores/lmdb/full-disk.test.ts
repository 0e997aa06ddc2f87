import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { CatalogError } from '../../../src/base/errors.ts'
import { type LmdbStore, openLmdbStore } from '../../../src/stores/lmdb/index.ts'
import { acquire, release } from '../../../src/stores/lmdb/registry.ts'
import { type SmallDisk, smallDisk } from '../../contents/small-disk.ts'
import { turns } from '../../support/turns.ts'
import { temporaryDirectory } from '../places.ts'

let disk: SmallDisk | undefined
const unhandled = vi.fn()
afterEach(() => {
  vi.restoreAllMocks()
  process.off('unhandledRejection', unhandled)
  disk?.unmount()
  disk = undefined
})

/** LMDB reports to the console what it reports to the caller as well. */
const quiet = () => vi.spyOn(console, 'error').mockImplementation(() => {})

/** Two records that must come and go together. */
const pair = (store: LmdbStore, i: number, bytes: number) =>
  store.write((tx) => {
    tx.put(['first', i], 'x'.repeat(bytes))
    tx.put(['second', i], i)
  })

const count = (store: LmdbStore) =>
  store.read((tx) => [
    [...tx.range({ prefix: ['first'] })].length,
    [...tx.range({ prefix: ['second'] })].length,
  ])

test('a full disk refuses writes, keeps nothing of them, and reading goes on', async (ctx) => {
  const mounted = smallDisk(2 << 20)
  if ('reason' in mounted) return ctx.skip(mounted.reason)
  disk = mounted
  quiet()
  process.on('unhandledRejection', unhandled)
  const directory = join(disk.path, 'catalog')
  let store = await openLmdbStore(directory)
  const somethingElse = join(disk.path, 'something else')
  await writeFile(somethingElse, Buffer.alloc(400_000))

  let written = 0
  const refusals: CatalogError[] = []
  for (let next = 0; refusals.length < 3 * 64 && next < 64 * 200; next += 64) {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 64 }, (_, i) => pair(store, next + i, 400)),
    )
    for (const outcome of outcomes) {
      if (outcome.status === 'fulfilled') written++
      else refusals.push(outcome.reason as CatalogError)
    }
    expect(await count(store)).toEqual([written, written])
  }
  expect(written).toBeGreaterThan(500)
  expect(refusals.length).toBeGreaterThanOrEqual(3 * 64)
  for (const refusal of refusals) {
    expect(refusal).toBeInstanceOf(CatalogError)
    expect(refusal.code).toBe('ServiceUnavailable')
    expect(refusal.message).toMatch(/the disk is full, nothing of the change was kept\. Free some space/)
    expect(refusal.cause).toBeInstanceOf(Error)
  }

  // So is a large one.
  await expect(
    store.write((tx) => {
      for (let i = 0; i < 30_000; i++) tx.put(['first', 'large', i], 'x'.repeat(400))
    }),
  ).rejects.toMatchObject({ code: 'ServiceUnavailable' })
  expect(await count(store)).toEqual([written, written])

  // It can be closed, opened and read with the disk still full, and goes on once there is space.
  await store.close()
  store = await openLmdbStore(directory)
  expect(await count(store)).toEqual([written, written])
  await expect(pair(store, 1_000_000, 400_000)).rejects.toMatchObject({ code: 'ServiceUnavailable' })
  await rm(somethingElse)
  await pair(store, 1_000_000, 100_000)
  expect(await count(store)).toEqual([written + 1, written + 1])
  await store.close()
  // Nothing may come of it. A rejection is reported at the end of a turn of the event loop.
  await turns()
  expect(unhandled).not.toHaveBeenCalled()
})

test('a catalog that does not fit on the disk is not opened', async (ctx) => {
  const mounted = smallDisk(64 << 10)
  if ('reason' in mounted) return ctx.skip(mounted.reason)
  disk = mounted
  await expect(openLmdbStore(join(disk.path, 'catalog'))).rejects.toMatchObject({
    code: 'ServiceUnavailable',
    message: expect.stringContaining('the disk is full'),
  })
})

test('a copy that does not fit on the disk says so', async (ctx) => {
  const mounted = smallDisk(64 << 10)
  if ('reason' in mounted) return ctx.skip(mounted.reason)
  disk = mounted
  const directory = await temporaryDirectory()
  const store = await openLmdbStore(directory)
  await pair(store, 0, 200_000)
  await expect(store.copyTo!(disk.path)).rejects.toMatchObject({
    code: 'ServiceUnavailable',
    message: expect.stringContaining('the disk is full'),
  })
  await store.close()
  await rm(directory, { recursive: true })
})

test('a store outgrows the map it began with', async () => {
  const directory = await temporaryDirectory()
  const store = await openLmdbStore(directory, { mapSize: 1 << 16 })
  await store.write((tx) => {
    for (let i = 0; i < 5000; i++) tx.put(['n', i], 'x'.repeat(300))
  })
  expect(await store.read((tx) => [...tx.range({ prefix: ['n'] })].length)).toBe(5000)
  await store.close()
  await rm(directory, { recursive: true })
})

test('a body that swallows a failed change commits nothing', async () => {
  const directory = await temporaryDirectory()
  const store = await openLmdbStore(directory)
  const environment = await acquire(directory, {})
  vi.spyOn(environment.db, 'put').mockImplementationOnce(() => {
    throw Object.assign(new Error('MDB_MAP_FULL'), { code: -30792 })
  })
  const attempt = store.write((tx) => {
    try {
      tx.put(['a'], 1)
    } catch {}
    try {
      tx.put(['b'], 1)
    } catch {}
  })
  await expect(attempt).rejects.toMatchObject({
    code: 'ServiceUnavailable',
    message: expect.stringContaining('mapSize'),
  })
  expect(await store.read((tx) => [...tx.range({})])).toEqual([])
  await store.write((tx) => tx.put(['c'], 1))
  expect(await store.read((tx) => [...tx.range({})])).toEqual([{ key: ['c'], value: 1 }])
  await release(environment)
  await store.close()
  await rm(directory, { recursive: true })
})
