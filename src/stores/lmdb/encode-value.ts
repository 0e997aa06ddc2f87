import { crc32 } from 'node:zlib'
import { type CatalogRecord, compactFormat, keys } from '../../base/store/records.ts'
import type { Key, Value } from '../../base/store/store.ts'
import { readCompact, writeCompact } from './compact-value.ts'

/*
 * LMDB has no checksums, so each value carries a checksum of itself and its key: the seal. Only an inspection of the file
 * compares the seals. A value is in one of two forms, and its first byte tells which:
 *
 * - compact, behind the byte 1, with the seal in its last four bytes;
 * - JSON, with the seal as white space behind it: two bits in each of 16 characters, which a parser skips. Releases
 *   before format 7 know only this one. It also takes what has no compact form.
 */

/** The first byte of a compact value. No JSON text begins with it. */
const compactMark = 1

/** The bytes of the seal of a compact value. */
const compactSeal = 4

/** The driver reads the bytes from `start` to `end` of this buffer. */
type Slice = Buffer & { start: number; end: number }

/** Marks a value as already encoded, for the driver. */
const binary = '\x10binary-data\x02'

const encoded = { [binary]: sliceOf(1 << 14), bytes: 0 }

/**
 * The memory of the buffer, without members of its own: with them, V8 does not compile the writing of its bytes in a
 * process with the driver. Then a record takes 6 µs, and 1 µs through this buffer.
 */
let plain: Buffer = Buffer.from(encoded[binary].buffer)

/**
 * Encodes a value with its checksum, for the driver's `put`. The result is valid until the next call. That is enough
 * inside a transaction, where a put is done when it returns. One shared buffer saves two objects for each value.
 */
export function encodeValue(key: Key, value: Value): { readonly bytes: number } {
  const isCatalog = key.length === 1 && key[0] === keys.catalog[0]
  if (isCatalog) return encodeAsJson(key, ofCompactFormat(value as CatalogRecord))
  const end = writeSealed(key, value, plain)
  if (end < 0) return encodeAsJson(key, value)
  encoded.bytes = end
  encoded[binary].end = end
  return encoded
}

/** As {@link encodeValue}, in the form that all releases read. */
export function encodeAsJson(key: Key, value: Value): { readonly bytes: number } {
  encoded.bytes = writeLong(sealed(key, value))
  encoded[binary].end = encoded.bytes
  return encoded
}

/**
 * The catalog's record of itself with a format that earlier releases refuse, since they cannot read compact values. It is
 * JSON for ever, so that they can read what they refuse.
 */
export function ofCompactFormat(record: CatalogRecord): CatalogRecord {
  return record.v < compactFormat ? { ...record, v: compactFormat } : record
}

/** Writes a compact value with its seal, and returns the end; −1 when it has no such form. */
function writeSealed(key: Key, value: Value, target: Buffer): number {
  target[0] = compactMark
  const end = writeCompact(value, target, 1)
  if (end < 0) return -1
  // The key is written after the value for the checksum of both. Then the checksum overwrites the key.
  const keyEnd = writeCompact(key, target, end)
  if (keyEnd < 0 || end + compactSeal > target.length) return -1
  target.writeUInt32LE(crcOf(target, keyEnd), end)
  return end + compactSeal
}

function writeLong(text: string): number {
  // A UTF-16 unit takes at most three bytes of UTF-8.
  if (encoded[binary].length < text.length * 3) {
    encoded[binary] = sliceOf(text.length * 3)
    plain = Buffer.from(encoded[binary].buffer)
  }
  return encoded[binary].write(text, 0, 'utf8')
}

function sliceOf(bytes: number): Slice {
  // The driver counts from the start of the underlying memory, so the buffer must not share it.
  return Object.assign(Buffer.allocUnsafeSlow(bytes), { start: 0, end: 0 })
}

/** The memory of the bytes that were read last, without members of its own: the driver has one buffer for most values. */
let source: Buffer = Buffer.alloc(0)

/** Decodes a value, in either form. Throws a `SyntaxError` for anything else. */
export function decodeValue(bytes: Uint8Array): Value {
  const { length } = bytes
  if (source.buffer !== bytes.buffer || source.byteOffset !== bytes.byteOffset)
    source = Buffer.from(bytes.buffer, bytes.byteOffset)
  if (source[0] === compactMark) return readCompact(source, 1, length - compactSeal) as Value
  return JSON.parse(source.toString('utf8', 0, length))
}

const blanks = [' ', '\t', '\n', '\r']

/** The four characters for each byte. */
const spelled = Array.from({ length: 256 }, (_, byte) =>
  [6, 4, 2, 0].map((shift) => blanks[(byte >> shift) & 3]!).join(''),
)

/** The length of the seal of JSON, in characters and in bytes. */
const sealLength = 16

/** A value as JSON with its checksum. */
export function sealed(key: Key, value: Value): string {
  const text = JSON.stringify(value)
  return text + spell(checksum(key, text))
}

/** Checks the bytes of a value: `unsealed` without a checksum, `damaged` with a wrong one, undefined when sound. */
export function sealFault(key: Key, bytes: Buffer): 'unsealed' | 'damaged' | undefined {
  if (bytes[0] === compactMark) return isSealedCompact(key, bytes) ? undefined : 'damaged'
  const end = bytes.length - sealLength
  const text = bytes.subarray(0, Math.max(end, 0))
  if (end > 0 && bytes.toString('latin1', end) === spell(checksum(key, text))) return undefined
  // A text that does not end in white space was written without a checksum.
  return isText(bytes) && !blanks.includes(String.fromCharCode(bytes.at(-1)!)) ? 'unsealed' : 'damaged'
}

function isSealedCompact(key: Key, bytes: Buffer): boolean {
  const end = bytes.length - compactSeal
  const keyEnd = writeCompact(key, plain, 0)
  if (end < 1 || keyEnd < 0) return false
  return crc32(plain.subarray(0, keyEnd), crc32(bytes.subarray(0, end))) === bytes.readUInt32LE(end)
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
