import { beforeEach, expect, test } from 'vitest'
import { openLmdbStore } from '../../../src/stores/lmdb/index.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { limitEach } from '../../support/time-limit.ts'
import { startChild } from '../children/child.ts'

// It starts and kills a dozen processes.
limitEach(60)

let directory: string
beforeEach(async () => {
  directory = await freshFolder()
})

test('several processes count together and lose nothing, and no read sees half of a write', async () => {
  const [processes, times] = [3, 3000]
  const counting = Array.from({ length: processes }, () =>
    startChild('test/stores/children/increment.ts', directory, times, 32),
  )
  expect(await Promise.all(counting.map(({ ended }) => ended))).toEqual([0, 0, 0])

  const store = await openLmdbStore(directory)
  const total = processes * times
  expect(await store.read((tx) => [tx.get(['counter', 'a']), tx.get(['counter', 'b'])])).toEqual([
    total,
    total,
  ])
  const log = await store.read((tx) => [...tx.range({ prefix: ['log'] })])
  expect(log).toHaveLength(total)
  // All of them worked at the same time: their entries are mixed.
  const turns = log.filter(({ value }, i) => i > 0 && value !== log[i - 1]!.value).length
  expect(turns).toBeGreaterThan(processes)
  await store.close()
})

test('a read sees what another process said it wrote', async () => {
  const store = await openLmdbStore(directory)
  const child = startChild('test/stores/children/put-on-demand.ts', directory)
  await child.printed(1)
  for (let i = 1; i <= 200; i++) {
    // A look just before, so that there is a snapshot that could be too old.
    await store.read((tx) => tx.get(['told']))
    const state = store.state!()
    child.process.stdin!.write(`${i}\n`)
    await new Promise<void>((resolve) => child.process.stdout!.once('data', () => resolve()))
    expect(store.state!()).not.toBe(state)
    expect(await store.read((tx) => tx.get(['told']))).toBe(i)
  }
  child.process.stdin!.end()
  expect(await child.ended).toBe(0)
  await store.close()
})

test('a state stands for one content while other processes write', async () => {
  const store = await openLmdbStore(directory)
  const children = Array.from({ length: 2 }, () =>
    startChild('test/stores/children/increment.ts', directory, 400, 4),
  )
  let going = true
  const ended = Promise.all(children.map(({ ended }) => ended)).finally(() => {
    going = false
  })
  const known = new Map<unknown, unknown>()
  while (going) {
    for (let i = 0; i < 50; i++) {
      const before = store.state!()
      const found = await store.read((tx) => tx.get(['counter', 'a']))
      if (before === undefined || store.state!() !== before) continue
      if (known.has(before)) expect(found).toBe(known.get(before))
      else known.set(before, found)
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await ended).toEqual([0, 0])
  expect(known.size).toBeGreaterThan(10)
  await store.close()
})

test('a process that is killed leaves every batch it acknowledged, and none in part', async () => {
  const rounds = 12
  let acknowledgedInAll = 0
  for (let round = 0; round < rounds; round++) {
    const child = startChild('test/stores/children/commit-batches.ts', directory, round)
    await child.printed(1 + Math.floor(Math.random() * 2000))
    // At any moment of a batch.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
    child.process.kill('SIGKILL')
    expect(await child.ended).toBeUndefined()

    const store = await openLmdbStore(directory)
    const [parts, count] = await store.read((tx) => [
      [...tx.range<{ batch: number; text: string }>({ prefix: ['batch', round] })],
      tx.get(['count', round]) ?? 0,
    ])
    const found = new Map<number, number>()
    for (const { key, value } of parts) {
      expect(value).toEqual({ batch: key[2], text: 'x'.repeat((value.batch * 37) % 900) })
      found.set(value.batch, (found.get(value.batch) ?? 0) + 1)
    }
    const acknowledged = child.lines().map(Number)
    acknowledgedInAll += acknowledged.length
    expect([...found].filter(([, partsOfBatch]) => partsOfBatch !== 5)).toEqual([])
    expect(acknowledged.filter((batch) => !found.has(batch))).toEqual([])
    expect(count).toBe(found.size)
    // It goes on.
    await store.write((tx) => tx.put(['alive', round], round))
    await store.close()
  }
  expect(acknowledgedInAll).toBeGreaterThan(rounds * 100)
})
