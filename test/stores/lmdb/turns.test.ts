import { mkdir, readFile, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { FileLock } from '../../../src/stores/lmdb/file-lock.ts'
import { openLmdbStore } from '../../../src/stores/lmdb/index.ts'
import { StoreLock } from '../../../src/stores/lmdb/store-lock.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { scriptPath } from '../../support/scripts.ts'
import { limitEach } from '../../support/time-limit.ts'
import { startChild } from '../children/child.ts'

// Processes take turns with one store, and end in the midst of their work.
limitEach(60)

let directory: string
beforeEach(async () => {
  directory = await freshFolder()
})

const keysOf = async () => {
  const store = await openLmdbStore(directory, { busyTimeout: 5000 })
  try {
    return await store.read((reader) => Array.from(reader.range({}), ({ key }) => key[0]))
  } finally {
    await store.close()
  }
}

describe('a process that is stopped', () => {
  test('with the lock in its hands is named to those who write, open and close, and nothing is lost', async () => {
    const open = await openLmdbStore(directory, { busyTimeout: 300 })
    await open.write((writer) => writer.put(['before'], 1))
    const child = startChild('test/stores/children/hold-store.ts', directory, 'writing')
    await child.printed(2)

    const refused = {
      code: 'ServiceUnavailable',
      message: expect.stringMatching(
        process.platform === 'linux' ? `process ${child.process.pid} .*which is stopped` : 'lock',
      ),
    }
    await expect(open.write((writer) => writer.put(['refused'], 1))).rejects.toMatchObject(refused)
    // Reading goes on.
    expect(await open.read((reader) => reader.get(['before']))).toBe(1)
    await expect(open.close()).rejects.toMatchObject(refused)

    child.process.kill('SIGCONT')
    expect(await child.ended).toBe(0)
    // What could not be closed is what is opened next.
    expect(await keysOf()).toEqual(['before', 'writing'])
  })

  test('while it waits does not hold up those behind it', async () => {
    const holder = startChild('test/stores/children/hold-store.ts', directory, 'writing')
    await holder.printed(2)
    const waiter = startChild('test/stores/children/hold-store.ts', directory, 'waiting')
    const lock = new StoreLock(new FileLock(join(directory, 'catalog.lock')))
    onTestFinished(() => lock.close())
    await expect.poll(() => lock.isWanted(), { interval: 1 }).toBe(true)
    waiter.process.kill('SIGSTOP')
    holder.process.kill('SIGCONT')
    expect(await holder.ended).toBe(0)
    expect(await keysOf()).toEqual(['writing'])
    waiter.process.kill('SIGCONT')
    expect(await waiter.ended).toBe(0)
    expect(await keysOf()).toEqual(['waiting', 'writing'])
  })
})

describe('a process that ends without closing', () => {
  test.each([
    ['exit', 0],
    ['exit', 24],
    ['throw', 0],
    ['throw', 24],
    ['idle', 0],
    ['thread', 0],
  ])('keeps what it acknowledged, and ends (%s, %i writes under way)', async (way, inFlight) => {
    const beside = await openLmdbStore(directory)
    for (let round = 0; round < 3; round++) {
      const child = startChild('test/stores/children/end-early.ts', directory, way, inFlight)
      const code = await child.ended
      // Undefined: it was killed, by itself.
      expect([way === 'throw' ? 1 : 0, ...(inFlight > 0 ? [undefined] : [])]).toContain(code)
      const told = child.lines()
      expect(told.length).toBeGreaterThan(0)
      const found = new Set(await keysOf())
      expect(told.filter((name) => !found.has(name))).toEqual([])
      await beside.write((writer) => writer.put(['beside', round], 1))
    }
    await beside.close()
  })
})

test('a thread may write while another one of its process has the store open for reading', async () => {
  await (await openLmdbStore(directory)).close()
  const reading = await openLmdbStore(directory, { readOnly: true })
  const worker = new Worker(scriptPath('test/stores/children/increment.ts'), { argv: [directory, '10', '2'] })
  await new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject))
  expect(await reading.read((reader) => reader.get(['counter', 'a']))).toBe(10)
  await reading.close()
})

test('threads of one process share a store with each other and with other processes', async () => {
  const script = scriptPath('test/stores/children/increment.ts')
  const [threads, times] = [3, 300]
  const other = startChild('test/stores/children/increment.ts', directory, times, 8)
  const codes = Array.from({ length: threads }, () => {
    const worker = new Worker(script, { argv: [directory, String(times), '8'] })
    return new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject))
  })
  expect(await Promise.all(codes)).toEqual(Array(threads).fill(0))
  expect(await other.ended).toBe(0)
  const store = await openLmdbStore(directory)
  const total = (threads + 1) * times
  expect(await store.read((reader) => reader.get(['counter', 'a']))).toBe(total)
  expect(await store.read((reader) => [...reader.range({ prefix: ['log'] })].length)).toBe(total)
  await store.close()
})

test('a data file whose maker was killed after its first page is made anew', async () => {
  await (await openLmdbStore(directory)).close()
  const path = join(directory, 'catalog.mdb')
  const page = (await readFile(path)).readUInt32LE(48)
  await truncate(path, page)
  await expect(openLmdbStore(directory, { readOnly: true })).rejects.toMatchObject({ code: 'InvalidInput' })
  const store = await openLmdbStore(directory)
  await store.write((writer) => writer.put(['a'], 1))
  await store.close()
  // A directory in which there is more held a catalog once.
  await truncate(path, page)
  await mkdir(join(directory, 'tables'))
  await expect(openLmdbStore(directory)).rejects.toMatchObject({ code: 'InvalidInput' })
})

test.runIf(process.platform === 'linux')('a process that takes no turns keeps others out', async () => {
  const child = startChild('test/stores/children/hold-unlocked.ts', directory)
  await child.printed(1)
  await expect(openLmdbStore(directory)).rejects.toMatchObject({
    code: 'Unsupported',
    message: expect.stringContaining('older release'),
  })
  child.process.stdin!.end()
  expect(await child.ended).toBe(0)
  expect(await keysOf()).toEqual(['old'])
})
