import assert from 'node:assert/strict'
import type { Store } from '../../../base/store/store.ts'
import { nextTurn, sleep } from '../../../base/time.ts'
import { during, refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import type { StorePlace } from './trial.ts'
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

/** A store without `state` must return undefined, rather than a wrong state. */
export const states: Topic<StoreTrial> = {
  name: 'states, where the store tells them',
  cases: [
    rule(
      'store.state-new',
      'Store.state',
      'Every change gives a state that was never there; reading gives no other.',
      [],
      async ({ store }: StoreTrial) => {
        if (store.state === undefined) return
        const seen = new Set<unknown>()
        for (let i = 0; i < 20; i++) {
          // The same records may return; an old state must not.
          await store.write((tx) => tx.put(['n'], i % 2))
          const state = store.state()
          assert.notEqual(state, undefined)
          assert.ok(!seen.has(state), `The state ${state} comes again after another change.`)
          seen.add(state)
          await store.read((tx) => tx.get(['n']))
          await store.write(() => {}).catch(() => {})
          const after: unknown = store.state()
          seen.add(after)
          await store.read((tx) => [...tx.range({})])
          assert.equal(store.state(), after)
        }
      },
    ),
    rule(
      'store.state-around',
      'Store.state',
      'A change shows in the state, whatever fails around it.',
      [],
      async ({ store }: StoreTrial) => {
        if (store.state === undefined) return
        for (let round = 0; round < 20; round++) {
          const before = store.state()
          const writes = Array.from({ length: 5 }, (_, i) =>
            store.write((tx) => {
              tx.put(['n', i], round)
              if (i !== round % 5) throw new Error('no')
            }),
          )
          await Promise.allSettled(writes)
          assert.notEqual(store.state(), before)
        }
      },
    ),
    rule(
      'store.state-kept',
      'Store.state',
      'What was read between two equal states is what a read gives.',
      [],
      async ({ store }: StoreTrial) => {
        if (store.state === undefined) return
        const known = new Map<unknown, unknown>()
        const write = async () => {
          for (let i = 1; i <= 40; i++) {
            await store.write((tx) => tx.put(['n'], i))
            await nextTurn()
          }
        }
        const look = async () => {
          const before: unknown = store.state?.()
          const found = await store.read((tx) => tx.get(['n']))
          if (store.state?.() !== before) return
          if (known.has(before)) assert.equal(found, known.get(before))
          known.set(before, found)
        }
        await during(write, look)
        await look()
        assert.ok(known.size > 0)
      },
    ),
  ],
}

/** Runs `look` while it holds the turn of one or more names, and resolves to its result. */
async function holding<T>(
  store: Store,
  name: string | readonly string[],
  look: () => Promise<T>,
): Promise<T> {
  let result: T | undefined
  const runs: number[] = []
  const given = await store.inTurn!(name, async () => {
    runs.push(1)
    result = await look()
    return 'given'
  })
  assert.equal(given, 'given')
  assert.equal(runs.length, 1)
  return result as T
}

/** Work may always run without a turn. So the rules check only the turns that the store reports. */
export const turns: Topic<StoreTrial> = {
  name: 'turns, where the store gives them',
  cases: [
    rule(
      'store.turn-work',
      'Store.inTurn',
      'Work in a turn runs once, also in a turn of several names. Its caller gets its result or its error, and a turn of another name does not wait for it.',
      [],
      async ({ store }: StoreTrial) => {
        if (store.inTurn === undefined) return
        const inner = await holding(store, 'one', () => holding(store, 'another', async () => 'inner'))
        assert.equal(inner, 'inner')
        const together = () => holding(store, ['one', 'two', 'one'], async () => 'together')
        assert.equal(await holding(store, 'another', together), 'together')
        const failed = store.inTurn('one', async () => {
          throw Object.assign(new Error('no rows'), { code: 'InvalidInput' })
        })
        await refused(failed, 'InvalidInput', /no rows/)
        await holding(store, 'one', () => store.write((tx) => tx.put(['a'], 1)))
        assert.equal(await store.read((tx) => tx.get(['a'])), 1)
      },
    ),
    rule(
      'store.turn-taken',
      'Store.isTurnTaken',
      'Where a store says that a turn is taken, the next work of that name waits for its end, and then the turn is free.',
      [],
      async ({ store, place }: StoreTrial) => {
        if (store.inTurn === undefined || store.isTurnTaken === undefined) return
        const other = store.features.multiProcess ? await place.open() : store
        const judge = async (held: string | readonly string[], wanted: string) => {
          assert.equal(await other.isTurnTaken!(wanted), false)
          const order: string[] = []
          const second = await holding(store, held, async () => {
            const isTaken = await other.isTurnTaken!(wanted)
            if (!isTaken) return undefined
            const waiting = holding(other, wanted, async () => order.push('second'))
            for (let i = 0; i < 20; i++) await nextTurn()
            assert.equal(await store.isTurnTaken!(wanted), true)
            order.push('first')
            return { waiting }
          })
          if (second === undefined) return
          await second.waiting
          assert.deepEqual(order, ['first', 'second'])
          // The former holder may be notified first. On a busy machine the others follow much later.
          for (let i = 0; i < 500 && (await store.isTurnTaken!(wanted)); i++) await sleep(10)
          assert.equal(await store.isTurnTaken!(wanted), false)
        }
        try {
          await judge('one', 'one')
          await judge(['one', 'two'], 'two')
        } finally {
          if (other !== store) await other.close()
        }
      },
    ),
  ],
}

/** A guess may be outdated or missing. So the rule checks only that it never shows what was not committed. */
export const guesses: Topic<StoreTrial> = {
  name: 'guesses, where the store makes them',
  cases: [
    rule(
      'store.guess',
      'Store.guess',
      'A guess has records that were committed, from one moment or several. If its body throws, it is undefined.',
      [],
      async ({ store }: StoreTrial) => {
        if (store.guess === undefined) return
        const guess = () => store.guess!((reader) => [reader.get(['a'])])
        const isOneOf = (...values: unknown[]) => {
          const found = guess()
          if (found !== undefined) assert.ok(values.includes(found[0]))
        }
        await store.read((reader) => reader.get(['a']))
        isOneOf(undefined)
        await store.write((tx) => tx.put(['a'], 1))
        isOneOf(undefined, 1)
        const failing = store.write((tx) => {
          tx.put(['a'], 2)
          throw Object.assign(new Error('no rows'), { code: 'InvalidInput' })
        })
        await refused(failing, 'InvalidInput', /no rows/)
        isOneOf(undefined, 1)
        const thrown = store.guess(() => {
          throw new Error('no rows')
        })
        assert.equal(thrown, undefined)
        await store.write((tx) => tx.remove(['a']))
        isOneOf(undefined, 1)
      },
    ),
  ],
}
