import { numberDigits } from '../../base/store/append.ts'
import type { Cut } from '../../base/store/range.ts'
import type { Key } from '../../base/store/store.ts'

/*
 * Keys as bytes that compare as keys do, held as strings with one character for each byte: JavaScript's `<` orders
 * them as the database orders its bytes. Of plain ASCII, the bytes of a text are the text.
 *
 *   \x02  a number: its 64 bits, turned round so that they ascend
 *   \x03  the end of a string, which is below all characters of strings
 *
 * A number's mark is below the end of an empty string, so numbers come first. At most, a key takes one byte more than
 * `maxKeyBytes`, and an index of PostgreSQL holds 2,690.
 */
const numberMark = '\x02'
const stringEnd = '\x03'
const sides = { before: '', after: '\x00', beyond: '\xff' } as const

/** The upper end of all keys. */
export const endOfKeys = '\xff'

const bits = Buffer.alloc(8)

// biome-ignore lint/suspicious/noControlCharactersInRegex: what a byte below 128 can be
const plain = /^[\x00-\x7f]*$/

/** The bytes of a checked key. */
export function bytesOf(key: Key): string {
  let bytes = ''
  for (let i = 0; i < key.length; i++) {
    const part = key[i]!
    bytes += typeof part === 'string' ? bytesOfText(part) + stringEnd : numberMark + bytesOfNumber(part)
  }
  return bytes
}

/** The lowest bytes that are not below a cut. */
export function bytesOfCut({ key, side }: Cut): string {
  return bytesOf(key) + sides[side]
}

export function keyOf(bytes: string): Key {
  const key: (string | number)[] = []
  for (let at = 0; at < bytes.length; ) {
    const isNumber = bytes.startsWith(numberMark, at)
    const end = isNumber ? at + 9 : bytes.indexOf(stringEnd, at)
    key.push(isNumber ? numberOf(bytes.slice(at + 1, end)) : textOf(bytes.slice(at, end)))
    at = isNumber ? end : end + 1
  }
  return key
}

/** The bytes of all prefixes of a key, in whole parts, and of the key itself. Ignores bytes after the last part. */
export function prefixesOfBytes(bytes: string): string[] {
  const prefixes: string[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.startsWith(numberMark, at) ? at + 9 : bytes.indexOf(stringEnd, at) + 1
    if (end <= at || end > bytes.length) break
    prefixes.push(bytes.slice(0, end))
    at = end
  }
  return prefixes
}

/**
 * What the database adds to the bytes of a prefix and the digits of a number, for an appended record: the bytes after
 * the digits, and an upper bound of all digits.
 */
export const afterNumber = { end: stringEnd, bound: ':' } as const

const numberedKey = new RegExp(`(?:^|${stringEnd})[0-9]{${numberDigits}}${stringEnd}$`)

/** Whether a record may be one that the database numbers. */
export function isNumbered(bytes: string): boolean {
  return numberedKey.test(bytes)
}

/** The bytes of the prefix of a numbered record. */
export function prefixOfNumbered(bytes: string): string {
  return bytes.slice(0, -numberDigits - stringEnd.length)
}

function bytesOfText(text: string): string {
  return plain.test(text) ? text : Buffer.from(text).toString('latin1')
}

function textOf(bytes: string): string {
  return plain.test(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString()
}

/** Negative numbers have all bits inverted, others the sign bit only. */
function bytesOfNumber(value: number): string {
  bits.writeDoubleBE(value)
  turn(bits[0]! >= 0x80)
  return bits.toString('latin1')
}

function numberOf(bytes: string): number {
  bits.write(bytes, 'latin1')
  turn(bits[0]! < 0x80)
  return bits.readDoubleBE()
}

function turn(all: boolean): void {
  if (!all) bits[0]! ^= 0x80
  else for (let i = 0; i < bits.length; i++) bits[i]! ^= 0xff
}
