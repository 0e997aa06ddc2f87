import type { Key, Value } from '../store.ts'
import { writePlainJson } from './plain-json.ts'
import { sealed, sealLength, writeSeal } from './seal.ts'

/** The driver takes the bytes from `start` to `end` of this buffer. */
type Slice = Buffer & { start: number; end: number }

/** Tells the driver that a value is already encoded. */
const binary = '\x10binary-data\x02'

const encoded: { [binary]: Slice } = { [binary]: sliceOf(1 << 14) }

/**
 * Encodes a value as JSON with its checksum, for the driver's `put`. The result is valid until the next call. That
 * is enough inside a transaction, where a put is done when it returns. One shared buffer saves two objects for each
 * value.
 */
export function encodeValue(key: Key, value: Value): Value {
  const end = writeSealed(key, value, encoded[binary])
  if (end >= 0) encoded[binary].end = end
  else writeLong(sealed(key, value))
  return encoded
}

/**
 * Writes the same bytes as {@link sealed}, and returns their end; −1 when the value needs the slow path. This fast
 * path takes 0.9 to 1.5 µs and the slow one 2.7, and a batch of declarations writes two records for each table.
 */
export function writeSealed(key: Key, value: Value, target: Uint8Array): number {
  const end = writePlainJson(value, target, 0)
  if (end < 0) return -1
  // The key is written behind the value to sum up both. Then the checksum overwrites the key.
  const keyEnd = writePlainJson(key, target, end)
  if (keyEnd < 0 || end + sealLength > target.length) return -1
  writeSeal(target, keyEnd, end)
  return end + sealLength
}

function writeLong(text: string): void {
  // A UTF-16 unit takes at most three bytes of UTF-8.
  if (encoded[binary].length < text.length * 3) encoded[binary] = sliceOf(text.length * 3)
  encoded[binary].end = encoded[binary].write(text, 0, 'utf8')
}

function sliceOf(bytes: number): Slice {
  // The driver counts from the start of the underlying memory, so the buffer must not share it.
  return Object.assign(Buffer.allocUnsafeSlow(bytes), { start: 0, end: 0 })
}
