import { Type } from '@uwdata/flechette'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { type AnyBatch, dictionaryOf, emptyBytes, type Offsets } from '../../arrow/batch.ts'
import { copyBits, fillBits } from '../../arrow/bitmap.ts'
import { layoutOf } from '../../arrow/layout.ts'

/**
 * The values of a key's column in one of two forms for hashing and comparing: a fixed number of 32-bit words for each
 * row, or a range of bytes. Equal values have equal words or bytes. As in the reference, 0 and -0 differ, and NaN
 * equals NaN.
 */
export type KeyValues = (
  | { readonly kind: 'words'; readonly words: Uint32Array; readonly width: number }
  | {
      readonly kind: 'bytes'
      readonly bytes: Uint8Array
      readonly starts: Int32Array | Float64Array
      readonly ends: Int32Array | Float64Array
    }
) & {
  /** The validity bitmap; empty if no row is null. */
  readonly validity: Uint8Array
}

/** Rows between two checks of the clock. */
const fewRows = 4_096

/** The values of a batch of any type. */
export async function keyValues(batch: AnyBatch, timeSlice: TimeSlice): Promise<KeyValues> {
  const { type, length } = batch
  const layout = layoutOf(type)
  const validity = batch.nullCount > 0 ? batch.validity : emptyBytes
  switch (layout.kind) {
    case 'bits': {
      const bits = batch.values as Uint8Array
      const words = new Uint32Array(length)
      for (let i = 0; i < length; i++) words[i] = (bits[i >> 3]! >> (i & 7)) & 1
      return { kind: 'words', words, width: 1, validity }
    }
    case 'fixed': {
      const values = batch.values as Int32Array
      if (layout.bytes % 4 === 0) {
        const sound = type.typeId === Type.Float ? withOneNaN(values) : values
        return { kind: 'words', words: wordsOf(sound), width: layout.bytes / 4, validity }
      }
      if (type.typeId !== Type.FixedSizeBinary) {
        return { kind: 'words', words: Uint32Array.from(values), width: 1, validity }
      }
      const offsets = new Float64Array(length + 1)
      for (let i = 0; i <= length; i++) offsets[i] = i * layout.bytes
      const [starts, ends] = [offsets.subarray(0, length), offsets.subarray(1)]
      return { kind: 'bytes', bytes: batch.values as Uint8Array, starts, ends, validity }
    }
    case 'bytes': {
      const offsets = numbersOf(batch.offsets)
      const bytes = batch.values as Uint8Array
      return {
        kind: 'bytes',
        bytes,
        starts: offsets.subarray(0, length),
        ends: offsets.subarray(1, length + 1),
        validity,
      }
    }
    case 'dictionary':
      return dictionaryValues(batch, timeSlice)
    default:
      return writtenOut(batch, timeSlice)
  }
}

function numbersOf(offsets: Offsets): Int32Array | Float64Array {
  return offsets instanceof Int32Array ? offsets : Float64Array.from(offsets, Number)
}

function wordsOf(values: ArrayBufferView): Uint32Array {
  const { buffer, byteOffset, byteLength } = values
  if (byteOffset % 4 === 0) return new Uint32Array(buffer, byteOffset, byteLength >> 2)
  return new Uint32Array(new Uint8Array(buffer, byteOffset, byteLength).slice().buffer)
}

/** NaN has several bit patterns; here they become one. */
function withOneNaN(values: ArrayBufferView): ArrayBufferView {
  if (!(values instanceof Float32Array || values instanceof Float64Array)) return values
  return values.some(Number.isNaN)
    ? values.map((value) => (Number.isNaN(value) ? Number.NaN : value))
    : values
}

