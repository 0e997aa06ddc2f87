import {
  columnFromArray,
  type DataType,
  dictionary,
  field,
  fixedSizeList,
  int8,
  largeList,
  list,
  struct,
  utf8,
} from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AnyBatch, byteLength } from '../../../../src/engine/arrow/batch.ts'
import { castBatch } from '../../../../src/engine/arrow/cast/cast.ts'
import { castSize } from '../../../../src/engine/arrow/cast/cast-size.ts'

/* A few bytes of a dictionary may be repeated by any number of rows. The size of a cast is known before it is made. */

/** A type with dictionaries at any depth, the plain type that its values are cast to, and one value. */
interface Drawn {
  readonly from: DataType
  readonly to: DataType
  readonly value: unknown
}

const { drawn } = fc.letrec<{ drawn: Drawn }>((tie) => {
  const within = (make: (of: Drawn) => Drawn) => tie('drawn').map(make)
  return {
    drawn: fc.oneof(
      { maxDepth: 3 },
      fc.constant({ from: dictionary(utf8(), int8()), to: utf8(), value: 'x'.repeat(500) }),
      within(({ from, to, value }) => ({ from: list(from), to: largeList(to), value: [value, value] })),
      within(({ from, to, value }) => ({
        from: fixedSizeList(from, 2),
        to: fixedSizeList(to, 2),
        value: [value, value],
      })),
      within(({ from, to, value }) => ({ from: fixedSizeList(from, 1), to: list(to), value: [value] })),
      within(({ from, to, value }) => ({
        from: struct([field('a', from), field('b', utf8())]),
        to: struct([field('a', to), field('b', utf8())]),
        value: { a: value, b: 'b' },
      })),
    ),
  }
})

test('a dictionary counts as often as it is shown, however deep it lies', () => {
  fc.assert(
    fc.property(drawn, fc.integer({ min: 1, max: 40 }), ({ from, to, value }, rows) => {
      const batch = columnFromArray(new Array(rows).fill(value), from).data[0] as AnyBatch
      const cast = byteLength(castBatch(batch, to))
      expect(cast).toBeGreaterThanOrEqual(rows * 500)
      expect(castSize(batch, to)).toBeGreaterThanOrEqual(cast * 0.95)
      expect(castSize(batch, to)).toBeLessThan(cast * 1.5)
    }),
    { numRuns: 300 },
  )
})
