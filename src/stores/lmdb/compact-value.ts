import { knownTexts } from './known-texts.ts'

/*
 * A compact form of plain values: what most records and keys are made of. A byte tells what follows, and small things lie
 * in that byte. Texts that many records have are numbers, and a ULID takes 16 bytes. A value without such a form is
 * JSON; see `encode-value.ts`.
 */

/** Below this byte lie whole numbers themselves. */
const smallNumbers = 0x40
/** From here on: an ASCII text of up to 31 characters. */
const shortText = 0x40
/** A list of up to 15 values. */
const shortList = 0x60
/** An object of up to 15 members, each a text and a value. */
const shortObject = 0x70
/** A known text, by its number. */
const known = 0x80
const inOneByte = 80
/** An object of up to 15 members after a first one, which is `v: 1`: that of nearly all records. */
const shortRecord = 0xd0
/** A known text, by its number minus {@link inOneByte} in the next byte. */
const knownFurther = 0xe0
const nothing = 0xe1
const yes = 0xe2
const no = 0xe3
/** A whole number, seven bits in a byte, the lowest first. */
const number = 0xe4
/** Texts of ASCII and of UTF-8, lists and objects: such a number says how many bytes, values or members follow. */
const asciiText = 0xe5
const utf8Text = 0xe6
const list = 0xe7
const object = 0xe8
const ulid = 0xe9
/** The whole number that was last written as such, again: a change begins and ends at the same time. */
const sameNumber = 0xea

/** The deepest nesting of lists and objects. Entries of the feed need 5, for the versions of a change. It stops a cycle. */
const maxDepth = 5

/** Longer texts are left to JSON. */
const maxTextLength = 1024

/**
 * Room for anything but a text. Writing beyond the end of a typed array does nothing, but V8 then makes every later write
 * of this process two to three times as slow.
 */
const room = 24

const numbersOfTexts = new Map(knownTexts.map((text, i) => [text, i]))
const longestKnown = Math.max(...knownTexts.map(({ length }) => length))

const ulidLength = 26
const ulidBytes = 16
const ulidDigits = Buffer.from('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 'latin1')
/** The value of each digit of a ULID; 255 for other characters. */
const ulidValues = new Uint8Array(128).fill(255)
for (const [value, digit] of ulidDigits.entries()) ulidValues[digit] = value

/** The current position. One variable for all calls saves an object for each. */
let at = 0

/** The last whole number of the value that took bytes of its own. */
let lastNumber = 0

/** Writes a value at `start`, and returns the end; −1 when the value has no compact form, or does not fit. */
export function writeCompact(value: unknown, target: Buffer, start: number): number {
  at = start
  lastNumber = 0
  return writeAny(value, target, maxDepth) ? at : -1
}

function writeAny(value: unknown, target: Buffer, depth: number): boolean {
  if (at + room > target.length) return false
  if (typeof value === 'string') return writeText(value, target)
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value) || value < 0) return false
    if (value < smallNumbers) target[at++] = value
    else if (value === lastNumber) target[at++] = sameNumber
    else {
      lastNumber = value
      writeNumber(number, value, target)
    }
    return true
  }
  if (value === null || typeof value === 'boolean') {
    target[at++] = value === null ? nothing : value ? yes : no
    return true
  }
  if (typeof value !== 'object' || depth === 0) return false
  if ((value as { toJSON?: unknown }).toJSON !== undefined) return false
  if (Array.isArray(value)) return writeList(value, target, depth - 1)
  return Object.getPrototypeOf(value) === Object.prototype && writeObject(value, target, depth - 1)
}

function writeNumber(tag: number, value: number, target: Buffer): void {
  target[at++] = tag
  let rest = value
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) target[at++] = (rest % 0x80) | 0x80
  target[at++] = rest
}

/** Writes a count of up to 15 into the byte itself. */
function writeCount(short: number, long: number, count: number, target: Buffer): void {
  if (count < 16) target[at++] = short + count
  else writeNumber(long, count, target)
}

function writeText(text: string, target: Buffer): boolean {
  const { length } = text
  if (length <= longestKnown) {
    const found = numbersOfTexts.get(text)
    if (found !== undefined) {
      if (found >= inOneByte) target[at++] = knownFurther
      target[at++] = found < inOneByte ? known + found : found - inOneByte
      return true
    }
  } else if (length === ulidLength && writeUlid(text, target)) return true
  // A UTF-16 unit takes at most three bytes of UTF-8.
  if (length > maxTextLength || at + 3 * length + room > target.length) return false
  const start = at
  if (length < 32) target[at++] = shortText + length
  else writeNumber(asciiText, length, target)
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i)
    if (unit > 0x7f) {
      at = start
      return writeUtf8(text, target)
    }
    target[at++] = unit
  }
  return true
}

function writeUtf8(text: string, target: Buffer): boolean {
  if (!text.isWellFormed()) return false
  writeNumber(utf8Text, Buffer.byteLength(text), target)
  at += target.write(text, at)
  return true
}

