import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Store } from '../../../src/base/store/store.ts'
import { type MemorySnapshot, type MemoryStore, memoryStore } from '../../../src/stores/memory/index.ts'

async function seeded(): Promise<MemoryStore> {
  const store = memoryStore()
  await store.write((tx) => {
    for (let i = 0; i < 500; i++) tx.put(['n', i], i)
  })
  return store
}

const count = (store: Store) => store.read((tx) => [...tx.range({})].length)

test('says what it promises', () => {
  expect(memoryStore().features).toEqual({ durable: false, multiProcess: false, snapshots: true })
})

test('a fork begins with what its origin held, and both go their own ways', async () => {
  const origin = await seeded()
  const fork = origin.fork()
  await fork.write((tx) => {
    tx.put(['n', 1], 'fork')
    tx.remove(['n', 2])
  })
  await origin.write((tx) => tx.put(['n', 3], 'origin'))
  const look = (store: Store) => store.read((tx) => [1, 2, 3].map((i) => tx.get(['n', i])))
  expect(await look(origin)).toEqual([1, 2, 'origin'])
  expect(await look(fork)).toEqual(['fork', undefined, 3])
  await origin.close()
  expect(await count(fork)).toBe(499)
})

test('a snapshot can be restored any number of times, also elsewhere', async () => {
  const store = await seeded()
  const snapshot = store.snapshot()
  for (let round = 0; round < 3; round++) {
    await store.write((tx) => {
      for (const { key } of tx.range({})) tx.remove(key)
    })
    expect(await count(store)).toBe(0)
    store.restore(snapshot)
    expect(await count(store)).toBe(500)
  }
  const other = memoryStore()
  other.restore(snapshot)
  await other.write((tx) => tx.put(['more'], 1))
  expect(await count(other)).toBe(501)
  expect(await count(store)).toBe(500)
})

test('the caller keeps what was put, unfrozen', async () => {
  const store = memoryStore()
  const value = { list: [1], deep: { n: 1 } }
  await store.write((tx) => tx.put(['a'], value))
  value.deep.n = 2
  value.list.push(2)
  expect(value).toEqual({ list: [1, 2], deep: { n: 2 } })
})

test('what a record shares with the one before it is not copied', async () => {
  const store = memoryStore()
  await store.write((tx) => tx.put(['a'], { n: 1, deep: { list: [1] } }))
  const [before, after] = await store.write((tx) => {
    const first = tx.get<{ n: number; deep: object }>(['a'])!
    tx.put(['a'], { ...first, n: 2 })
    return [first, tx.get<{ n: number; deep: object }>(['a'])!] as const
  })
  expect(after.n).toBe(2)
  expect(after.deep).toBe(before.deep)
})

test('a range inside a write shows what there was when it was asked for', async () => {
  const store = await seeded()
  const met = await store.write((tx) => {
    const seen: unknown[] = []
    for (const { key, value } of tx.range({ prefix: ['n'], limit: 3 })) {
      seen.push(value)
      tx.remove(['n', (key[1] as number) + 1])
      tx.put(['n', (key[1] as number) + 0.5], 'new')
    }
    return seen
  })
  expect(met).toEqual([0, 1, 2])
})

test('a closed store gives out no copies', async () => {
  const store = await seeded()
  const snapshot = store.snapshot()
  await store.close()
  for (const attempt of [() => store.fork(), () => store.snapshot(), () => store.restore(snapshot)]) {
    expect(attempt).toThrow(expect.objectContaining({ code: 'ServiceUnavailable' }))
  }
})

test('a store is not restored under a running transaction', async () => {
  const store = await seeded()
  const snapshot = store.snapshot()
  await expect(store.write(() => store.restore(snapshot))).rejects.toMatchObject({ code: 'Internal' })
})

type Change = { readonly key: number; readonly value: number | undefined }

const changes = fc.array(
  fc.record({ key: fc.nat(300), value: fc.option(fc.nat(), { nil: undefined, freq: 3 }) }),
  { maxLength: 120 },
)
/** What happens to one of several stores, each a fork of another: a write, a copy, or a way back. */
const event = fc.record({
  at: fc.nat(),
  from: fc.nat(),
  kind: fc.constantFrom('write', 'write', 'write', 'throw', 'throw', 'snapshot', 'restore', 'fork'),
  changes,
  walks: fc.boolean(),
})

test('whatever is written, undone, forked and restored, each store and each snapshot holds what it should', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 4, maxLength: 24 }), async (events) => {
      const stores: { store: MemoryStore; model: Map<number, number> }[] = [
        { store: memoryStore(), model: new Map() },
      ]
      const kept: { snapshot: MemorySnapshot; model: Map<number, number> }[] = []
      for (const { at, from, kind, changes, walks } of events) {
        const one = stores[at % stores.length]!
        if (kind === 'snapshot') kept.push({ snapshot: one.store.snapshot(), model: new Map(one.model) })
        else if (kind === 'fork') stores.push({ store: one.store.fork(), model: new Map(one.model) })
        else if (kind === 'restore') {
          const back = kept[from % Math.max(1, kept.length)]
          if (back === undefined) continue
          one.store.restore(back.snapshot)
          one.model = new Map(back.model)
        } else one.model = await written(one.store, one.model, changes, { fails: kind === 'throw', walks })
      }
      for (const { snapshot, model } of kept) {
        const store = memoryStore()
        store.restore(snapshot)
        stores.push({ store, model })
      }
      for (const { store, model } of stores) await expectHolds(store, model)
    }),
    { numRuns: 60 },
  )
})

/** Writes the changes in one body, which may throw at its end. Returns what the store must hold afterwards. */
async function written(
  store: MemoryStore,
  model: Map<number, number>,
  changes: readonly Change[],
  { fails, walks }: { fails: boolean; walks: boolean },
): Promise<Map<number, number>> {
  const after = new Map(model)
  const writing = store.write((tx) => {
    for (const [i, { key, value }] of changes.entries()) {
      if (value === undefined) tx.remove(['n', key])
      else tx.put(['n', key], value)
      if (value === undefined) after.delete(key)
      else after.set(key, value)
      if (walks && i % 20 === 0) expect([...tx.range({ prefix: ['n'] })].length).toBe(after.size)
    }
    if (fails) throw new Error('on purpose')
  })
  await (fails ? expect(writing).rejects.toThrow('on purpose') : writing)
  return fails ? model : after
}

async function expectHolds(store: MemoryStore, model: Map<number, number>): Promise<void> {
  const expected = [...model].sort(([a], [b]) => a - b)
  const all = await store.read((tx) =>
    Array.from(tx.range<number>({ prefix: ['n'] }), ({ key, value }) => [key[1], value]),
  )
  expect(all).toEqual(expected)
  const found = await store.read((tx) => expected.map(([key]) => tx.get(['n', key])))
  expect(found).toEqual(expected.map(([, value]) => value))
}

test('there is no copy of a store while a body changes it', async () => {
  const store = memoryStore()
  const attempt = store.write((tx) => {
    tx.put(['a'], 1)
    store.snapshot()
  })
  await expect(attempt).rejects.toMatchObject({ code: 'Internal' })
  expect(await count(store)).toBe(0)
})
