import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyKey, anyRange, commonKey } from './arbitraries.ts'
import { lmdbPlace, memoryPlace } from './places.ts'

/** Keys that lie close together, so that prefixes have many, and keys of every kind. */
const someKeys = fc.array(
  fc.oneof(
    commonKey,
    anyKey,
    fc.tuple(commonKey, commonKey).map(([a, b]) => [...a, ...b]),
  ),
  { maxLength: 30 },
)

const range = fc.oneof(
  anyRange,
  commonKey.map((prefix) => ({ prefix })),
  fc.tuple(commonKey, fc.nat(5)).map(([prefix, limit]) => ({ prefix, limit, reverse: true })),
)

describe.each([
  ['memory', memoryPlace, 150],
  ['LMDB', lmdbPlace, 60],
] as const)('the %s store', (_, place, numRuns) => {
  test('gives the same keys when only they are looked at', async () => {
    const { open, dispose } = await place()
    const store = await open()
    try {
      await fc.assert(
        fc.asyncProperty(someKeys, fc.array(range, { minLength: 1, maxLength: 5 }), async (keys, ranges) => {
          await store.write((tx) => {
            for (const { key } of [...tx.range({ keysOnly: true })]) tx.remove(key)
            for (const [i, key] of keys.entries()) tx.put(key, i)
          })
          await store.read((tx) => {
            const all = [...tx.range({})]
            // Every key leads to its own value, so it was given as it is stored.
            for (const { key, value } of all) expect(tx.get(key)).toBe(value)
            for (const one of ranges) {
              const entries = [...tx.range(one)]
              for (const entry of entries) expect(all).toContainEqual(entry)
              const alone = Array.from(tx.range({ ...one, keysOnly: true }), ({ key }) => key)
              expect(alone).toEqual(entries.map(({ key }) => key))
            }
          })
        }),
        { numRuns },
      )
    } finally {
      await store.close()
      await dispose?.()
    }
  })

  test('keeps values of any length one after the other', async () => {
    const { open, dispose } = await place()
    const store = await open()
    try {
      const values = [10, 20_000, 3, 70_000, 0].map((length, i) => ({ i, text: 'aé😀'.repeat(length) }))
      await store.write((tx) => {
        for (const value of values) tx.put(['v', value.i], value)
      })
      expect(await store.read((tx) => values.map(({ i }) => tx.get(['v', i])))).toEqual(values)
    } finally {
      await store.close()
      await dispose?.()
    }
  })
})
