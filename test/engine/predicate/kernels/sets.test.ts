import { type DataType, field, int8, int32, int64, uint32, uint64 } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeBatch, type Values } from '../../../../src/engine/arrow/batch.ts'
import { rowsIn } from '../../../../src/engine/arrow/bitmap.ts'
import { compilePredicate } from '../../../../src/engine/predicate/index.ts'

const kinds: readonly [name: string, type: DataType, array: (list: readonly bigint[]) => Values][] = [
  ['int8', int8(), (list) => Int8Array.from(list, Number)],
  ['int32', int32(), (list) => Int32Array.from(list, Number)],
  ['uint32', uint32(), (list) => Uint32Array.from(list, Number)],
  ['int64', int64(), (list) => BigInt64Array.from(list)],
  ['uint64', uint64(), (list) => BigUint64Array.from(list)],
]

/** Integers all over 32 or 64 bits; many have the same low or high half, or the same bits with another sign. */
const integer = fc.oneof(
  fc.bigInt({ min: -(2n ** 31n), max: 2n ** 32n }),
  fc.bigInt({ min: 1n - 2n ** 63n, max: 2n ** 63n - 1n }),
  fc.bigInt({ min: -3n, max: 3n }).map((high) => high * 2n ** 32n + 5n),
  fc.bigInt({ min: -200n, max: 200n }),
)

test.each(kinds)('integers of %s are found in lists of any length', (_, type, array) => {
  const schema = { fields: [field('k', type, true)], metadata: null }
  fc.assert(
    fc.property(
      fc.array(integer, { minLength: 1, maxLength: 80 }),
      fc.array(integer, { maxLength: 40 }),
      (some, others) => {
        const values = array([...some, ...others])
        const integers = Array.from(values as Int32Array, BigInt)
        // The language has no literals beyond the type of the column.
        const list = integers.slice(0, some.length)
        const rows = { length: values.length, columns: [makeBatch(type, { length: values.length, values })] }
        const found = compilePredicate(`k IN (${list.join(', ')})`, schema as never).select(
          rows,
          0,
          rows.length,
        )
        const wanted = integers.flatMap((value, row) => (list.includes(value) ? [row] : []))
        expect([...rowsIn(found)]).toEqual(wanted)
      },
    ),
    { numRuns: 300 },
  )
})
