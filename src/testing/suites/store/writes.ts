import assert from 'node:assert/strict'
import { during } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { all, read, type StoreTrial, valuesOf } from './trial.ts'

export const writes: Topic<StoreTrial> = {
  name: 'writes',
  cases: [
    rule(
      'store.own-changes',
      'Reader.range',
      'Inside a write, its own changes are seen.',
      [],
      async ({ store }: StoreTrial) => {
        await store.write((tx) => {
          tx.put(['a', 1], 'old')
          tx.put(['a', 2], 'gone')
        })
        await store.write((tx) => {
          tx.put(['a', 1], 'new')
          tx.remove(['a', 2])
          tx.put(['a', 3], 'more')
          assert.equal(tx.get(['a', 1]), 'new')
          assert.equal(tx.get(['a', 2]), undefined)
          assert.deepEqual(valuesOf(tx.range({ prefix: ['a'] })), ['new', 'more'])
          assert.deepEqual(valuesOf(tx.range({ prefix: ['a'], reverse: true })), ['more', 'new'])
        })
      },
    ),

    rule(
      'store.undone',
      'Store.write',
      'When a body throws, nothing of what it did remains.',
      [],
      async ({ store }: StoreTrial) => {
        await store.write((tx) => {
          tx.put(['kept'], 1)
          tx.put(['changed'], 1)
          tx.put(['removed'], 1)
        })
        const before = await all(store)
        await assert.rejects(
          store.write((tx) => {
            tx.put(['changed'], 2)
            tx.remove(['removed'])
            for (let i = 0; i < 200; i++) tx.put(['added', i], i)
            throw new Error('no')
          }),
          { message: 'no' },
        )
        assert.deepEqual(await all(store), before)
      },
    ),

    rule(
      'store.undone-alone',
      'Store.write',
      'A write that throws does not disturb those around it.',
      [],
      async ({ store }: StoreTrial) => {
        const outcomes = await Promise.allSettled(
          Array.from({ length: 60 }, (_, i) =>
            store.write((tx) => {
              tx.put(['first', i], i)
              if (i % 3 === 0) throw new Error('no')
              tx.put(['second', i], i)
            }),
          ),
        )
        const kept = outcomes.flatMap(({ status }, i) => (status === 'fulfilled' ? [i] : []))
        assert.equal(kept.length, 40)
        assert.deepEqual(await read(store, { prefix: ['first'] }), kept)
        assert.deepEqual(await read(store, { prefix: ['second'] }), kept)
      },
    ),

    rule(
      'store.serial',
      'Store.write',
      'Writes at the same time happen as if one after the other.',
      [],
      async ({ store }: StoreTrial) => {
        const seen = await Promise.all(
          Array.from({ length: 150 }, () =>
            store.write((tx) => {
              const next = (tx.get<number>(['counter']) ?? 0) + 1
              tx.put(['counter'], next)
              return next
            }),
          ),
        )
        assert.deepEqual(
          seen.toSorted((a, b) => a - b),
          Array.from({ length: 150 }, (_, i) => i + 1),
        )
        assert.equal(await store.read((tx) => tx.get(['counter'])), 150)
      },
    ),

    rule(
      'store.whole-write',
      'Store.read',
      'A read sees one consistent snapshot: all of a write, or nothing of it.',
      [],
      async ({ store }: StoreTrial) => {
        const write = async () => {
          for (let i = 1; i <= 40; i++) {
            await store.write((tx) => {
              for (let part = 0; part < 20; part++) tx.put(['part', part], i)
            })
          }
        }
        await during(write, async () => {
          const found = await store.read((tx) => {
            const first = tx.get(['part', 0])
            return [first, ...valuesOf(tx.range({ prefix: ['part'] })), tx.get(['part', 19])]
          })
          assert.equal(new Set(found).size, 1, `a read saw ${found}`)
        })
      },
    ),

    rule(
      'store.read-after-write',
      'Store.read',
      'A read that follows a resolved write sees it.',
      [],
      async ({ store }: StoreTrial) => {
        for (let i = 0; i < 40; i++) {
          const before = await store.read((tx) => tx.get<number>(['n']))
          assert.equal(before, i === 0 ? undefined : i - 1)
          await store.write((tx) => tx.put(['n'], i))
          assert.equal(await store.read((tx) => tx.get(['n'])), i)
        }
      },
    ),
  ],
}
