import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addRow,
  allRows,
  type Bitmap,
  clearRange,
  clearTrailing,
  copyRows,
  countRows,
  forEachRow,
  hasRow,
  intersect,
  isEmpty,
  noRows,
  readBits,
  rowsIn,
  setFirst,
  subtract,
  union,
  wordsFor,
} from '../../../src/engine/arrow/bitmap.ts'

const lengths = fc.integer({ min: 0, max: 200 })
const flags = fc.array(fc.boolean(), { maxLength: 200 })

function bitmapOf(rows: readonly boolean[]): Bitmap {
  const bitmap = noRows(rows.length)
  rows.forEach((isIn, row) => {
    if (isIn) addRow(bitmap, row)
  })
  return bitmap
}

function flagsOf(bitmap: Bitmap, length: number): boolean[] {
  return Array.from({ length }, (_, row) => hasRow(bitmap, row))
}

/** Two sets over the same rows. */
const pairs = fc
  .array(fc.tuple(fc.boolean(), fc.boolean()), { maxLength: 200 })
  .map((rows) => [rows.map(([a]) => a), rows.map(([, b]) => b)] as const)

describe('a bitmap', () => {
  test('holds what was added', () => {
    fc.assert(
      fc.property(flags, (rows) => {
        const bitmap = bitmapOf(rows)
        const added = rows.flatMap((isIn, row) => (isIn ? [row] : []))
        expect(flagsOf(bitmap, rows.length)).toEqual(rows)
        expect([...rowsIn(bitmap)]).toEqual(added)
        const visited: number[] = []
        forEachRow(bitmap, (row) => visited.push(row))
        expect(visited).toEqual(added)
        expect(countRows(bitmap)).toBe(added.length)
        expect(isEmpty(bitmap)).toBe(added.length === 0)
      }),
    )
  })

  test('of all rows has none past the last', () => {
    fc.assert(
      fc.property(lengths, (length) => {
        const bitmap = allRows(length)
        expect(bitmap.length).toBe(wordsFor(length))
        expect(countRows(bitmap)).toBe(length)
        expect([...rowsIn(bitmap)]).toEqual(Array.from({ length }, (_, i) => i))
      }),
    )
  })

  test('longer than its rows is only touched where they are', () => {
    const bitmap = new Uint32Array(4).fill(0xabcdef01)
    setFirst(bitmap, 40)
    expect([...bitmap]).toEqual([0xffffffff, 0xff, 0xabcdef01, 0xabcdef01])
    clearTrailing(bitmap, 35)
    expect([...bitmap]).toEqual([0xffffffff, 0b111, 0xabcdef01, 0xabcdef01])
    const copy = noRows(128)
    copyRows(bitmap, copy, 2)
    expect([...copy]).toEqual([0xffffffff, 0b111, 0, 0])
    expect(countRows(copy, 1)).toBe(32)
    expect(isEmpty(copy.subarray(2))).toBe(true)
  })

  test('meets another one row by row, also in place', () => {
    fc.assert(
      fc.property(pairs, fc.boolean(), ([left, right], inPlace) => {
        const length = left.length
        for (const [combine, rule] of [
          [intersect, (a: boolean, b: boolean) => a && b],
          [union, (a: boolean, b: boolean) => a || b],
          [subtract, (a: boolean, b: boolean) => a && !b],
        ] as const) {
          const a = bitmapOf(left)
          const out = inPlace ? a : noRows(length)
          combine(a, bitmapOf(right), out, wordsFor(length))
          expect(flagsOf(out, length)).toEqual(left.map((value, i) => rule(value, right[i]!)))
        }
      }),
    )
  })

  test('obeys the laws of sets', () => {
    fc.assert(
      fc.property(pairs, ([left, right]) => {
        const words = wordsFor(left.length)
        const [a, b] = [bitmapOf(left), bitmapOf(right)]
        const [both, either, onlyA, onlyB] = [0, 1, 2, 3].map(() => noRows(left.length)) as [
          Bitmap,
          Bitmap,
          Bitmap,
          Bitmap,
        ]
        intersect(a, b, both, words)
        union(a, b, either, words)
        subtract(a, b, onlyA, words)
        subtract(b, a, onlyB, words)
        expect(countRows(both) + countRows(either)).toBe(countRows(a) + countRows(b))
        expect(countRows(onlyA) + countRows(onlyB) + countRows(both)).toBe(countRows(either))
      }),
    )
  })
})

test('readBits takes rows out of packed bytes, from any byte on, whatever is missing or follows', () => {
  const given = fc.record({
    bytes: fc.uint8Array({ maxLength: 30 }),
    lead: fc.integer({ min: 0, max: 7 }),
    startByte: fc.integer({ min: 0, max: 20 }),
    length: lengths,
  })
  fc.assert(
    fc.property(given, ({ bytes, lead, startByte, length }) => {
      // Buffers of a file lie at any address.
      const placed = new Uint8Array(lead + bytes.length).subarray(lead)
      placed.set(bytes)
      const into = new Uint32Array(20).fill(0xffffffff)
      const bitmap = readBits(placed, startByte * 8, length, into)
      expect(bitmap).toBe(into)
      const expected = Array.from({ length }, (_, i) => {
        const at = startByte * 8 + i
        return (((bytes[at >> 3] ?? 0) >> (at & 7)) & 1) === 1
      })
      expect(flagsOf(bitmap, length)).toEqual(expected)
      expect(countRows(bitmap, wordsFor(length))).toBe(expected.filter(Boolean).length)
    }),
  )
})

test('a range of rows is taken away, and no others', () => {
  fc.assert(
    fc.property(lengths, fc.nat(200), fc.nat(200), (length, a, b) => {
      const [start, end] = [Math.min(a, b, length), Math.min(Math.max(a, b), length)]
      const bitmap = allRows(length)
      clearRange(bitmap, start, end)
      expect(flagsOf(bitmap, length)).toEqual(Array.from({ length }, (_, row) => row < start || row >= end))
    }),
  )
})
