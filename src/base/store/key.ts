import { invalid } from '../errors.ts'
import { type Key, maxKeyBytes } from './store.ts'

/** Encoded keys use the characters below this one for other purposes. */
const firstCharacter = 5

/** A number in a key takes a control nibble and its 64 bits, rounded up to whole bytes. */
const numberBytes = 9

/**
 * Compares two strings by code points, which is the order of their UTF-8 bytes: negative when `a` comes
 * first, zero when they are equal. JavaScript's own order differs above U+D7FF.
 */
export function compareStrings(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return x < 0xd800 || y < 0xd800 ? x - y : rank(x) - rank(y)
  }
  return a.length - b.length
}

/** Puts surrogates, which stand for code points above U+FFFF, after the units U+E000 to U+FFFF. */
function rank(unit: number): number {
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

/**
 * Compares two keys in the order of the store: negative when `a` comes first, zero when they are equal.
 * Numbers come before strings, strings are compared by code points, and a key comes before its extensions.
 * The bytes that the `ordered-binary` package encodes keys to have the same order.
 */
export function compareKeys(a: Key, b: Key): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a[i]!
    const y = b[i]!
    if (x === y) continue
    if (typeof x === 'number') {
      if (typeof y === 'string' || x < y) return -1
      return 1
    }
    if (typeof y === 'number') return 1
    return compareStrings(x, y)
  }
  return a.length - b.length
}

/** Whether `key` equals `prefix` or extends it. */
export function beginsWith(key: Key, prefix: Key): boolean {
  if (key.length < prefix.length) return false
  for (let i = 0; i < prefix.length; i++) if (key[i] !== prefix[i]) return false
  return true
}

/**
 * Checks a key. Returns the same array, or a copy when a negative zero in it becomes zero. Refuses with
 * `InvalidInput` a key that no store can hold. Such a key is empty, has more than {@link maxKeyBytes} encoded bytes,
 * or has an invalid part. Valid parts are finite numbers and well-formed strings of characters from U+0005.
 */
export function checkedKey(key: Key): Key {
  if (key.length === 0) throw invalid('A key of the store has no parts: give it at least one.')
  let bytes = key.length - 1
  let negativeZero = false
  for (let i = 0; i < key.length; i++) {
    const part = key[i]
    if (typeof part === 'string') {
      bytes += stringBytes(part, i)
    } else if (typeof part === 'number' && Number.isFinite(part)) {
      bytes += numberBytes
      if (part === 0 && 1 / part < 0) negativeZero = true
    } else {
      throw invalid(
        `Part ${i} of a key is ${describe(part)}: a key holds strings and finite numbers, use one of them.`,
      )
    }
  }
  if (bytes > maxKeyBytes) {
    throw invalid(`A key takes ${bytes} bytes and at most ${maxKeyBytes} fit: use shorter names.`)
  }
  return negativeZero ? key.map((part) => (part === 0 ? 0 : part)) : key
}

function stringBytes(text: string, part: number): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) {
      if (unit < firstCharacter) {
        throw invalid(
          `Part ${part} of a key holds the control character ${unit} at position ${i}: leave it out.`,
        )
      }
    } else if (unit < 0x800) {
      bytes += 1
    } else if (unit < 0xd800 || unit >= 0xe000) {
      bytes += 2
    } else {
      // A pair is two units and four bytes.
      const next = text.charCodeAt(i + 1)
      if (unit >= 0xdc00 || !(next >= 0xdc00 && next < 0xe000)) {
        throw invalid(
          `Part ${part} of a key holds half of a surrogate pair at position ${i}: use well-formed text.`,
        )
      }
      bytes += 2
      i++
    }
  }
  // An escape byte precedes a string that could be mistaken for another type.
  return text.length === 0 || text.charCodeAt(0) < 28 ? bytes + 1 : bytes
}

function describe(part: unknown): string {
  return typeof part === 'number' ? String(part) : part === null ? 'null' : `of type ${typeof part}`
}
