import { crc32 } from 'node:zlib'
import type { Key, Value } from '../../base/store/store.ts'

/*
 * LMDB has no checksums, so each value carries a checksum of itself and its key: the seal. It is white space after the
 * JSON text, with two bits for each character. A JSON parser skips white space, so reads cost no more. Only an
 * inspection of the file compares the seals.
 */

const blanks = [' ', '\t', '\n', '\r']
const blankBytes = blanks.map((blank) => blank.charCodeAt(0))

/** The four characters for each byte. */
const spelled = Array.from({ length: 256 }, (_, byte) =>
  [6, 4, 2, 0].map((shift) => blanks[(byte >> shift) & 3]!).join(''),
)

/** The length of a checksum, in characters and in bytes. */
export const sealLength = 16

/** A value as JSON with its checksum. */
export function sealed(key: Key, value: Value): string {
  const text = JSON.stringify(value)
  return text + spell(checksum(key, text))
}

/** Writes the checksum of the bytes before `end` at the index `at`. */
export function writeSeal(bytes: Uint8Array, end: number, at: number): void {
  const sum = crcOf(bytes, end)
  for (let i = 0; i < sealLength; i++) bytes[at + i] = blankBytes[(sum >>> (30 - 2 * i)) & 3]!
}

/** Checks the bytes of a value: `unsealed` without a checksum, `damaged` with a wrong one, undefined when sound. */
export function sealFault(key: Key, bytes: Buffer): 'unsealed' | 'damaged' | undefined {
  const end = bytes.length - sealLength
  const text = bytes.subarray(0, Math.max(end, 0))
  if (end > 0 && bytes.toString('latin1', end) === spell(checksum(key, text))) return undefined
  // A text that does not end in white space was written without a checksum.
  return isText(bytes) && !blanks.includes(String.fromCharCode(bytes.at(-1)!)) ? 'unsealed' : 'damaged'
}

function checksum(key: Key, text: string | Buffer): number {
  return crc32(JSON.stringify(key), crc32(text))
}

function spell(sum: number): string {
  return (
    spelled[sum >>> 24]! + spelled[(sum >>> 16) & 255]! + spelled[(sum >>> 8) & 255]! + spelled[sum & 255]!
  )
}

function isText(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString())
    return true
  } catch {
    return false
  }
}

/** The tables of CRC-32 (as zlib's): for each byte, its effect on the sum when zero to three bytes follow. */
const [none, one, two, three] = tables()

/** The CRC-32 of the bytes before `end`. Calling into zlib takes longer than this sum of a whole record. */
export function crcOf(bytes: Uint8Array, end: number): number {
  let sum = -1
  let at = 0
  // Four bytes at a time: the four table lookups do not depend on each other.
  for (; at + 4 <= end; at += 4) {
    sum ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
    sum = three[sum & 255]! ^ two[(sum >>> 8) & 255]! ^ one[(sum >>> 16) & 255]! ^ none[sum >>> 24]!
  }
  for (; at < end; at++) sum = none[(sum ^ bytes[at]!) & 255]! ^ (sum >>> 8)
  return ~sum >>> 0
}

function tables(): readonly [Int32Array, Int32Array, Int32Array, Int32Array] {
  const first = new Int32Array(256).map((_, byte) => {
    let sum = byte
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1
    return sum
  })
  const behind = (table: Int32Array) => table.map((sum) => first[sum & 255]! ^ (sum >>> 8))
  const second = behind(first)
  const third = behind(second)
  return [first, second, third, behind(third)]
}
