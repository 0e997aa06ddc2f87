import fc from 'fast-check'
import type { Key, Range } from '../../src/base/store/store.ts'

/** Few different parts, so that keys meet, among them those that are easily put in the wrong order. */
const commonPart = fc.constantFrom<string | number>(
  0,
  1,
  2,
  10,
  -1,
  1.5,
  '',
  'a',
  'ab',
  'b',
  'a/b',
  '\u0005',
  '\u001b',
  '__proto__',
  'é',
  '\ud7ff',
  '\uffff',
  '😀',
)

const anyText = fc
  .string({
    unit: fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom('a', 'b', 'é', '\uffff', '😀', '\u0005') },
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    ),
  })
  .map((text) => [...text].filter((character) => character > '\u0004').join(''))

const anyNumber = fc.oneof(
  fc.integer({ min: -3, max: 12 }),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)

/** Any part a key may hold, long strings included. */
export const anyPart: fc.Arbitrary<string | number> = fc.oneof(
  commonPart,
  anyNumber,
  anyText,
  anyText.map((text) => 'é'.repeat(70) + text),
)

/** Any key a store may be asked to hold. */
export const anyKey: fc.Arbitrary<Key> = fc.array(anyPart, { minLength: 1, maxLength: 5 })

/** A key of a small set. */
export const commonKey: fc.Arbitrary<Key> = fc.array(commonPart, { minLength: 1, maxLength: 3 })

export const anyRange: fc.Arbitrary<Range> = fc.record(
  {
    prefix: fc.oneof(commonKey, fc.constant<Key>([])),
    start: commonKey,
    end: commonKey,
    limit: fc.nat(5),
    reverse: fc.boolean(),
  },
  { requiredKeys: [] },
)
