import assert from 'node:assert/strict'
import type { Store } from '../../../base/store/store.ts'
import type { StorePlace } from '../store-suite.ts'
import { rule, type Topic } from '../suite.ts'
import { all, type StoreTrial } from './trial.ts'

/** The further methods of a store with `snapshots`. */
interface Copied extends Store {
  snapshot(): unknown
  restore(snapshot: unknown): void
  fork(): Copied
}

async function reopened<T>(place: StorePlace, look: (store: Store) => Promise<T>): Promise<T> {
  const store = await place.open()
  try {
    return await look(store)
  } finally {
    await store.close()
  }
}

const count = (store: Store) =>
  store.write((writer) => {
    const next = (writer.get<number>(['counter']) ?? 0) + 1
    writer.put(['counter'], next)
    return next
  })

export const features: Topic<StoreTrial> = {
  name: 'what its features promise',
  cases: [
    rule(
      'store.features',
      'StoreFeatures',
      'A store says of each feature whether it has it.',
      [],
      async ({ store }: StoreTrial) => {
        for (const name of ['durable', 'multiProcess', 'snapshots'] as const) {
          assert.equal(typeof store.features[name], 'boolean', name)
        }
      },
    ),
    rule(
      'store.reopened',
      'StoreFeatures.durable',
      'A durable store that is opened again holds all that was written; any other begins whole, or empty.',
      [],
      async ({ store, place }: StoreTrial) => {
        await store.write((writer) => {
          for (let i = 0; i < 200; i++) writer.put(['n', i], { i })
        })
        await store.write((writer) => writer.remove(['n', 7]))
        const before = await all(store)
        assert.equal(before.length, 199)
        await store.close()
        const found = await reopened(place, all)
        if (store.features.durable || found.length > 0) assert.deepEqual(found, before)
      },
    ),
    rule(
      'store.crashed',
      'StoreFeatures.durable',
      'A write of a durable store survives the end of its process from the moment it resolved.',
      [],
      async ({ store, place }: StoreTrial) => {
        if (!store.features.durable || !place.afterCrash) return
        for (let i = 0; i < 3; i++) {
          await store.write((writer) => {
            for (let part = 0; part < 50; part++) writer.put(['n', part], i)
          })
          const left: StorePlace = await place.afterCrash()
          try {
            assert.deepEqual(await reopened(left, all), await all(store))
          } finally {
            await left.dispose?.()
          }
        }
      },
    ),
    rule(
      'store.shared',
      'StoreFeatures.multiProcess',
      'Two open stores of one place have the same records; where that is not promised, the second one is refused or leaves the first alone.',
      [],
      async ({ store, place }: StoreTrial) => {
        await store.write((writer) => writer.put(['first'], 1))
        if (!store.features.multiProcess) return leavesAlone(store, place)
        const other = await place.open()
        try {
          const seen = await Promise.all(Array.from({ length: 100 }, (_, i) => count(i % 2 ? store : other)))
          assert.equal(new Set(seen).size, 100)
          for (let i = 0; i < 10; i++) {
            const [writing, reading] = i % 2 ? [store, other] : [other, store]
            await writing.write((writer) => writer.put(['turn'], i))
            assert.equal(await reading.read((reader) => reader.get(['turn'])), i)
          }
        } finally {
          await other.close()
        }
        assert.equal(await store.read((reader) => reader.get(['counter'])), 100)
        assert.equal(await count(store), 101)
      },
    ),
    rule(
      'store.copied',
      'StoreFeatures.snapshots',
      'A store with snapshots can be forked and restored, each copy its own; any other does not offer it.',
      [],
      async ({ store }: StoreTrial) => {
        const copied = store as Copied
        if (!store.features.snapshots) {
          assert.equal(copied.fork, undefined, 'It offers fork, which its features do not promise.')
          return
        }
        await store.write((writer) => writer.put(['a'], 1))
        const kept = copied.snapshot()
        const fork = copied.fork()
        await fork.write((writer) => writer.put(['b'], 2))
        await store.write((writer) => writer.put(['a'], 3))
        assert.deepEqual(await all(fork), [entry('a', 1), entry('b', 2)])
        assert.deepEqual(await all(store), [entry('a', 3)])
        copied.restore(kept)
        assert.deepEqual(await all(store), [entry('a', 1)])
        await fork.close()
        assert.deepEqual(await all(store), [entry('a', 1)])
      },
    ),
  ],
}

function entry(name: string, value: number) {
  return { key: [name], value }
}

async function leavesAlone(store: Store, place: StorePlace): Promise<void> {
  let other: Store | undefined
  try {
    other = await place.open()
  } catch (error) {
    assert.equal((error as { code?: unknown }).code, 'ServiceUnavailable', String(error))
  }
  await other?.write((writer) => writer.put(['second'], 2)).catch(() => {})
  await other?.close()
  const found = await all(store)
  if (!store.features.durable || found.length === 1) assert.deepEqual(found, [entry('first', 1)])
  else assert.deepEqual(found, [entry('first', 1), entry('second', 2)])
}
