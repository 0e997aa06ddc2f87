import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { TimeSlice } from '../../../../src/base/scheduling/time-slice.ts'
import { denseKeys, KeyIndex } from '../../../../src/engine/table/merge/key-index.ts'
import type { KeyValues } from '../../../../src/engine/table/merge/key-values.ts'

type Key = number | bigint | null

/** Keys of a column of 32- or of 64-bit integers. */
function keysOf(keys: readonly Key[], width: 1 | 2): KeyValues {
  const words = new Uint32Array(keys.length * width)
  const validity = new Uint8Array(Math.ceil(keys.length / 8))
  for (const [row, key] of keys.entries()) {
    // What lies under a null is no key.
    const value = BigInt(key ?? 3)
    words[row * width] = Number(BigInt.asUintN(32, value))
    if (width === 2) words[row * 2 + 1] = Number(BigInt.asUintN(32, value >> 32n))
    if (key !== null) validity[row >> 3]! |= 1 << (row & 7)
  }
  return { kind: 'words', words, width, validity: keys.includes(null) ? validity : new Uint8Array(0) }
}

/** Integers that are close together, around a number that is anything. */
const close = (integer: fc.Arbitrary<bigint>) =>
  integer.chain((middle) => fc.array(fc.option(fc.bigInt({ min: -40n, max: 40n }).map((by) => middle + by))))

const wide = fc.bigInt({ min: -(2n ** 63n) + 40n, max: 2n ** 63n - 41n })
const narrow = fc.bigInt({ min: -(2n ** 31n) + 40n, max: 2n ** 31n - 41n })

test.each([
  { name: '32-bit integers', width: 1 as const, integers: narrow },
  { name: '64-bit integers', width: 2 as const, integers: wide },
  { name: '64-bit integers that are small', width: 2 as const, integers: narrow },
])('rows are found by $name, close together or not', async ({ width, integers }) => {
  const nearby = close(integers)
  const scattered = fc.array(fc.option(integers))
  const lists = fc.oneof(nearby, scattered)
  await fc.assert(
    fc.asyncProperty(lists, lists, async (own, others) => {
      const index = await KeyIndex.of([keysOf(own, width)], own.length, new TimeSlice(undefined))
      const rowsWith = (key: Key) => own.flatMap((one, row) => (one === key && key !== null ? [row] : []))
      const chain = (first: number) => {
        const rows: number[] = []
        for (let row = first; row >= 0; row = index.nextOf(row)) rows.push(row)
        return rows
      }
      for (const [row, key] of own.entries()) expect(index.firstOf(row)).toBe(rowsWith(key)[0] ?? -1)
      const asked = [...own, ...others]
      const found = new Int32Array(asked.length)
      index.find([keysOf(asked, width)], 0, asked.length, found)
      expect(Array.from(found, chain)).toEqual(asked.map(rowsWith))
    }),
    { numRuns: 300 },
  )
})

test('integers that lie close together get a table, and others do not', () => {
  const around = (middle: bigint) => Array.from({ length: 100 }, (_, i) => middle + BigInt(i * 3))
  for (const middle of [0n, -150n, 2n ** 40n])
    expect(denseKeys([keysOf(around(middle), 2)], 100)).toBeDefined()
  expect(denseKeys([keysOf(around(-150n), 1)], 100)).toBeDefined()
  // Where numbers are not exact, two integers would have one place.
  expect(denseKeys([keysOf(around(2n ** 60n), 2)], 100)).toBeUndefined()
  // Two far apart must not take memory for all between them.
  expect(denseKeys([keysOf([0n, 2n ** 30n], 2)], 2)).toBeUndefined()
  expect(denseKeys([keysOf([null, null], 1)], 2)).toBeUndefined()
})
