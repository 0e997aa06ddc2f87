import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Values } from '../../../../src/engine/arrow/batch.ts'
import { copyBitRuns, copyRuns, shiftOffsets } from '../../../../src/engine/arrow/take/copy-runs.ts'
import { rowsAt, rowsOfRuns } from '../../../../src/engine/arrow/take/runs.ts'

const length = 2_000

const arrays = [
  Int8Array,
  Uint8Array,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
]

/** Short runs for the most part, in any order, some empty, and now and then a long one. */
const runs = fc
  .array(fc.tuple(fc.nat(length), fc.oneof({ weight: 8, arbitrary: fc.nat(4) }, fc.nat(400))), {
    maxLength: 100,
  })
  .map((parts) => Int32Array.from(parts.flatMap(([start, size]) => [start, Math.min(start + size, length)])))

const rowsOf = (of: Int32Array) => {
  const rows: number[] = []
  for (let i = 0; i < of.length; i += 2) for (let row = of[i]!; row < of[i + 1]!; row++) rows.push(row)
  return rows
}

/** Elements of all bits, so numbers that are none, too. */
function randomValues(Numbers: (typeof arrays)[number], width: number): Values {
  const bytes = new Uint8Array(8 + length * width * Numbers.BYTES_PER_ELEMENT)
  let state = 7
  for (let i = 0; i < bytes.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0
    bytes[i] = i % 3 === 0 ? 0xff : state >>> 24
  }
  return new Numbers(bytes.buffer, 8, length * width)
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Values) => new Uint8Array(buffer, byteOffset, byteLength)

test.each(
  arrays.flatMap((Numbers) => [1, 2, 3, 24].map((width) => ({ Numbers, width, name: Numbers.name }))),
)('runs of $width × $name are copied bit by bit, behind what is there', ({ Numbers, width }) => {
  const source = randomValues(Numbers, width)
  const size = width * Numbers.BYTES_PER_ELEMENT
  const given = bytesOf(source)
  fc.assert(
    fc.property(runs, runs, (first, second) => {
      const rows = [...rowsOf(first), ...rowsOf(second)]
      const target = new Numbers(rows.length * width)
      const middle = copyRuns(source, first, width, target, 0)
      expect(middle).toBe(rowsOfRuns(first) * width)
      expect(copyRuns(source, second, width, target, middle)).toBe(rows.length * width)
      const expected = Buffer.concat(rows.map((row) => given.subarray(row * size, (row + 1) * size)))
      expect(expected.equals(bytesOf(target))).toBe(true)
    }),
    { numRuns: 30 },
  )
})

test('runs of bits are copied, and the rows of runs are told in their order', () => {
  const source = bytesOf(randomValues(Uint8Array, 1))
  const bit = (bytes: Uint8Array, at: number) => (bytes[at >> 3]! >> (at & 7)) & 1
  fc.assert(
    fc.property(runs, fc.nat(9), (of, to) => {
      const rows = rowsOf(of)
      expect([...rowsAt(of)]).toEqual(rows)
      expect(rowsOfRuns(of)).toBe(rows.length)
      const target = new Uint8Array(Math.ceil((to + rows.length) / 8))
      expect(copyBitRuns(source, of, target, to)).toBe(to + rows.length)
      expect(rows.map((_, i) => bit(target, to + i))).toEqual(rows.map((row) => bit(source, row)))
    }),
  )
})

test('offsets of runs follow each other, and name the same values', () => {
  const offsets = new Int32Array(length + 1)
  for (let i = 0; i < length; i++) offsets[i + 1] = offsets[i]! + ((i * 7919) % 5 === 0 ? 0 : i % 7)
  fc.assert(
    fc.property(runs, fc.nat(100), (of, at) => {
      const rows = rowsOf(of)
      const target = new Int32Array(rows.length + 1)
      target[0] = at
      const shifted = shiftOffsets(offsets, of, target, 0, at)
      expect(rowsOf(shifted.runs)).toEqual(
        rows.flatMap((row) => rowsOf(Int32Array.of(offsets[row]!, offsets[row + 1]!))),
      )
      expect([...target.subarray(1)].map((end, i) => end - target[i]!)).toEqual(
        rows.map((row) => offsets[row + 1]! - offsets[row]!),
      )
      expect(shifted.end).toBe(target.at(-1))
    }),
  )
})
