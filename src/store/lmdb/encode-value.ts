import type { Key, Value } from '../store.ts'
import { writePlainJson } from './plain-json.ts'
import { sealed, sealLength, writeSeal } from './seal.ts'

/** A buffer of which the driver takes the bytes from `start` to `end`. */
type Piece = Buffer & { start: number; end: number }

/** How the driver is told that a value is bytes already. */
const binary = '\x10binary-data\x02'

const encoded: { [binary]: Piece } = { [binary]: pieceOf(1 << 14) }

/**
 * A value as the driver's `put` takes it, written out as JSON with its checksum. Good until the next call, which
 * is enough inside a transaction, where a put is done when it returns. One buffer for all values spares two
 * objects for each.
 */
export function encodeValue(key: Key, value: Value): Value {
  const end = writeSealed(key, value, encoded[binary])
  if (end >= 0) encoded[binary].end = end
  else writeLong(sealed(key, value))
  return encoded
}

/**
 * Writes what {@link sealed} gives, and answers with where it ends; −1 when that takes the long way. The short one
 * takes 0.9 to 1.5 µs where the long one takes 2.7, and a batch of declarations writes two records for each.
 */
export function writeSealed(key: Key, value: Value, target: Uint8Array): number {
  const end = writePlainJson(value, target, 0)
  if (end < 0) return -1
  // The checksum is of the value and the key behind it. Then it takes the key's place.
  const keyEnd = writePlainJson(key, target, end)
  if (keyEnd < 0 || end + sealLength > target.length) return -1
  writeSeal(target, keyEnd, end)
  return end + sealLength
}

function writeLong(text: string): void {
  // No character of a string takes more than three bytes.
  if (encoded[binary].length < text.length * 3) encoded[binary] = pieceOf(text.length * 3)
  encoded[binary].end = encoded[binary].write(text, 0, 'utf8')
}

function pieceOf(bytes: number): Piece {
  // The driver counts from the beginning of the memory that a buffer lies in, so it must have its own.
  return Object.assign(Buffer.allocUnsafeSlow(bytes), { start: 0, end: 0 })
}
