import { crc32 } from 'node:zlib'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { isPresent, type ValueHashes } from './value-hashes.ts'

/*
 * An index has the rows of a fragment in buckets, by the first bits of the hashes of their values. A bucket has the
 * last 16 bits of each hash, followed by the 32 bits of each row number, both in the order of rows: six bytes for a
 * row. Nulls are in no bucket. The table of buckets has where each one begins, counted in rows, where the last one
 * ends, and the CRC-32 of each. All numbers are little-endian.
 */

/** Rows of a bucket, on average. Reading so many takes as long as reading one. */
const bucketRows = 256
/** With the last 16 bits of a hash, these are all of its bits. */
const maxBits = 16

/** Half words that a row takes in a bucket: one for the hash, two for the number. */
const halvesOfRow = 3
/** Bytes that a row takes. */
export const bytesOfRow = 6

/** Rows between two checks of the clock. */
const sliceRows = 65_536

/** The bytes of an index. */
export interface EncodedIndex {
  readonly buckets: Uint8Array
  readonly rows: Uint8Array
}

/** Writes an index of the rows of a fragment, by the hashes of their values. */
export async function encodeIndex(
  { hashes, validity }: ValueHashes,
  timeSlice: TimeSlice,
): Promise<EncodedIndex> {
  const bits = Math.min(maxBits, Math.max(0, Math.ceil(Math.log2(hashes.length / bucketRows))))
  const count = 2 ** bits
  const table = new Uint32Array(2 * count + 1)
  const starts = table.subarray(0, count + 1)
  const { length } = hashes
  for (let start = 0; start < length; start += sliceRows) {
    const end = Math.min(start + sliceRows, length)
    for (let row = start; row < end; row++) {
      if (isPresent(validity, row)) starts[bucketOf(hashes[row]!, bits) + 1]!++
    }
    if (timeSlice.due) await timeSlice.rest()
  }
  for (let bucket = 0; bucket < count; bucket++) starts[bucket + 1]! += starts[bucket]!
  const halves = new Uint16Array(starts[count]! * halvesOfRow)
  const next = starts.slice(0, count)
  for (let start = 0; start < length; start += sliceRows) {
    const end = Math.min(start + sliceRows, length)
    for (let row = start; row < end; row++) {
      if (!isPresent(validity, row)) continue
      const hash = hashes[row]!
      const bucket = bucketOf(hash, bits)
      const first = starts[bucket]!
      const at = next[bucket]!++
      const numbers = first * halvesOfRow + (starts[bucket + 1]! - first) + (at - first) * 2
      halves[first * halvesOfRow + (at - first)] = hash
      halves[numbers] = row
      halves[numbers + 1] = row >>> 16
    }
    if (timeSlice.due) await timeSlice.rest()
  }
  const rows = new Uint8Array(halves.buffer)
  for (let bucket = 0; bucket < count; bucket++) {
    const [start, end] = [starts[bucket]! * bytesOfRow, starts[bucket + 1]! * bytesOfRow]
    table[count + 1 + bucket] = crc32(rows.subarray(start, end))
    if ((bucket & 1023) === 1023 && timeSlice.due) await timeSlice.rest()
  }
  return { buckets: new Uint8Array(table.buffer), rows }
}

function bucketOf(hash: number, bits: number): number {
  return bits === 0 ? 0 : hash >>> (32 - bits)
}

/** Part of the bytes of all buckets. */
export interface Bucket {
  readonly start: number
  readonly end: number
  readonly crc: number
}

/** The table of the buckets of an index. */
export class BucketTable {
  readonly #table: Uint32Array
  readonly #bits: number

  /** Throws a `TypeError` for bytes that no index has. */
  constructor(bytes: Uint8Array, bytesOfRows: number) {
    this.#table = new Uint32Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length >>> 2)
    this.#bits = Math.log2(this.count)
    if (!Number.isInteger(this.#bits) || this.#table[this.count] !== bytesOfRows / bytesOfRow) {
      throw new TypeError('no table of buckets')
    }
  }

  get bytes(): number {
    return this.#table.byteLength
  }

  /** How many buckets there are. */
  get count(): number {
    return (this.#table.length - 1) / 2
  }

  /** The buckets of some hashes, each once. */
  bucketsOf(hashes: Uint32Array): readonly Bucket[] {
    const numbers = new Set<number>()
    for (const hash of hashes) numbers.add(bucketOf(hash, this.#bits))
    return Array.from(numbers, (number) => this.#bucket(number))
  }

  #bucket(number: number): Bucket {
    const table = this.#table
    const start = table[number]! * bytesOfRow
    return { start, end: table[number + 1]! * bytesOfRow, crc: table[this.count + 1 + number]! }
  }

  /** Adds the rows of a hash to `into`. `bytesOf` returns those of its bucket. */
  rowsOf(hash: number, bytesOf: (bucket: Bucket) => Uint8Array, into: number[]): void {
    const bucket = this.#bucket(bucketOf(hash, this.#bits))
    const bytes = bytesOf(bucket)
    const halves = new Uint16Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length >>> 1)
    const count = halves.length / halvesOfRow
    const wanted = hash & 0xffff
    for (let i = 0; i < count; i++) {
      if (halves[i] === wanted) into.push(halves[count + i * 2]! | (halves[count + i * 2 + 1]! << 16))
    }
  }
}
