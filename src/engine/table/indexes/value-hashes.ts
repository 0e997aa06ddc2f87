import { type DataType, Type } from '@uwdata/flechette'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { type AnyBatch, dictionaryOf, emptyBytes, isNullAt, type Offsets } from '../../arrow/batch.ts'
import { getBit } from '../../arrow/bitmap.ts'
import { fromHalf } from '../../arrow/half.ts'
import { layoutOf } from '../../arrow/layout.ts'
import { scalarAt, valueType } from '../../predicate/evaluate/scalar.ts'
import type { NonNullScalar } from '../../predicate/plan/plan.ts'
import { hashOfBytes, hashOfWords } from '../format/hash.ts'

/*
 * Values that predicates take for equal have equal hashes: -0 and 0, all bit patterns of NaN, and an integer in every
 * width. Encodings such as dictionaries and views make no difference.
 */

/** The hashes of a batch's values, and which rows have a value. */
export interface ValueHashes {
  readonly hashes: Uint32Array
  /** A validity bitmap; empty if no row is null. */
  readonly validity: Uint8Array
}

/** Rows between two checks of the clock. */
const sliceRows = 65_536

const encoder = new TextEncoder()

/** The hash of a literal that a column of a type is compared with. */
export function hashOfValue(value: NonNullScalar, type: DataType): number {
  if (typeof value === 'string') {
    const bytes = encoder.encode(value)
    return hashOfBytes(bytes, 0, bytes.length)
  }
  if (value instanceof Uint8Array) return hashOfBytes(value, 0, value.length)
  if (typeof value === 'boolean') return hashOfWords(value ? 1 : 0, 0)
  if (typeof value === 'bigint') {
    return hashOfWords(Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n)))
  }
  if (typeof value !== 'number') throw new TypeError('a list has no hash')
  return valueType(type).typeId === Type.Float ? hashOfFloat(value) : hashOfInteger(value)
}

const float = new Float64Array(1)
const floatWords = new Uint32Array(float.buffer)

function hashOfFloat(value: number): number {
  // Adding 0 makes 0 of -0. An array may keep the bits of a NaN.
  float[0] = Number.isNaN(value) ? Number.NaN : value + 0
  return hashOfWords(floatWords[0]!, floatWords[1]!)
}

/** The hash of an integer of up to 53 bits. */
function hashOfInteger(value: number): number {
  return hashOfWords(value | 0, Math.floor(value / 2 ** 32) | 0)
}

/** The hashes of all values of a batch. */
export async function hashesOf(batch: AnyBatch, timeSlice: TimeSlice): Promise<ValueHashes> {
  if (batch.type.typeId === Type.Dictionary) return hashesOfDictionary(batch, timeSlice)
  const { length } = batch
  const hashes = new Uint32Array(length)
  const hash = hasherOf(batch)
  for (let start = 0; start < length; start += sliceRows) {
    hash(hashes, start, Math.min(start + sliceRows, length))
    if (timeSlice.due) await timeSlice.rest()
  }
  return { hashes, validity: batch.nullCount > 0 ? batch.validity : emptyBytes }
}

/** Writes the hashes of the rows from `start` to `end`. Those of nulls may be any. */
type Hasher = (into: Uint32Array, start: number, end: number) => void

function hasherOf(batch: AnyBatch): Hasher {
  const { type } = batch
  const layout = layoutOf(type)
  switch (layout.kind) {
    case 'bits': {
      const bits = batch.values as Uint8Array
      return (into, start, end) => {
        for (let i = start; i < end; i++) into[i] = hashOfWords((bits[i >> 3]! >> (i & 7)) & 1, 0)
      }
    }
    case 'fixed':
      if (type.typeId === Type.FixedSizeBinary) return bytesHasher(batch.values as Uint8Array, type.stride)
      if (type.typeId === Type.Float) return floatHasher(batch.values as Float64Array, type.precision === 0)
      return integerHasher(batch.values as Int32Array | BigInt64Array)
    case 'bytes':
      return textHasher(batch.values as Uint8Array, batch.offsets)
    default:
      return (into, start, end) => {
        for (let i = start; i < end; i++) {
          const value = scalarAt(batch, i)
          if (value !== null) into[i] = hashOfValue(value, type)
        }
      }
  }
}

function bytesHasher(bytes: Uint8Array, stride: number): Hasher {
  return (into, start, end) => {
    for (let i = start; i < end; i++) into[i] = hashOfBytes(bytes, i * stride, (i + 1) * stride)
  }
}

function floatHasher(values: Float64Array, areHalf: boolean): Hasher {
  return (into, start, end) => {
    for (let i = start; i < end; i++) into[i] = hashOfFloat(areHalf ? fromHalf(values[i]!) : values[i]!)
  }
}

function integerHasher(values: Int32Array | BigInt64Array): Hasher {
  if (values.BYTES_PER_ELEMENT < 8) {
    const numbers = values as Int32Array
    return (into, start, end) => {
      for (let i = start; i < end; i++) into[i] = hashOfWords(numbers[i]! | 0, numbers[i]! < 0 ? -1 : 0)
    }
  }
  const words = new Uint32Array(values.buffer as ArrayBuffer, values.byteOffset, values.byteLength >>> 2)
  return (into, start, end) => {
    for (let i = start; i < end; i++) into[i] = hashOfWords(words[i * 2]!, words[i * 2 + 1]!)
  }
}

function textHasher(bytes: Uint8Array, offsets: Offsets): Hasher {
  return (into, start, end) => {
    for (let i = start; i < end; i++) into[i] = hashOfBytes(bytes, Number(offsets[i]), Number(offsets[i + 1]))
  }
}

/** The hashes of the entries, by the indices of the rows. */
async function hashesOfDictionary(batch: AnyBatch, timeSlice: TimeSlice): Promise<ValueHashes> {
  const parts: ValueHashes[] = []
  for (const entries of dictionaryOf(batch).data) parts.push(await hashesOf(entries as AnyBatch, timeSlice))
  const entries = joined(parts)
  const codes = batch.values as Int32Array
  const { length } = batch
  const hashes = new Uint32Array(length)
  const validity = new Uint8Array((length + 7) >> 3)
  for (let start = 0; start < length; start += sliceRows) {
    const end = Math.min(start + sliceRows, length)
    for (let i = start; i < end; i++) {
      if (isNullAt(batch, i)) continue
      const code = Number(codes[i])
      if (!isPresent(entries.validity, code)) continue
      validity[i >> 3]! |= 1 << (i & 7)
      hashes[i] = entries.hashes[code]!
    }
    if (timeSlice.due) await timeSlice.rest()
  }
  return { hashes, validity }
}

function joined(parts: readonly ValueHashes[]): ValueHashes {
  const [first] = parts
  if (parts.length === 1) return first!
  const total = parts.reduce((sum, { hashes }) => sum + hashes.length, 0)
  const hashes = new Uint32Array(total)
  const validity = new Uint8Array((total + 7) >> 3)
  let at = 0
  for (const part of parts) {
    hashes.set(part.hashes, at)
    for (let i = 0; i < part.hashes.length; i++, at++) {
      if (isPresent(part.validity, i)) validity[at >> 3]! |= 1 << (at & 7)
    }
  }
  return { hashes, validity }
}

/** Whether a row has a value. */
export function isPresent(validity: Uint8Array, row: number): boolean {
  return validity.length === 0 || getBit(validity, row)
}
