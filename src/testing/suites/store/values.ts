import assert from 'node:assert/strict'
import type { Value } from '../../../base/store/store.ts'
import { rule, type Topic } from '../suite.ts'
import { all, read, type StoreTrial } from './trial.ts'

export const values: Topic<StoreTrial> = {
  name: 'values',
  cases: [
    rule('store.value', 'Value', 'Values come back as they were put.', [], async ({ store }: StoreTrial) => {
      const kept: Value[] = [
        '',
        'text',
        0,
        -1.5,
        1e300,
        {},
        [],
        [1, [2, [3, {}]]],
        { a: { b: { c: [1, 'x', true, false, null] } } },
        JSON.parse('{"__proto__":{"x":1},"constructor":"c","":"empty"}') as object,
        { text: 'half \ud800 of a pair, 😀, \u0000 and \uffff' },
        { big: 'é'.repeat(500_000) },
        Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`property ${i}`, `value ${i}`])),
      ]
      await store.write((tx) => {
        for (const [i, value] of kept.entries()) tx.put(['v', i], value)
        for (const [i, value] of kept.entries()) assert.deepEqual(tx.get(['v', i]), value)
      })
      for (const [i, value] of kept.entries()) {
        assert.deepEqual(await store.read((tx) => tx.get(['v', i])), value)
      }
      assert.deepEqual(await read(store, { prefix: ['v'] }), kept)
      const odd = (await store.read((tx) => tx.get(['v', 9]))) as object
      assert.deepEqual(Object.keys(odd), ['__proto__', 'constructor', ''])
    }),

    rule(
      'store.value-undefined',
      'Value',
      'Members that are undefined are left out.',
      [],
      async ({ store }: StoreTrial) => {
        await store.write((tx) => tx.put(['a'], { here: 1, not: undefined, deep: { not: undefined } }))
        const value = (await store.read((tx) => tx.get(['a']))) as object
        assert.deepEqual(Object.keys(value), ['here', 'deep'])
        assert.deepEqual(value, { here: 1, deep: {} })
      },
    ),

    rule(
      'store.value-own',
      'Value',
      'Neither who put a record nor who reads it can change it.',
      [],
      async ({ store }: StoreTrial) => {
        const value = { list: [1, 2], deep: { text: 'a' } }
        const key: [string, number] = ['k', 1]
        await store.write((tx) => {
          tx.put(key, value)
          key[1] = 2
          value.list.push(3)
          value.deep.text = 'b'
        })
        value.list.push(4)
        const expected = [{ key: ['k', 1], value: { list: [1, 2], deep: { text: 'a' } } }]
        assert.deepEqual(await all(store), expected)

        const attempts: ((entry: { key: unknown[]; value: typeof value }) => void)[] = [
          ({ value: got }) => got.list.push(9),
          ({ value: got }) => Object.assign(got.deep, { text: 'z' }),
          (entry) => Object.assign(entry.value, { list: [] }),
          (entry) => Object.assign(entry, { value: 0 }),
          ({ key: got }) => got.push('z'),
        ]
        for (const attempt of attempts) {
          await store.read((tx) => {
            for (const entry of tx.range({})) allow(() => attempt(entry as never))
            allow(() => attempt({ key: ['k', 1], value: tx.get(['k', 1])! as typeof value }))
          })
          assert.deepEqual(await all(store), expected)
        }
      },
    ),

    rule(
      'store.value-copy',
      'Value',
      'A value may be read, changed in a copy, and put back.',
      [],
      async ({ store }: StoreTrial) => {
        await store.write((tx) => tx.put(['a'], { n: 1, deep: { kept: [1] } }))
        await store.write((tx) => {
          const before = tx.get<{ n: number; deep: object }>(['a'])!
          tx.put(['a'], { ...before, n: before.n + 1 })
        })
        assert.deepEqual(await read(store, {}), [{ n: 2, deep: { kept: [1] } }])
      },
    ),
  ],
}

/** Attempts a change, which frozen objects refuse. */
function allow(attempt: () => void): void {
  try {
    attempt()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
  }
}

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
