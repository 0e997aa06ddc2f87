import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { beginsWith, checkedKey, compareKeys, compareStrings } from '../../../src/base/store/key.ts'
import { isBelow } from '../../../src/base/store/range.ts'
import { type Key, maxKeyBytes } from '../../../src/base/store/store.ts'
import { codeOf, codeOfCut, keyAfter, keyOf } from '../../../src/stores/memory/code.ts'
import { anyKey, anyPart, commonKey } from '../../stores/arbitraries.ts'
import { decodeKey, encodeKey } from '../../stores/ordered-binary.ts'

const nearbyKeys = fc.oneof(
  fc.tuple(anyKey, anyKey),
  fc.tuple(commonKey, commonKey),
  // One begins with the other, or they differ late.
  fc.tuple(commonKey, anyKey, anyKey).map(([prefix, a, b]): [Key, Key] => [
    [...prefix, ...a],
    [...prefix, ...b],
  ]),
  fc.tuple(anyKey, anyPart).map(([key, part]): [Key, Key] => [key, [...key, part]]),
)
const withoutNegativeZero = (key: Key): Key => key.map((part) => (part === 0 ? 0 : part))

describe('the order of keys', () => {
  test('is the order of the bytes lmdb encodes them to', () => {
    fc.assert(
      fc.property(nearbyKeys, ([a, b]) => {
        const [x, y] = [withoutNegativeZero(a), withoutNegativeZero(b)]
        const expected = encodeKey(x).compare(encodeKey(y))
        expect(Math.sign(compareKeys(a, b))).toBe(expected)
        expect(Math.sign(compareKeys(b, a))).toBe(-expected || 0)
      }),
      { numRuns: 2_500 },
    )
  })

  test('is the order of the codes the memory store compares', () => {
    fc.assert(
      fc.property(nearbyKeys, ([a, b]) => {
        const [x, y] = [codeOf(a), codeOf(b)]
        expect(x < y ? -1 : x > y ? 1 : 0).toBe(Math.sign(compareKeys(a, b)))
        for (const side of ['before', 'after', 'beyond'] as const) {
          const cut = { key: b, side }
          expect(x < codeOfCut(cut)).toBe(isBelow(a, cut))
        }
      }),
      { numRuns: 2_500 },
    )
  })

  test('leaves codes from which the keys follow, also with a part of them known', () => {
    fc.assert(
      fc.property(anyKey, fc.nat(4), (given, known) => {
        const key = checkedKey(given)
        const prefix = key.slice(0, Math.min(known, key.length - 1))
        expect(keyOf(codeOf(key))).toEqual(key)
        expect(keyAfter(prefix, codeOf(prefix).length, codeOf(key))).toEqual(key)
      }),
      { numRuns: 1_000 },
    )
  })

  test('is that of code points for strings', () => {
    expect(compareStrings('\uffff', '😀')).toBeLessThan(0)
    expect(compareStrings('\ud83d\ude00', '\ud83d\ude01')).toBeLessThan(0)
    expect(compareStrings('a', 'a')).toBe(0)
    expect(compareStrings('ab', 'a')).toBeGreaterThan(0)
  })

  test('puts a key before its extensions and after what they extend', () => {
    expect(compareKeys(['a'], ['a', -1])).toBeLessThan(0)
    expect(compareKeys(['a', 'z'], ['a\u0005'])).toBeLessThan(0)
    expect(beginsWith(['a', 1], ['a'])).toBe(true)
    expect(beginsWith(['a'], ['a'])).toBe(true)
    expect(beginsWith(['ab'], ['a'])).toBe(false)
    expect(beginsWith(['a'], ['a', 1])).toBe(false)
  })
})

describe('a checked key', () => {
  test('is one that lmdb gives back as it was', () => {
    fc.assert(
      fc.property(anyKey, (key) => {
        const checked = checkedKey(key)
        expect(decodeKey(encodeKey(checked))).toEqual(withoutNegativeZero(key))
      }),
      { numRuns: 1_500 },
    )
  })

  test('is refused exactly when its bytes are too many', () => {
    const long = fc.tuple(
      anyKey,
      fc.integer({ min: maxKeyBytes - 80, max: maxKeyBytes }),
      fc.constantFrom('x', 'é', '😀'),
    )
    fc.assert(
      fc.property(long, ([key, size, filler]) => {
        const longer = [...key, filler.repeat(Math.floor(size / Buffer.byteLength(filler)))]
        const fits = encodeKey(withoutNegativeZero(longer)).length <= maxKeyBytes
        if (fits) expect(checkedKey(longer)).toEqual(withoutNegativeZero(longer))
        else expect(() => checkedKey(longer)).toThrow(`at most ${maxKeyBytes}`)
      }),
      { numRuns: 1_000 },
    )
  })

  test.each([
    [[], 'no parts'],
    [['a', Number.NaN], 'Part 1 of a key is NaN'],
    [[Number.NEGATIVE_INFINITY], '-Infinity'],
    [['a\u0004'], 'control character 4 at position 1'],
    [['ab\ud800'], 'surrogate pair at position 2'],
    [['\ude00'], 'surrogate pair at position 0'],
    [[true as unknown as string], 'of type boolean'],
    [[null as unknown as string], 'null'],
  ])('%j is refused', (key: Key, message) => {
    expect(() => checkedKey(key)).toThrow(
      expect.objectContaining({ code: 'InvalidInput', message: expect.stringContaining(message) }),
    )
  })

  test('is the same array unless it holds a negative zero', () => {
    const key = ['a', 0]
    expect(checkedKey(key)).toBe(key)
    expect(checkedKey(['a', -0])).toStrictEqual(['a', 0])
  })
})
