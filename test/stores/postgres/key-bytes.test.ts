import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkedKey, compareKeys } from '../../../src/base/store/key.ts'
import { isBelow } from '../../../src/base/store/range.ts'
import { maxKeyBytes } from '../../../src/base/store/store.ts'
import { bytesOf, bytesOfCut, keyOf } from '../../../src/stores/postgres/key-bytes.ts'
import { anyKey, commonKey } from '../arbitraries.ts'

const key = fc.oneof(anyKey, commonKey)

test('bytes compare as keys do, and lead back to them', () => {
  fc.assert(
    fc.property(key, key, (a, b) => {
      const [x, y] = [checkedKey(a), checkedKey(b)]
      expect(keyOf(bytesOf(x))).toEqual(x)
      expect(
        Math.sign(Buffer.compare(Buffer.from(bytesOf(x), 'latin1'), Buffer.from(bytesOf(y), 'latin1'))),
      ).toBe(Math.sign(compareKeys(x, y)))
    }),
    { numRuns: 2_000 },
  )
})

test('bytes of cuts lie between bytes of keys as the cuts lie between the keys', () => {
  fc.assert(
    fc.property(key, key, fc.constantFrom('before', 'after', 'beyond'), (a, b, side) => {
      const cut = { key: checkedKey(b), side } as const
      expect(bytesOf(checkedKey(a)) < bytesOfCut(cut)).toBe(isBelow(checkedKey(a), cut))
    }),
    { numRuns: 2_000 },
  )
})

test('the longest keys fit into an index of PostgreSQL', () => {
  const longest = [
    ['x'.repeat(maxKeyBytes)],
    Array.from({ length: maxKeyBytes / 2 }, () => 'x'),
    Array.from({ length: maxKeyBytes / 10 }, (_, i) => i),
  ]
  for (const key of longest) expect(bytesOf(checkedKey(key)).length).toBeLessThanOrEqual(maxKeyBytes + 1)
})
