import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DiskSpace } from '../../../src/stores/lmdb/disk-space.ts'
import { FileLock } from '../../../src/stores/lmdb/file-lock.ts'
import { StoreLock } from '../../../src/stores/lmdb/store-lock.ts'
import { WriteLock } from '../../../src/stores/lmdb/write-lock.ts'
import { temporaryDirectory } from '../../support/folders.ts'

let directory: string
const locks: StoreLock[] = []
beforeEach(async () => {
  directory = await temporaryDirectory()
})
afterEach(async () => {
  for (const lock of locks.splice(0)) lock.close()
  await rm(directory, { recursive: true })
})

/** As files are locked on Linux and Windows, and as on macOS. */
describe.each([
  ['by ranges', true],
  ['by whole files', false],
])('locked %s', (_, hasRanges) => {
  const open = () => {
    const lock = new StoreLock(new FileLock(join(directory, 'catalog.lock'), { hasRanges }))
    locks.push(lock)
    return lock
  }

  test('one has it at a time, and the next one when it is released or closed', async () => {
    const [one, two, three] = [open(), open(), open()]
    expect(one.tryAcquire()).toBe(true)
    expect(two.tryAcquire()).toBe(false)
    one.release()
    expect(two.tryAcquire()).toBe(true)
    const waiting = three.acquire(5000)
    await expect.poll(() => one.isWanted(), { interval: 1 }).toBe(true)
    two.close()
    await waiting
    expect(one.tryAcquire()).toBe(false)
    three.release()
    expect(one.tryAcquire()).toBe(true)
  })

  test('never do two have it, and each gets it', async () => {
    let holders = 0
    let turns = 0
    const each = async (lock: StoreLock) => {
      for (let i = 0; i < 30; i++) {
        await lock.acquire(10_000)
        expect(++holders).toBe(1)
        // Some hold it over turns of the event loop, and some do not.
        await (i % 3 === 0 ? sleep(1) : Promise.resolve())
        turns++
        holders--
        lock.release()
      }
    }
    await Promise.all(Array.from({ length: 8 }, () => each(open())))
    expect(turns).toBe(240)
  })

  test('a wait is bounded, names who is in the way, and leaves no place in the queue', async () => {
    const [one, two] = [open(), open()]
    expect(one.tryAcquire()).toBe(true)
    await expect(two.acquire(60)).rejects.toMatchObject({
      code: 'ServiceUnavailable',
      message: expect.stringMatching(
        process.platform === 'linux' ? `process ${process.pid} \\(.*node` : 'another container',
      ),
    })
    expect(one.isWanted()).toBe(false)
    expect(two.acquireBlocking(20)).toBe(false)
    one.release()
    expect(two.acquireBlocking(20)).toBe(true)
  })

  test('writes share one hold, and let others in between', async () => {
    const [lock, other] = [open(), open()]
    const space = new DiskSpace(directory)
    const writes = new WriteLock(lock, 5000, space)
    let isOver = false
    let written = 0
    const writer = async () => {
      while (!isOver) {
        await writes.enter()
        await new Promise((resolve) => setImmediate(resolve))
        written++
        writes.leave()
      }
    }
    const writers = Promise.all(Array.from({ length: 20 }, writer))
    for (let i = 0; i < 10; i++) {
      await other.acquire(5000)
      const before = written
      // Nothing may be written meanwhile.
      await sleep(5)
      expect(written).toBe(before)
      other.release()
      await expect.poll(() => written, { interval: 1 }).toBeGreaterThan(before)
    }
    isOver = true
    await writers
    expect(writes.writes).toBe(0)
    // The lock is kept until the end of this turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    expect(other.tryAcquire()).toBe(true)
    // All that wait are refused together, and the next one is not.
    await Promise.all(
      Array.from({ length: 3 }, () =>
        expect(new WriteLock(lock, 30, space).enter()).rejects.toMatchObject({
          code: 'ServiceUnavailable',
        }),
      ),
    )
    other.release()
    expect(writes.enter()).toBeUndefined()
  })
})

describe('the queue', () => {
  const open = () => {
    const lock = new StoreLock(new FileLock(join(directory, 'catalog.lock'), { hasRanges: true }))
    locks.push(lock)
    return lock
  }

  test('serves in the order of coming', async () => {
    const holder = open()
    expect(holder.tryAcquire()).toBe(true)
    const order: number[] = []
    const waiting: Promise<void>[] = []
    for (let i = 0; i < 6; i++) {
      const lock = open()
      waiting.push(
        lock.acquire(5000).then(() => {
          order.push(i)
          lock.release()
        }),
      )
      // So that it looks less often than whoever comes last: only the queue keeps the order then.
      await sleep(2)
    }
    holder.release()
    // Somebody who comes now waits behind them.
    expect(holder.tryAcquire()).toBe(false)
    await holder.acquire(5000)
    expect(order).toEqual([0, 1, 2, 3, 4, 5])
    await Promise.all(waiting)
  })

  test('readers that cannot be protected keep writers away while they read, and see who may write', async () => {
    const [reader, writer] = [open(), open()]
    expect(reader.tryExcludeWriters()).toBe(true)
    await expect(writer.registerWriter(30)).rejects.toMatchObject({ code: 'ServiceUnavailable' })
    let isRegistered = false
    const registering = writer.registerWriter(5000).then(() => {
      isRegistered = true
    })
    // Nothing may happen meanwhile. It looks each millisecond.
    await sleep(20)
    expect(isRegistered).toBe(false)
    reader.admitWriters()
    await registering
    expect(reader.tryExcludeWriters()).toBe(false)
    writer.close()
    expect(reader.tryExcludeWriters()).toBe(true)
  })

  test('a process of the same id in another container is refused', () => {
    const [here, there] = [open(), open()]
    here.register()
    expect(() => there.register()).toThrow(`the id ${process.pid}`)
  })
})
