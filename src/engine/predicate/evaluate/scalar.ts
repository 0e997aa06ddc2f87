import { type DataType, Type } from '@uwdata/flechette'
import { type AnyBatch, dictionaryOf } from '../../arrow/batch.ts'
import { fromHalf } from '../../arrow/half.ts'
import type { CompareOperator, Scalar } from '../plan/plan.ts'

/**
 * The value of one row in the form of plan values; null if there is none. Intervals, structs, maps and unions have no
 * such form, and are returned as flechette returns them: they are only tested for null.
 */
export function scalarAt(batch: AnyBatch, row: number): Scalar {
  const { type } = batch
  if (batch.nullCount > 0 && !isBitSet(batch.validity, row)) return null
  switch (type.typeId) {
    case Type.Null:
      return null
    case Type.Bool:
      return isBitSet(batch.values as Uint8Array, row)
    case Type.Int:
    case Type.Date:
    case Type.Time:
    case Type.Timestamp:
    case Type.Duration:
      return (batch.values as Int32Array | BigInt64Array)[row]!
    case Type.Float: {
      const value = (batch.values as Float64Array)[row]!
      return type.precision === 0 ? fromHalf(value) : value
    }
    case Type.Decimal:
      return readWide(wordsOf(batch), row, type.bitWidth / 32)
    case Type.List:
    case Type.LargeList: {
      const { offsets } = batch
      return listOf(batch.children[0]!, Number(offsets[row]!), Number(offsets[row + 1]!))
    }
    case Type.ListView:
    case Type.LargeListView: {
      const start = Number(batch.offsets[row]!)
      const { sizes } = batch as unknown as { sizes: Int32Array | BigInt64Array }
      return listOf(batch.children[0]!, start, start + Number(sizes[row]!))
    }
    case Type.FixedSizeList:
      return listOf(batch.children[0]!, row * type.stride, (row + 1) * type.stride)
    case Type.Dictionary:
      return entryAt(dictionaryOf(batch).data, Number((batch.values as Int32Array)[row]!))
    case Type.RunEndEncoded:
      return scalarAt(batch.children[1]!, runOf(batch, row))
    default:
      return batch.at(row) as Scalar
  }
}

/** The value at `index`, counted over all batches. */
export function entryAt(batches: readonly AnyBatch[], index: number): Scalar {
  let rest = index
  for (const batch of batches) {
    if (rest < batch.length) return scalarAt(batch, rest)
    rest -= batch.length
  }
  return null
}

/** The index of the run that contains a row of a run-end-encoded batch. */
export function runOf(batch: AnyBatch, row: number): number {
  const ends = batch.children[0]!.values as Int32Array | BigInt64Array
  let low = 0
  let high = batch.children[0]!.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ends[middle]! <= row) low = middle + 1
    else high = middle
  }
  return low
}

function listOf(items: AnyBatch, start: number, end: number): Scalar[] {
  const list: Scalar[] = new Array(end - start)
  for (let i = start; i < end; i++) list[i - start] = scalarAt(items, i)
  return list
}

/** Whether a batch of this type has a validity bitmap at all. The others are null where the value they refer to is. */
export function hasValidity(batch: AnyBatch): boolean {
  const { typeId } = batch.type
  return typeId !== Type.Null && typeId !== Type.Union && typeId !== Type.RunEndEncoded
}

export function isBitSet(bytes: Uint8Array, index: number): boolean {
  return ((bytes[index >> 3]! >> (index & 7)) & 1) === 1
}

/** A decimal batch's buffer in words of 32 bits. */
export function wordsOf(batch: AnyBatch): Uint32Array {
  const values = batch.values as Int32Array | BigUint64Array
  return new Uint32Array(values.buffer as ArrayBuffer, values.byteOffset, values.byteLength >>> 2)
}

