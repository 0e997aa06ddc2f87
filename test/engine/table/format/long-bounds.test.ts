import fc from 'fast-check'
import { expect, test } from 'vitest'
import { longBounds } from '../../../../src/engine/table/format/bounds.ts'

const all = { bits: new Uint8Array(0), nulls: 0 }
const safe = 2n ** 53n - 1n
const small = fc.constantFrom(0n, 1n, -1n, 2n ** 32n, -(2n ** 32n), safe - 1n, safe, -safe)
const large = fc.constantFrom(safe + 1n, safe + 2n, -safe - 1n, -safe - 2n, 2n ** 63n - 1n, -(2n ** 63n))

test('bounds of integers that doubles hold, and of those that they do not', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.array(small, { minLength: 1 }), fc.array(fc.oneof(small, large), { minLength: 1 })),
      (values) => {
        const sorted = values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
        expect(longBounds(BigInt64Array.from(values), all, values.length)).toEqual({
          min: sorted[0],
          max: sorted.at(-1),
        })
      },
    ),
    { numRuns: 1000 },
  )
})

test('bounds of many integers, some of which have other upper halves', () => {
  const rows = 40_000
  const places = fc.array(fc.tuple(fc.nat(rows - 1), fc.oneof(small, large)), { maxLength: 3 })
  fc.assert(
    fc.property(fc.constantFrom(0n, -1n, 5n, -safe >> 32n), places, (high, others) => {
      const values = BigInt64Array.from(
        { length: rows },
        (_, row) => (high << 32n) + BigInt((row * 123_457) >>> 0),
      )
      for (const [row, value] of others) values[row] = value
      const sorted = values.toSorted()
      expect(longBounds(values, all, rows)).toEqual({ min: sorted[0], max: sorted.at(-1) })
    }),
    { numRuns: 40 },
  )
})
