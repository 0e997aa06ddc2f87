import {
  columnFromArray,
  type DataType,
  dictionary,
  field,
  fixedSizeList,
  int8,
  int32,
  int64,
  largeList,
  list,
  struct,
  utf8,
} from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type AnyBatch,
  type AnyColumn,
  byteLength,
  dictionaryOf,
  makeBatch,
} from '../../../../src/engine/arrow/batch.ts'
import { castBatch } from '../../../../src/engine/arrow/cast/cast.ts'
import { bytesInUse, castSize } from '../../../../src/engine/arrow/cast/cast-size.ts'

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

test('a batch takes the entries that its rows use, and those of a dictionary that is known only once', () => {
  const texts = Array.from({ length: 1_000 }, (_, i) => String(i).padStart(200, 'x'))
  const batchOf = (values: readonly unknown[], type: DataType) =>
    columnFromArray([...values], type).data[0] as AnyBatch
  const all = batchOf(texts, dictionary(utf8(), int32()))
  expect(bytesInUse(all)).toBe(byteLength(all) + 1_000 * 200)
  const few = makeBatch(all.type, {
    length: 10,
    values: (all.values as Int32Array).slice(0, 10),
    dictionary: dictionaryOf(all),
  })
  expect(bytesInUse(few)).toBe(byteLength(few) + 10 * 200)
  const known = new Set<AnyColumn>()
  bytesInUse(all, known)
  expect(bytesInUse(few, known)).toBe(byteLength(few))
  const lists = batchOf([texts, texts], list(dictionary(utf8(), int32())))
  expect(bytesInUse(lists)).toBeGreaterThan(200_000)
  expect(bytesInUse(lists, new Set([dictionaryOf(lists.children[0]!)]))).toBe(byteLength(lists))
  const numbers = batchOf(
    Array.from({ length: 20_000 }, (_, i) => BigInt(i)),
    dictionary(int64(), int32()),
  )
  const one = makeBatch(numbers.type, {
    length: 1,
    values: (numbers.values as Int32Array).slice(0, 1),
    dictionary: dictionaryOf(numbers),
  })
  expect(bytesInUse(one)).toBe(byteLength(one) + 8)
})
