import assert from 'node:assert/strict'
import { type Key, maxKeyBytes } from '../../../base/store/store.ts'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { all, read, type StoreTrial } from './trial.ts'

/** Strings in the order of their code points. */
const unusual = [
  '',
  '\u0005',
  '\u001b',
  '\u001c',
  ' ',
  '..',
  '/',
  '__proto__',
  'a/b',
  'constructor',
  '\u007f',
  '\u0080',
  'é',
  '\ud7ff',
  '\ue000',
  '\uffff',
  '\u{10000}',
  '😀',
  '\u{10ffff}',
]

export const keys: Topic<StoreTrial> = {
  name: 'keys',
  cases: [
    rule(
      'store.key-text',
      'Key',
      'Strings compare as their UTF-8 bytes do, whatever they hold.',
      [],
      async ({ store }: StoreTrial) => {
        await store.write((tx) => {
          for (const [i, name] of unusual.toReversed().entries()) {
            tx.put(['n', name], unusual.length - 1 - i)
            tx.put([name], name === '' ? 'empty' : name)
          }
        })
        const numbers = unusual.map((_, i) => i)
        assert.deepEqual(await read(store, { prefix: ['n'] }), numbers)
        assert.deepEqual(await read(store, { prefix: ['n'], reverse: true }), numbers.toReversed())
        for (const [i, name] of unusual.entries()) {
          assert.equal(await store.read((tx) => tx.get(['n', name])), i)
          assert.equal(await store.read((tx) => tx.get([name])), name === '' ? 'empty' : name)
          assert.deepEqual(await read(store, { prefix: ['n'], start: ['n', name] }), numbers.slice(i))
        }
        const keys = await store.read((tx) => Array.from(tx.range({ prefix: ['n'] }), ({ key }) => key[1]))
        assert.deepEqual(keys, unusual)
      },
    ),

    rule(
      'store.key-numbers',
      'Key',
      'Numbers are ordered by value and come before strings; negative zero is zero.',
      [],
      async ({ store }: StoreTrial) => {
        const parts = [
          -Number.MAX_VALUE,
          -1e20,
          -2.5,
          -2,
          -1,
          -5e-324,
          0,
          5e-324,
          0.5,
          1,
          1.5,
          2,
          10,
          2 ** 53,
          1e300,
          '0',
        ]
        await store.write((tx) => {
          for (const part of parts.toReversed()) tx.put(['n', part, 'x'], String(part))
          tx.put([-0], 'zero')
        })
        assert.deepEqual(await read(store, { prefix: ['n'] }), parts.map(String))
        assert.equal(await store.read((tx) => tx.get([0])), 'zero')
        assert.ok(Object.is(await store.read((tx) => [...tx.range({ end: [1] })][0]?.key[0]), 0))
      },
    ),

    rule(
      'store.key-longest',
      'maxKeyBytes',
      'The longest key fits, a longer one is refused as InvalidInput.',
      [],
      async ({ store }: StoreTrial) => {
        const longest = ['x'.repeat(maxKeyBytes)]
        const wide = ['é'.repeat(maxKeyBytes / 2 - 1), 'x']
        await store.write((tx) => {
          tx.put(longest, 1)
          tx.put(wide, 2)
        })
        assert.deepEqual(await read(store, {}), [1, 2])
        assert.deepEqual(await read(store, { prefix: [wide[0]!] }), [2])
        for (const key of [[`${longest[0]}x`], [`${wide[0]}é`, 'x'], ['😀'.repeat(maxKeyBytes / 4), '']]) {
          await refused(
            store.write((tx) => tx.put(key, 3)),
            'InvalidInput',
          )
          await refused(
            store.read((tx) => tx.get(key)),
            'InvalidInput',
          )
        }
        assert.deepEqual(await read(store, {}), [1, 2])
      },
    ),

    rule(
      'store.key-refused',
      'Key',
      'What cannot be a key is refused as InvalidInput, and nothing changes.',
      [],
      async ({ store }: StoreTrial) => {
        const bad: Key[] = [
          [],
          [Number.NaN],
          [Number.POSITIVE_INFINITY],
          ['a\0b'],
          ['\ud800'],
          ['a', 'b\udc00'],
          ['x'.repeat(5000)],
          [undefined as unknown as string],
          [null as unknown as string],
          [{} as string],
        ]
        for (const key of bad) {
          await refused(
            store.write((tx) => {
              tx.put(['before'], 1)
              tx.put(key, 1)
            }),
            'InvalidInput',
          )
          await refused(
            store.write((tx) => tx.remove(key)),
            'InvalidInput',
          )
          await refused(
            store.read((tx) => tx.get(key)),
            'InvalidInput',
          )
          if (key.length === 0) continue
          for (const range of [{ prefix: key }, { start: key }, { end: key }])
            await refused(read(store, range), 'InvalidInput')
        }
        assert.deepEqual(await all(store), [])
        await store.write((tx) => tx.put(['after'], 1))
        assert.deepEqual(await read(store, {}), [1])
      },
    ),
  ],
}