/** The entries' values, by the indices of the rows. */
async function dictionaryValues(batch: AnyBatch, timeSlice: TimeSlice): Promise<KeyValues> {
  const entries = dictionaryOf(batch)
  const { data } = entries
  if (data.length !== 1) return writtenOut(batch, timeSlice)
  const of = await keyValues(data[0] as AnyBatch, timeSlice)
  const { length } = batch
  const indices = batch.values as Int32Array
  const validity = new Uint8Array(Math.ceil(length / 8))
  const has = (row: number) => {
    if (batch.nullCount > 0 && !batch.isValid(row)) return false
    const entry = Number(indices[row])
    return of.validity.length === 0 || ((of.validity[entry >> 3]! >> (entry & 7)) & 1) === 1
  }
  for (let row = 0; row < length; row++) if (has(row)) validity[row >> 3]! |= 1 << (row & 7)
  // A null row may hold any index.
  const entryOf = (row: number) =>
    ((validity[row >> 3]! >> (row & 7)) & 1) === 1 ? Number(indices[row]) : -1
  if (of.kind === 'words') {
    const { width } = of
    const words = new Uint32Array(length * width)
    for (let row = 0; row < length; row++) {
      const entry = entryOf(row)
      for (let w = 0; entry >= 0 && w < width; w++) words[row * width + w] = of.words[entry * width + w]!
    }
    return { kind: 'words', words, width, validity }
  }
  const starts = new Float64Array(length)
  const ends = new Float64Array(length)
  for (let row = 0; row < length; row++) {
    const entry = entryOf(row)
    if (entry < 0) continue
    starts[row] = of.starts[entry]!
    ends[row] = of.ends[entry]!
  }
  return { kind: 'bytes', bytes: of.bytes, starts, ends, validity }
}

/** Values of nested and rare types, converted to text. */
async function writtenOut(batch: AnyBatch, timeSlice: TimeSlice): Promise<KeyValues> {
  const { length } = batch
  const validity = new Uint8Array(Math.ceil(length / 8))
  const starts = new Float64Array(length)
  const ends = new Float64Array(length)
  const parts: Buffer[] = []
  let at = 0
  for (let row = 0; row < length; row++) {
    const value: unknown = batch.at(row)
    starts[row] = at
    if (value !== null && value !== undefined) {
      validity[row >> 3]! |= 1 << (row & 7)
      const part = Buffer.from(textOf(value))
      parts.push(part)
      at += part.length
    }
    ends[row] = at
    if (row % fewRows === 0 && timeSlice.due) await timeSlice.rest()
  }
  return { kind: 'bytes', bytes: Buffer.concat(parts), starts, ends, validity }
}

/** A text that is unique to equal values of a type. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  if (typeof value !== 'object' || value === null) return String(value)
  if (value instanceof Date) return String(value.getTime())
  if (value instanceof Uint8Array) return `x${Buffer.from(value).toString('hex')}`
  if (Symbol.iterator in value) return `[${Array.from(value as Iterable<unknown>, textOf).join()}]`
  return `{${Object.values(value).map(textOf).join()}}`
}

/** Concatenates the values of several batches of one type. */
export function joined(all: readonly KeyValues[]): KeyValues {
  const [first] = all
  if (all.length === 1) return first!
  const rows = all.map((one) => (one.kind === 'words' ? one.words.length / one.width : one.starts.length))
  const validity = joinedValidity(all, rows)
  if (first?.kind === 'words') {
    const parts = all.map((one) => (one.kind === 'words' ? one.words : new Uint32Array(0)))
    const words = new Uint32Array(parts.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const part of parts) {
      words.set(part, at)
      at += part.length
    }
    return { kind: 'words', words, width: first.width, validity }
  }
  const total = rows.reduce((sum, count) => sum + count, 0)
  const starts = new Float64Array(total)
  const ends = new Float64Array(total)
  const parts: Uint8Array[] = []
  let row = 0
  let at = 0
  for (const one of all) {
    if (one.kind !== 'bytes') continue
    for (let i = 0; i < one.starts.length; i++, row++) {
      starts[row] = at + one.starts[i]!
      ends[row] = at + one.ends[i]!
    }
    parts.push(one.bytes)
    at += one.bytes.length
  }
  return { kind: 'bytes', bytes: Buffer.concat(parts), starts, ends, validity }
}

function joinedValidity(all: readonly KeyValues[], rows: readonly number[]): Uint8Array {
  if (all.every(({ validity }) => validity.length === 0)) return emptyBytes
  const validity = new Uint8Array(Math.ceil(rows.reduce((sum, count) => sum + count, 0) / 8))
  let at = 0
  for (const [i, { validity: own }] of all.entries()) {
    if (own.length > 0) copyBits(own, 0, validity, at, rows[i]!)
    else fillBits(validity, at, rows[i]!)
    at += rows[i]!
  }
  return validity
}
