/*
 * Protocol Buffers as far as manifests need them: a message is a list of fields, and unknown fields are copied as they
 * are.
 */

export interface Field {
  readonly number: number
  readonly value: bigint | Uint8Array
  /** The field as it was read, with its tag. Undefined for a new field. */
  readonly bytes?: Uint8Array
}

/** The fields of a message. Throws a `RangeError` for anything else than a message. */
export function readFields(message: Uint8Array): Field[] {
  const fields: Field[] = []
  for (let at = 0; at < message.length; ) {
    const start = at
    const varint = () => {
      let value = 0n
      for (let shift = 0n; ; shift += 7n) {
        if (at >= message.length || shift > 63n) throw new RangeError('A number is cut off.')
        const byte = message[at++]!
        value |= BigInt(byte & 127) << shift
        if (byte < 128) return value
      }
    }
    const take = (length: number) => {
      if (at + length > message.length) throw new RangeError('A field is cut off.')
      at += length
      return message.subarray(at - length, at)
    }
    const tag = Number(varint())
    if (tag < 8 || tag > 0xffff_ffff) throw new RangeError('A field has no number.')
    const value = readValue(tag & 7, varint, take)
    fields.push({ number: tag >>> 3, value, bytes: message.subarray(start, at) })
  }
  return fields
}

function readValue(wire: number, varint: () => bigint, take: (length: number) => Uint8Array) {
  if (wire === 0) return varint()
  if (wire === 1) return take(8)
  if (wire === 2) return take(Number(varint()))
  if (wire === 5) return take(4)
  throw new RangeError(`There is no wire type ${wire}.`)
}

export function writeFields(fields: readonly Field[]): Uint8Array {
  return Buffer.concat(fields.map(({ number, value, bytes }) => bytes ?? fieldBytes(number, value)))
}

function fieldBytes(number: number, value: bigint | Uint8Array): Uint8Array {
  if (typeof value === 'bigint')
    return Buffer.from([...varintBytes(BigInt(number << 3)), ...varintBytes(value)])
  return Buffer.concat([
    Buffer.from([...varintBytes(BigInt((number << 3) | 2)), ...varintBytes(BigInt(value.length))]),
    value,
  ])
}

function varintBytes(value: bigint): number[] {
  const bytes: number[] = []
  for (let left = value; ; left >>= 7n) {
    if (left < 128n) return [...bytes, Number(left)]
    bytes.push(Number(left & 127n) | 128)
  }
}
