import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromHalf, halfBits, roundToHalf } from '../../../src/engine/arrow/half.ts'

test('a number is rounded to the 16-bit float that is stored for it, also to a zero of its sign', () => {
  const near = fc
    .tuple(fc.nat(65_535), fc.constantFrom(1, 1 + 2 ** -52, 1 - 2 ** -53, 1 + 2 ** -12, 1 + 2 ** -11))
    .map(([bits, factor]) => fromHalf(bits) * factor)
  fc.assert(
    fc.property(fc.oneof(near, fc.double(), fc.double({ min: -1e-7, max: 1e-7 })), (value) => {
      expect(roundToHalf(value)).toBe(fromHalf(halfBits(value)))
    }),
    { numRuns: 2_000, examples: [[-1e-9], [2 ** -25], [-(2 ** -25)], [65_519.99], [65_520]] },
  )
})
