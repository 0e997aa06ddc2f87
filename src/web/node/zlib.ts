/*
 * The part of `node:zlib` that a catalog in memory needs. Browsers compress streams, but have no checksums and no ZSTD.
 */

import { unavailable } from '../unavailable.ts'

export const deflateRawSync = unavailable('A store with inline objects')
export const inflateRawSync = deflateRawSync

/** The slicing-by-8 tables: the contribution of each byte at each of the eight positions in a step. */
const tables = Array.from({ length: 8 }, () => new Uint32Array(256))
for (let byte = 0; byte < 256; byte++) {
  let sum = byte
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1
  tables[0]![byte] = sum
}
for (let place = 1; place < 8; place++) {
  for (let byte = 0; byte < 256; byte++) {
    const before = tables[place - 1]![byte]!
    tables[place]![byte] = tables[0]![before & 255]! ^ (before >>> 8)
  }
}

/** The CRC-32 of data that follows data of checksum `before`. Eight bytes a step: single bytes took 4 times as long. */
export function crc32(data: string | Uint8Array, before = 0): number {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data
  const [t0, t1, t2, t3, t4, t5, t6, t7] = tables as [
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
  ]
  let sum = ~before
  let at = 0
  for (; at + 8 <= bytes.length; at += 8) {
    sum ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
    sum =
      t7[sum & 255]! ^
      t6[(sum >>> 8) & 255]! ^
      t5[(sum >>> 16) & 255]! ^
      t4[sum >>> 24]! ^
      t3[bytes[at + 4]!]! ^
      t2[bytes[at + 5]!]! ^
      t1[bytes[at + 6]!]! ^
      t0[bytes[at + 7]!]!
  }
  for (; at < bytes.length; at++) sum = t0[(sum ^ bytes[at]!) & 255]! ^ (sum >>> 8)
  return ~sum >>> 0
}
