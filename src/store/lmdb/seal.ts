import { crc32 } from 'node:zlib'
import type { Key, Value } from '../store.ts'

/*
 * LMDB has no checksums. So each value carries one, of itself and its key, as white space behind its JSON
 * text: four characters for a byte, two bits each. Whoever parses the text skips it, so that reading costs
 * what it costs without; only an inspection of the file looks at it.
 */

const blanks = [' ', '\t', '\n', '\r']
const blankBytes = blanks.map((blank) => blank.charCodeAt(0))

/** The four characters that stand for each byte. */
const spelled = Array.from({ length: 256 }, (_, byte) =>
  [6, 4, 2, 0].map((shift) => blanks[(byte >> shift) & 3]!).join(''),
)

/** A checksum takes so many characters, and bytes. */
export const sealLength = 16

/** A value as JSON with its checksum. */
export function sealed(key: Key, value: Value): string {
  const text = JSON.stringify(value)
  return text + spell(checksum(key, text))
}

/** Writes, at `at`, the checksum of the bytes before `end`. */
export function writeSeal(bytes: Uint8Array, end: number, at: number): void {
  const sum = crcOf(bytes, end)
  for (let i = 0; i < sealLength; i++) bytes[at + i] = blankBytes[(sum >>> (30 - 2 * i)) & 3]!
}

/** What is wrong with the bytes under a key: nothing, that they carry no checksum, or that it is not theirs. */
export function sealFault(key: Key, bytes: Buffer): 'unsealed' | 'damaged' | undefined {
  const end = bytes.length - sealLength
  const text = bytes.subarray(0, Math.max(end, 0))
  if (end > 0 && bytes.toString('latin1', end) === spell(checksum(key, text))) return undefined
  // A text that ends in none of the characters was written without a checksum.
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

/** For each byte, what it does to a checksum (CRC-32, as zlib's); then the same with one to three zeros behind it. */
const [none, one, two, three] = tables()

/** The checksum of the first bytes: zlib's, which a call takes longer to reach than a record takes to sum up. */
export function crcOf(bytes: Uint8Array, end: number): number {
  let sum = -1
  let at = 0
  // Four bytes at a time: four looks that need not wait for each other.
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
