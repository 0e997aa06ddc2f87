import type { Key } from 'tabularium'

/*
 * An order-preserving encoding of keys. Each part begins with its kind, numbers first. A string ends in a byte below
 * all its characters, so that `a` comes before `ab`, and a key before its extensions.
 */
const numberPart = 0x10
const stringPart = 0x20
const stringEnd = 0x01

export function encodeKey(key: Key): Uint8Array {
  return Buffer.concat(
    key.map((part) => (typeof part === 'number' ? encodeNumber(part) : encodeString(part))),
  )
}

/** The least bytes that are not below a cut: before a key, right after it, or beyond all its extensions. */
export function encodeCut({ key, side }: { key: Key; side: 'before' | 'after' | 'beyond' }): Uint8Array {
  const end = { before: [], after: [0x00], beyond: [0xff] }[side]
  return Buffer.concat([encodeKey(key), Uint8Array.from(end)])
}

export function decodeKey(bytes: Uint8Array): Key {
  const data = Buffer.from(bytes)
  const key: (string | number)[] = []
  for (let at = 0; at < data.length; ) {
    const isNumber = data[at] === numberPart
    const end = isNumber ? at + 9 : data.indexOf(stringEnd, at + 1)
    key.push(isNumber ? decodeNumber(data.subarray(at + 1, end)) : data.toString('utf8', at + 1, end))
    at = isNumber ? end : end + 1
  }
  return key
}

function encodeString(text: string): Uint8Array {
  return Buffer.concat([Uint8Array.of(stringPart), Buffer.from(text), Uint8Array.of(stringEnd)])
}

/** An order-preserving encoding of a double: inverts all bits below zero, and only the sign bit above. */
function encodeNumber(value: number): Uint8Array {
  const bytes = Buffer.alloc(9, numberPart)
  bytes.writeDoubleBE(value, 1)
  return turn(bytes, 1, bytes[1]! >= 0x80)
}

function decodeNumber(bytes: Uint8Array): number {
  return Buffer.from(turn(Buffer.from(bytes), 0, bytes[0]! < 0x80)).readDoubleBE(0)
}

function turn(bytes: Buffer, from: number, all: boolean): Uint8Array {
  for (let i = from; i < bytes.length; i++) bytes[i]! ^= all ? 0xff : i === from ? 0x80 : 0
  return bytes
}
