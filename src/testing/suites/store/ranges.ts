import assert from 'node:assert/strict'
import type { Entry, Key, Range } from '../../../base/store/store.ts'
import { rule, type Topic } from '../suite.ts'
import { all, read, type StoreTrial, valuesOf } from './trial.ts'

const records: Key[] = [
  ['a', 1],
  ['a', 1, 'x'],
  ['a', 2],
  ['a', 10],
  ['a', 'b'],
  ['a', 'b', 'c'],
  ['a', 'bc'],
  ['ab'],
  ['ab', 1],
  ['b'],
]
const cases: [Range, number[]][] = [
  [{}, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
  [{ prefix: [] }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
  [{ prefix: ['a'] }, [0, 1, 2, 3, 4, 5, 6]],
  [{ prefix: ['a', 1] }, [1]],
  [{ prefix: ['a', 'b'] }, [5]],
  [{ prefix: ['ab'] }, [8]],
  [{ prefix: ['b'] }, []],
  [{ start: ['a', 10] }, [3, 4, 5, 6, 7, 8, 9]],
  [{ start: ['a', 3] }, [3, 4, 5, 6, 7, 8, 9]],
  [{ end: ['a', 10] }, [0, 1, 2]],
  [{ end: [] }, []],
  [{ start: [] }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
  [{ start: ['a', 2], end: ['a', 'b'] }, [2, 3]],
  [{ start: ['b'], end: ['a'] }, []],
  [{ prefix: ['a'], start: ['a', 'b'] }, [4, 5, 6]],
  [{ prefix: ['a'], start: ['A'], end: ['z'] }, [0, 1, 2, 3, 4, 5, 6]],
  [{ prefix: ['a'], start: ['b'] }, []],
  [{ prefix: ['a'], end: ['a'] }, []],
  [{ prefix: ['a', 'b'], end: ['a', 'bc'] }, [5]],
  [{ limit: 0 }, []],
  [{ prefix: ['a'], limit: 2 }, [0, 1]],
  [{ prefix: ['a'], reverse: true }, [6, 5, 4, 3, 2, 1, 0]],
  [{ prefix: ['a'], reverse: true, limit: 2 }, [6, 5]],
  [{ start: ['a', 2], end: ['ab'], reverse: true, limit: 3 }, [6, 5, 4]],
  [{ prefix: ['ab'], reverse: true }, [8]],
]

export const ranges: Topic<StoreTrial> = {
  name: 'ranges',
  cases: [
    rule(
      'store.range-bounds',
      'Range',
      'A range holds what prefix, start, end, limit and reverse say together, in key order.',
      [],
      async ({ store }: StoreTrial) => {
        await store.write((tx) => {
          for (const [i, key] of records.entries()) tx.put(key, i)
          // Once inside the write and once afterwards.
          for (const [range, expected] of cases)
            assert.deepEqual(valuesOf(tx.range(range)), expected, showRange(range))
        })
        for (const [range, expected] of cases)
          assert.deepEqual(await read(store, range), expected, showRange(range))
        const entries = await store.read((tx) => [...tx.range({ prefix: ['a', 1] })])
        assert.deepEqual(entries, [{ key: ['a', 1, 'x'], value: 1 }])
      },
    ),

    rule(
      'store.range-long',
      'Reader.range',
      'A long range comes whole, and each entry once.',
      [],
      async ({ store }: StoreTrial) => {
        const count = 3000
        await store.write((tx) => {
          for (let i = 0; i < count; i++) tx.put(['n', i], i)
        })
        const ascending = Array.from({ length: count }, (_, i) => i)
        assert.deepEqual(await read(store, { prefix: ['n'] }), ascending)
        assert.deepEqual(await read(store, { prefix: ['n'], reverse: true }), ascending.toReversed())
        assert.deepEqual(await read(store, { start: ['n', 500], limit: 700 }), ascending.slice(500, 1200))
        assert.deepEqual(
          await read(store, { end: ['n', 2500], limit: 1500, reverse: true }),
          ascending.slice(1000, 2500).toReversed(),
        )
      },
    ),

    rule(
      'store.range-again',
      'Reader.range',
      'A range may be left early, walked again, and walked inside another.',
      [],
      async ({ store }: StoreTrial) => {
        await store.write((tx) => {
          for (let i = 0; i < 300; i++) tx.put(['n', i], i)
        })
        const walk = (tx: { range(range: Range): Iterable<Entry> }) => {
          const range = tx.range({ prefix: ['n'] })
          for (const { value } of range) if (value === 3) break
          let pairs = 0
          for (const outer of range) {
            if (outer.key[1] === 20) break
            for (const inner of tx.range({ prefix: ['n'], reverse: true, limit: 20 })) if (inner) pairs++
          }
          return [pairs, valuesOf(range).length]
        }
        assert.deepEqual(await store.read(walk), [400, 300])
        assert.deepEqual(await store.write(walk), [400, 300])
      },
    ),

    rule(
      'store.range-removing',
      'Reader.range',
      'What a range walks over may be removed meanwhile.',
      [],
      async ({ store }: StoreTrial) => {
        await store.write((tx) => {
          for (let i = 0; i < 2000; i++) tx.put(['n', i], i)
          tx.put(['kept'], 1)
        })
        const met = await store.write((tx) => {
          const keys: unknown[] = []
          for (const { key } of tx.range({ prefix: ['n'] })) {
            keys.push(key[1])
            tx.remove(key)
          }
          return keys
        })
        assert.deepEqual(
          met,
          Array.from({ length: 2000 }, (_, i) => i),
        )
        assert.deepEqual(await all(store), [{ key: ['kept'], value: 1 }])
      },
    ),
  ],
}

function showRange(range: Range): string {
  return `the range ${JSON.stringify(range)}`
}
