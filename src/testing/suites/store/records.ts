import assert from 'node:assert/strict'
import { rule, type Topic } from '../suite.ts'
import { all, type StoreTrial } from './trial.ts'

export const records: Topic<StoreTrial> = {
  name: 'records',
  cases: [
    rule(
      'store.absent',
      'Reader.get',
      'A record that was never put is undefined.',
      [],
      async ({ store }: StoreTrial) => {
        assert.equal(await store.read((tx) => tx.get(['a'])), undefined)
        assert.deepEqual(await all(store), [])
      },
    ),

    rule(
      'store.last-put',
      'Writer.put',
      'A record is what was put last, until it is removed.',
      [],
      async ({ store }: StoreTrial) => {
        await store.write((tx) => tx.put(['a', 1], { n: 1 }))
        assert.deepEqual(await store.read((tx) => tx.get(['a', 1])), { n: 1 })
        await store.write((tx) => tx.put(['a', 1], { n: 2 }))
        assert.deepEqual(await store.read((tx) => tx.get(['a', 1])), { n: 2 })
        await store.write((tx) => tx.remove(['a', 1]))
        assert.equal(await store.read((tx) => tx.get(['a', 1])), undefined)
      },
    ),

    rule(
      'store.remove-nothing',
      'Writer.remove',
      'Removing what is not there changes nothing.',
      [],
      async ({ store }: StoreTrial) => {
        await store.write((tx) => tx.put(['a'], 1))
        await store.write((tx) => {
          tx.remove(['b'])
          tx.remove(['a', 'b'])
        })
        assert.deepEqual(await all(store), [{ key: ['a'], value: 1 }])
      },
    ),

    rule(
      'store.answer',
      'Store.read, Store.write',
      'A transaction answers with what its body returns.',
      [],
      async ({ store }: StoreTrial) => {
        assert.equal(await store.read(() => 7), 7)
        assert.equal(await store.write(() => 'seven'), 'seven')
        assert.equal(await store.write(() => undefined), undefined)
        assert.equal(await store.read(() => null), null)
      },
    ),

    rule(
      'store.throw',
      'Store.read, Store.write',
      'What a body throws reaches the caller as it is.',
      [],
      async ({ store }: StoreTrial) => {
        const error = new Error('mine')
        const toss = () => {
          throw error
        }
        assert.equal(await store.read(toss).catch((e: unknown) => e), error)
        assert.equal(await store.write(toss).catch((e: unknown) => e), error)
      },
    ),
  ],
}
