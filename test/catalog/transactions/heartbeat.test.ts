import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Store } from '../../../src/base/store/store.ts'
import { Heartbeat, type Holding } from '../../../src/catalog/transactions/heartbeat.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { followGlobalTime } from '../../support/global-time.ts'

const second = 1_000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  followGlobalTime()
})
afterEach(() => {
  vi.useRealTimers()
})

function started() {
  const store = memoryStore()
  const clock = { now: 1_000_000 }
  const seen: string[] = []
  const broken = { reads: false }
  const counting: Store = {
    features: store.features,
    read: async (body) => {
      seen.push('read')
      if (broken.reads) throw new Error('no store')
      return store.read(body)
    },
    write: (body) => {
      seen.push('write')
      return store.write(body)
    },
    close: () => store.close(),
  }
  const heartbeat = new Heartbeat(counting, () => clock.now)
  const lost: (string | undefined)[] = []
  const hold = async (name: string) => {
    const holding: Holding<{ until: number; by?: string }> = {
      key: ['x', name],
      leaseOf: ({ until, by }, now) => (until >= now && by === undefined ? until : undefined),
      renewed: (record, until) => ({ ...record, until }),
      lost: (record) => lost.push(record === undefined ? undefined : `${name} ${record.by}`),
    }
    await store.write((writer) => writer.put(holding.key, { until: clock.now + 60 * second }))
    heartbeat.hold(holding)
    return holding
  }
  const pass = async (seconds: number) => {
    for (let n = 0; n < seconds; n++) {
      clock.now += second
      await vi.advanceTimersByTimeAsync(second)
    }
  }
  const until = (name: string) => store.read((reader) => reader.get<{ until: number }>(['x', name])?.until)
  return { store, clock, seen, broken, heartbeat, lost, hold, pass, until }
}

it('renews all leases with one change of the store, and looks at all records with one read a second', async () => {
  const { clock, seen, lost, hold, pass, until } = started()
  for (let n = 0; n < 50; n++) {
    if (n % 10 === 0) await pass(1)
    await hold(String(n))
  }
  seen.length = 0
  const began = clock.now
  await pass(300)
  expect(seen.filter((what) => what === 'read')).toHaveLength(300)
  const writes = seen.filter((what) => what === 'write').length
  expect(writes).toBeGreaterThanOrEqual(10)
  expect(writes).toBeLessThanOrEqual(15)
  for (let n = 0; n < 50; n++) expect(await until(String(n))).toBeGreaterThan(began + 330 * second)
  expect(lost).toEqual([])
})

it('tells once what was taken or is gone, and goes on with the rest', async () => {
  const { store, lost, hold, pass, until, clock } = started()
  for (const name of ['a', 'b', 'c']) await hold(name)
  await pass(2)
  await store.write((writer) => {
    writer.put(['x', 'a'], { until: clock.now, by: 'another' })
    writer.remove(['x', 'b'])
  })
  await pass(100)
  expect(lost).toEqual(['a another', undefined])
  expect(await store.read((reader) => reader.get(['x', 'a']))).toMatchObject({ by: 'another' })
  expect(await until('b')).toBeUndefined()
  expect(await until('c')).toBeGreaterThan(clock.now)
})

it('costs nothing for what is released within a second, and nothing while nothing is held', async () => {
  const { seen, heartbeat, hold, pass } = started()
  for (let n = 0; n < 5; n++) {
    const holding = await hold('short')
    heartbeat.release(holding)
    await pass(1)
  }
  await pass(100)
  expect(seen).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})

it('does not renew a lease that has ended', async () => {
  const { clock, lost, hold, pass, until } = started()
  await hold('a')
  await pass(2)
  clock.now += 61 * second
  const ended = await until('a')
  await pass(1)
  expect(lost).toEqual(['a undefined'])
  expect(await until('a')).toBe(ended)
})

it('tries again while the store fails', async () => {
  const { clock, broken, lost, hold, pass, until } = started()
  await hold('a')
  broken.reads = true
  await pass(50)
  broken.reads = false
  await pass(1)
  expect(lost).toEqual([])
  expect(await until('a')).toBe(clock.now + 60 * second)
})