/** Integer `row` of an array with `stride` words for each, in two's complement. */
export function readWide(words: Uint32Array, row: number, stride: number): bigint {
  const first = row * stride
  let value = BigInt(words[first + stride - 1]! | 0)
  for (let i = first + stride - 2; i >= first; i--) value = (value << 32n) | BigInt(words[i]!)
  return value
}

/**
 * Compares two values of one type that are not null. NaN equals itself and is above every other number, -0 equals 0.
 * Strings compare by code points, binary by bytes, lists by their items.
 */
export function compareScalars(a: Scalar, b: Scalar): number {
  if (typeof a === 'string') return compareStrings(a, b as string)
  if (typeof a === 'object') {
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1
    return a instanceof Uint8Array ? Buffer.compare(a, b as Uint8Array) : compareLists(a, b as Scalar[])
  }
  if (a === b) return 0
  if (typeof a === 'number') {
    if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : 1
    if (Number.isNaN(b)) return -1
  }
  return a < b! ? -1 : a > b! ? 1 : 0
}

/** Compares strings by code points, the order of UTF-8 bytes; JavaScript's `<` compares UTF-16 units. */
function compareStrings(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x === y) continue
    // Surrogates encode code points above U+FFFF, but are themselves below U+E000.
    const xIsHigh = x >= 0xd800 && x < 0xe000
    const yIsHigh = y >= 0xd800 && y < 0xe000
    return xIsHigh === yIsHigh ? x - y : xIsHigh ? 1 : -1
  }
  return a.length - b.length
}

function compareLists(a: readonly Scalar[], b: readonly Scalar[]): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const order = compareScalars(a[i]!, b[i]!)
    if (order !== 0) return order
  }
  return a.length - b.length
}

/** About how large a value is: the length of texts and bytes; for lists, that of their items, too. */
export function sizeOf(value: Scalar): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let size = (value as { readonly length: number }).length
  if (Array.isArray(value)) for (const item of value) if (typeof item !== 'number') size += sizeOf(item)
  return size
}

/** Bytes of an item of a list, and at most of a character. */
const bytesOfItem = 8
const bytesOfCharacter = 2

/** About the bytes of memory that a value takes. */
export function bytesOf(value: Scalar): number {
  return sizeOf(value) * (typeof value === 'string' ? bytesOfCharacter : bytesOfItem)
}

/** Whether values of a type are stored as 64-bit integers. */
export function isLong(type: DataType): boolean {
  switch (type.typeId) {
    case Type.Int:
    case Type.Time:
    case Type.Decimal:
      return type.bitWidth === 64
    case Type.Date:
      return type.unit === 1
    case Type.Timestamp:
    case Type.Duration:
      return true
    default:
      return false
  }
}

/** Whether values of a type are stored as UTF-8 or other bytes. */
export function isTexts(type: DataType): boolean {
  switch (type.typeId) {
    case Type.Utf8:
    case Type.LargeUtf8:
    case Type.Utf8View:
    case Type.Binary:
    case Type.LargeBinary:
    case Type.BinaryView:
    case Type.FixedSizeBinary:
      return true
    default:
      return false
  }
}

export function isString(type: DataType): boolean {
  return type.typeId === Type.Utf8 || type.typeId === Type.LargeUtf8 || type.typeId === Type.Utf8View
}

/** Whether a type is dictionary-encoded or run-end-encoded. */
export function isEncoded(type: DataType): boolean {
  return type.typeId === Type.Dictionary || type.typeId === Type.RunEndEncoded
}

/** The type of the values behind a dictionary or run-end encoding. */
export function valueType(type: DataType): DataType {
  if (type.typeId === Type.Dictionary) return valueType(type.dictionary)
  return type.typeId === Type.RunEndEncoded ? valueType(type.children[1]!.type) : type
}

/** The operator with swapped operands: `flipped` of `a op b` compares `(b, a)`. */
export const flipped = { '=': '=', '<>': '<>', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const

/** Whether an operator holds for an order: negative, zero or positive. */
export const holdsFor: Readonly<Record<CompareOperator, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '<>': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
}
