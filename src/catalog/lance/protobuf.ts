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
  for (let start = 0; start < message.length; ) {
    const tagEnd = varintEnd(message, start)
    const tag = varintAt(message, start, tagEnd)
    if (!(tag >= 8 && tag <= 0xffff_ffff)) throw new RangeError('A field has no number.')
    const wire = tag & 7
    const lengthEnd = wire === 0 || wire === 2 ? varintEnd(message, tagEnd) : tagEnd
    const end = lengthEnd + lengthOf(wire, () => varintAt(message, tagEnd, lengthEnd))
    if (!(end <= message.length)) throw new RangeError('A field is cut off.')
    fields.push(new ReadField(message, tag >>> 3, start, wire === 0 ? tagEnd : lengthEnd, end, wire === 0))
    start = end
  }
  return fields
}

/** A field that was read. Manifests have many fragments, so parts of the message are made when they are asked for. */
class ReadField implements Field {
  readonly message: Uint8Array
  readonly number: number
  readonly start: number
  readonly end: number
  readonly #valueStart: number
  readonly #isNumber: boolean

  constructor(
    message: Uint8Array,
    number: number,
    start: number,
    valueStart: number,
    end: number,
    isNumber: boolean,
  ) {
    this.message = message
    this.number = number
    this.start = start
    this.end = end
    this.#valueStart = valueStart
    this.#isNumber = isNumber
  }

  get value(): bigint | Uint8Array {
    const bytes = this.message.subarray(this.#valueStart, this.end)
    if (!this.#isNumber) return bytes
    return bytes.reduceRight((sum, byte) => (sum << 7n) | BigInt(byte & 127), 0n)
  }

  get bytes(): Uint8Array {
    return this.message.subarray(this.start, this.end)
  }
}

function lengthOf(wire: number, told: () => number): number {
  if (wire === 0) return 0
  if (wire === 1) return 8
  if (wire === 2) return told()
  if (wire === 5) return 4
  throw new RangeError(`There is no wire type ${wire}.`)
}

/** Where a number ends. */
function varintEnd(message: Uint8Array, start: number): number {
  let at = start
  while (message[at]! >= 128) at++
  if (at >= message.length || at - start >= 10) throw new RangeError('A number is cut off.')
  return at + 1
}

/** A number, as near as a double comes to it. */
function varintAt(message: Uint8Array, start: number, end: number): number {
  let value = 0
  for (let at = end - 1; at >= start; at--) value = value * 128 + (message[at]! & 127)
  return value
}

/** A message of some fields. Those that were read stay as they are. */
export function writeFields(fields: readonly Field[]): Uint8Array {
  const parts: Uint8Array[] = []
  for (let i = 0; i < fields.length; i++) {
    const first = fields[i]!
    if (!(first instanceof ReadField)) {
      parts.push(first.bytes ?? fieldBytes(first.number, first.value))
      continue
    }
    // Fields that follow on each other in one message are copied together.
    let { end } = first
    for (let next = fields[i + 1]; isNext(next, first, end); next = fields[i + 1]) {
      end = next.end
      i++
    }
    parts.push(first.message.subarray(first.start, end))
  }
  return Buffer.concat(parts)
}

function isNext(field: Field | undefined, first: ReadField, end: number): field is ReadField {
  return field instanceof ReadField && field.message === first.message && field.start === end
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
