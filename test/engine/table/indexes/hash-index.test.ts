import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TimeSlice } from '../../../../src/base/scheduling/time-slice.ts'
import { BucketTable, bytesOfRow, encodeIndex } from '../../../../src/engine/table/indexes/hash-index.ts'
import { isPresent } from '../../../../src/engine/table/indexes/value-hashes.ts'
import { Draw } from '../../../support/draw.ts'

/** Counts how often work could pause. */
class Pauses extends TimeSlice {
  count = 0

  constructor() {
    super(undefined)
  }

  override get due(): boolean {
    return true
  }

  override async rest(): Promise<void> {
    this.count++
  }
}

test('an index has each row with its hash once, in order, and few others', async () => {
  const indexes = fc.record({
    rows: fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.constantFrom(65_536, 200_000)),
    distinct: fc.constantFrom(1, 50, 2 ** 32),
    nulls: fc.constantFrom(0, 0.3, 1),
    seed: fc.nat(),
  })
  await fc.assert(
    fc.asyncProperty(indexes, async ({ rows, distinct, nulls, seed }) => {
      const draw = new Draw(seed)
      const hashes = Uint32Array.from({ length: rows }, () => Math.imul(draw.below(distinct), 0x9e3779b1))
      const validity = new Uint8Array(nulls === 0 ? 0 : Math.ceil(rows / 8))
      for (let i = 0; i < validity.length * 8; i++) if (!draw.chance(nulls)) validity[i >> 3]! |= 1 << (i & 7)
      const pauses = new Pauses()
      const encoded = await encodeIndex({ hashes, validity }, pauses)
      expect(pauses.count).toBeGreaterThanOrEqual(2 * Math.ceil(rows / 65_536))
      const present = Array.from(hashes.keys()).filter((row) => isPresent(validity, row))
      expect(encoded.rows.length).toBe(present.length * bytesOfRow)
      const table = new BucketTable(encoded.buckets, encoded.rows.length)
      const asked = [draw.below(2 ** 32), ...Array.from({ length: 20 }, () => hashes[draw.below(rows)] ?? 0)]
      for (const hash of asked) {
        const found: number[] = []
        table.rowsOf(hash, ({ start, end }) => encoded.rows.subarray(start, end), found)
        expect(found.every((row, i) => i === 0 || found[i - 1]! < row)).toBe(true)
        const wanted = present.filter((row) => hashes[row] === hash)
        const set = new Set(found)
        expect(set.size).toBe(found.length)
        expect(wanted.every((row) => set.has(row))).toBe(true)
        // Others have another hash in the same bucket, with the same last bits.
        if (distinct > 50) expect(found.length - wanted.length).toBeLessThan(8)
      }
    }),
    { numRuns: 40 },
  )
})

test('bytes that are no table of buckets are refused', async () => {
  const hashes = Uint32Array.from({ length: 1_000 }, (_, i) => i * 4_000_000)
  const { buckets, rows } = await encodeIndex({ hashes, validity: new Uint8Array(0) }, new Pauses())
  expect(new BucketTable(buckets, rows.length).count).toBe(4)
  expect(() => new BucketTable(buckets, rows.length - bytesOfRow)).toThrow(TypeError)
  expect(() => new BucketTable(buckets.slice(0, 28), rows.length)).toThrow(TypeError)
  expect(() => new BucketTable(new Uint8Array(0), 0)).toThrow(TypeError)
})