/** 26 digits of five bits, of which the first has three: 128 bits. */
function writeUlid(text: string, target: Buffer): boolean {
  for (let i = 0; i < ulidLength; i++) {
    const unit = text.charCodeAt(i)
    if (unit > 0x7f || ulidValues[unit] === 255) return false
  }
  const digit = (i: number) => ulidValues[text.charCodeAt(i)]!
  if (digit(0) > 7) return false
  target[at++] = ulid
  target[at++] = (digit(0) << 5) | digit(1)
  for (let i = 2; i < ulidLength; i += 8) {
    const high = (digit(i) << 15) | (digit(i + 1) << 10) | (digit(i + 2) << 5) | digit(i + 3)
    const low = (digit(i + 4) << 15) | (digit(i + 5) << 10) | (digit(i + 6) << 5) | digit(i + 7)
    target[at++] = high >>> 12
    target[at++] = high >>> 4
    target[at++] = (high << 4) | (low >>> 16)
    target[at++] = low >>> 8
    target[at++] = low
  }
  return true
}

function writeList(items: readonly unknown[], target: Buffer, depth: number): boolean {
  writeCount(shortList, list, items.length, target)
  for (let i = 0; i < items.length; i++) if (!writeAny(items[i], target, depth)) return false
  return true
}

function writeObject(members: object, target: Buffer, depth: number): boolean {
  let count = 0
  let isRecord = false
  for (const name in members) {
    const member = (members as Record<string, unknown>)[name]
    if (member === undefined) continue
    if (count++ === 0) isRecord = name === 'v' && member === 1
  }
  if (isRecord && count <= 16) target[at++] = shortRecord + count - 1
  else {
    isRecord = false
    writeCount(shortObject, object, count, target)
  }
  for (const name in members) {
    const member = (members as Record<string, unknown>)[name]
    if (member === undefined) continue
    if (isRecord) {
      isRecord = false
      continue
    }
    // A reader that assigns this member would set the prototype.
    if (name === '__proto__' || at + room > target.length) return false
    if (!writeText(name, target) || !writeAny(member, target, depth)) return false
  }
  return true
}

/** Where the value ends that is read. */
let end = 0

/** Reads the value from `start` up to `stop`. Throws a `SyntaxError`, as JSON.parse does, where there is none. */
export function readCompact(source: Buffer, start: number, stop: number): unknown {
  at = start
  end = stop
  lastNumber = 0
  const value = readAny(source, maxDepth)
  if (at !== end) throw damaged()
  return value
}

function readAny(source: Buffer, depth: number): unknown {
  if (at >= end) throw damaged()
  const tag = source[at++]!
  if (tag < smallNumbers) return tag
  if (tag < shortList) return readLatin1(source, tag - shortText)
  if (tag < shortObject) return readList(source, tag - shortList, depth - 1)
  if (tag < known) return readObject(source, {}, tag - shortObject, depth - 1)
  if (tag < shortRecord) return knownText(tag - known)
  if (tag < knownFurther) return readObject(source, { v: 1 }, tag - shortRecord, depth - 1)
  switch (tag) {
    case knownFurther:
      return knownText(inOneByte + source[at++]!)
    case nothing:
      return null
    case yes:
      return true
    case no:
      return false
    case number:
      lastNumber = readNumber(source)
      return lastNumber
    case sameNumber:
      return lastNumber
    case asciiText:
      return readLatin1(source, readNumber(source))
    case utf8Text: {
      const from = passed(readNumber(source))
      return source.toString('utf8', from, at)
    }
    case list:
      return readList(source, readNumber(source), depth - 1)
    case object:
      return readObject(source, {}, readNumber(source), depth - 1)
    case ulid:
      return readUlid(source)
    default:
      throw damaged()
  }
}

function knownText(number: number): string {
  const text = knownTexts[number]
  if (text === undefined) throw damaged()
  return text
}

function readNumber(source: Buffer): number {
  let value = 0
  for (let unit = 1; at < end; unit *= 0x80) {
    const byte = source[at++]!
    value += (byte & 0x7f) * unit
    if (byte < 0x80) return value
  }
  throw damaged()
}

/** Moves the position on, and returns the one before. */
function passed(bytes: number): number {
  const from = at
  at += bytes
  if (at > end) throw damaged()
  return from
}

function readLatin1(source: Buffer, length: number): string {
  const from = passed(length)
  return source.toString('latin1', from, at)
}

const digits = Buffer.alloc(ulidLength)

function readUlid(source: Buffer): string {
  let from = passed(ulidBytes)
  const first = source[from++]!
  digits[0] = ulidDigits[first >>> 5]!
  digits[1] = ulidDigits[first & 31]!
  for (let i = 2; i < ulidLength; i += 8) {
    const middle = source[from + 2]!
    const high = (source[from]! << 12) | (source[from + 1]! << 4) | (middle >>> 4)
    const low = ((middle & 15) << 16) | (source[from + 3]! << 8) | source[from + 4]!
    from += 5
    for (let j = 0; j < 4; j++) {
      digits[i + j] = ulidDigits[(high >>> (15 - 5 * j)) & 31]!
      digits[i + 4 + j] = ulidDigits[(low >>> (15 - 5 * j)) & 31]!
    }
  }
  return digits.toString('latin1', 0, ulidLength)
}

function readList(source: Buffer, count: number, depth: number): unknown[] {
  if (depth < 0) throw damaged()
  const items: unknown[] = []
  for (let i = 0; i < count; i++) items.push(readAny(source, depth))
  return items
}

function readObject(
  source: Buffer,
  members: Record<string, unknown>,
  count: number,
  depth: number,
): Record<string, unknown> {
  if (depth < 0) throw damaged()
  for (let i = 0; i < count; i++) {
    const name = readAny(source, 0)
    if (typeof name !== 'string') throw damaged()
    members[name] = readAny(source, depth)
  }
  return members
}

function damaged(): SyntaxError {
  return new SyntaxError('The bytes are no value.')
}
