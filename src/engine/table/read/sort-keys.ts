import { type DataType, type Schema, Type } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import { quote } from '../../../base/model/identifier.ts'
import { type AnyBatch, dictionaryOf } from '../../arrow/batch.ts'
import { getBit } from '../../arrow/bitmap.ts'
import { unscaledReader } from '../../arrow/decimals.ts'
import { halves } from '../../arrow/half.ts'
import { layoutOf } from '../../arrow/layout.ts'
import { typeName } from '../../arrow/type-name.ts'
import type { Ordering } from '../table-engine.ts'
import { resolve } from './projection.ts'

/** A value of a sort key. Texts are bytes, whose order is that of their code points. */
export type SortValue = number | bigint | Uint8Array | null

/** A key that rows are sorted by. */
export interface SortKey {
  readonly name: string
  readonly path: readonly number[]
  /** 1 for ascending, -1 for descending. */
  readonly direction: 1 | -1
  readonly nullsFirst: boolean
}

/** Most sort keys, unless the caller sets another limit. */
const defaultMaxKeys = 64

/**
 * The sort keys, without those that have no effect: repeated ones, and all after the row id. Throws for a column that
 * is missing or not sortable, and for too many keys.
 */
export function sortKeys(schema: Schema, orderBy: readonly Ordering[], maxKeys?: number): SortKey[] {
  return effectiveKeys(orderBy, (ordering) => sortKey(schema, ordering), schema.fields.length, maxKeys)
}

/** The keys that have an effect, one for each such ordering. Columns from `rowColumns` on identify a row. */
export function effectiveKeys(
  orderBy: readonly Ordering[],
  make: (ordering: Ordering) => SortKey,
  rowColumns: number,
  maxKeys: number = defaultMaxKeys,
): SortKey[] {
  const names = new Set<string>()
  const keys = new Map<string, SortKey>()
  let isDecided = false
  for (const ordering of orderBy) {
    if (names.has(ordering.column)) continue
    names.add(ordering.column)
    const key = make(ordering)
    const pathKey = key.path.join()
    if (keys.has(pathKey) || isDecided) continue
    if (keys.size === maxKeys) {
      throw invalid(
        `order_by has more than ${maxKeys} keys, which is the most. Sort by fewer columns, or open the catalog with a larger orderKeys.`,
      )
    }
    keys.set(pathKey, key)
    isDecided = key.path[0]! >= rowColumns
  }
  return [...keys.values()]
}

function sortKey(schema: Schema, { column, descending = false, nullsFirst = false }: Ordering): SortKey {
  const { path, field } = resolve(schema, column)
  if (!isSortable(field.type)) {
    throw invalid(
      `order_by names ${quote(column)} of type ${typeName(field.type)}, whose values have no order here. Sort by a column of numbers, texts, bytes, times or flags, or by a field of a struct.`,
    )
  }
  return { name: column, path, direction: descending ? -1 : 1, nullsFirst }
}

function isSortable(type: DataType): boolean {
  if (type.typeId === Type.Dictionary) return isSortable(type.dictionary)
  switch (layoutOf(type).kind) {
    case 'null':
    case 'bits':
    case 'bytes':
    case 'views':
      return true
    case 'fixed':
      return type.typeId !== Type.Interval
    default:
      return false
  }
}

/** Reads the values of a key in a fragment. */
export function sortReader(batch: AnyBatch): (row: number) => SortValue {
  const read = valueReader(batch)
  if (batch.type.typeId === Type.Null) return () => null
  if (batch.nullCount === 0) return read
  const { validity } = batch
  return (row) => (getBit(validity, row) ? read(row) : null)
}

function valueReader(batch: AnyBatch): (row: number) => SortValue {
  const { type } = batch
  if (type.typeId === Type.Dictionary) {
    const entries = dictionaryOf(batch).data.flatMap((part) => {
      const read = sortReader(part as AnyBatch)
      return Array.from({ length: part.length }, (_, i) => read(i))
    })
    const codes = batch.values as Int32Array
    return (row) => entries[Number(codes[row])] ?? null
  }
  const layout = layoutOf(type)
  switch (layout.kind) {
    case 'bits': {
      const bits = batch.values as Uint8Array
      return (row) => (getBit(bits, row) ? 1 : 0)
    }
    case 'bytes': {
      const bytes = batch.values as Uint8Array
      const { offsets } = batch
      return (row) => bytes.subarray(Number(offsets[row]), Number(offsets[row + 1]))
    }
    case 'views':
      return (row) => {
        const value = batch.at(row) as unknown as string | Uint8Array
        return typeof value === 'string' ? Buffer.from(value) : value
      }
    default:
      return fixedReader(batch)
  }
}

function fixedReader(batch: AnyBatch): (row: number) => SortValue {
  const { type } = batch
  const values = batch.values as Float64Array
  if (type.typeId === Type.FixedSizeBinary) {
    const bytes = batch.values as Uint8Array
    return (row) => bytes.subarray(row * type.stride, (row + 1) * type.stride)
  }
  if (type.typeId === Type.Decimal && type.bitWidth > 32) return unscaledReader(values, type.bitWidth)
  if (type.typeId === Type.Float && type.precision === 0) {
    const table = halves()
    return (row) => table[values[row]!]!
  }
  return (row) => values[row]!
}

/** Compares two values of a key: NaN after every other number, -0 before 0. */
export function compareKey({ direction, nullsFirst }: SortKey, a: SortValue, b: SortValue): number {
  if (a === null || b === null) {
    if (a === b) return 0
    return (a === null) === nullsFirst ? -1 : 1
  }
  return direction * compareValues(a, b)
}

function compareValues(a: NonNullable<SortValue>, b: NonNullable<SortValue>): number {
  if (typeof a === 'object') return Buffer.compare(a, b as Uint8Array)
  if (a < (b as number)) return -1
  if (a > (b as number)) return 1
  if (typeof a === 'bigint') return 0
  if (a === b) return a !== 0 || Object.is(a, b) ? 0 : Object.is(a, -0) ? -1 : 1
  return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
}

/** The worst value that a row may have. */
interface Bound<Value = SortValue> {
  readonly bound: Value
  /** Whether rows with that value are included. */
  readonly ties: boolean
}

/**
 * The rows of a run that can be among the best by the first key, given the worst row's value of it. Excludes rows if
 * that is possible without reading their values.
 */
export function candidateRows(
  batch: AnyBatch,
  key: SortKey,
  { bound, ties }: Bound,
  start: number,
  end: number,
): Iterable<number> {
  if (typeof bound === 'number' && !Number.isNaN(bound) && isArrayOfNumbers(batch)) {
    // The processor treats zeros as equal; this order does not.
    const values = batch.values as Float64Array
    return byNumbers(
      batch,
      key,
      { bound, ties: ties || bound === 0, values, stride: 1, first: 0 },
      start,
      end,
    )
  }
  if (typeof bound === 'bigint' && batch.type.typeId !== Type.Decimal) {
    // The upper halves alone nearly always decide which value is greater.
    const { values } = batch
    const isSigned = values instanceof BigInt64Array
    if (isSigned || values instanceof BigUint64Array) {
      const Halves = isSigned ? Int32Array : Uint32Array
      const halves = new Halves(values.buffer as ArrayBuffer, values.byteOffset, values.length * 2)
      const upper = { bound: Number(bound >> 32n), ties: true, values: halves, stride: 2, first: 1 }
      return byNumbers(batch, key, upper, start, end)
    }
  }
  if (
    bound instanceof Uint8Array &&
    batch.offsets instanceof Int32Array &&
    layoutOf(batch.type).kind === 'bytes'
  ) {
    return byTexts(batch, key, { bound, ties }, start, end)
  }
  return allRows(start, end)
}

function* allRows(start: number, end: number): Generator<number> {
  for (let row = start; row < end; row++) yield row
}

interface NumberBound extends Bound<number> {
  /** The numbers of the rows: one every `stride` elements, from `first` on. */
  readonly values: Float64Array | Int32Array | Uint32Array
  readonly stride: number
  readonly first: number
}

/** The rows whose number is not worse than the bound. */
function* byNumbers(
  { validity, nullCount }: AnyBatch,
  { direction, nullsFirst }: SortKey,
  { bound, ties, values, stride, first }: NumberBound,
  start: number,
  end: number,
): Generator<number> {
  for (let row = start; row < end; row++) {
    const value = values[row * stride + first]!
    // Negated comparison, because NaN is the greatest number in this order.
    const isOut = direction === 1 ? !(value < bound) : value <= bound
    if (isOut && !(ties && value === bound) && !(nullsFirst && nullCount > 0)) continue
    if (nullCount > 0 && !nullsFirst && !getBit(validity, row)) continue
    yield row
  }
}

/** The rows whose texts are not worse than the bound. */
function* byTexts(
  batch: AnyBatch,
  { direction, nullsFirst }: SortKey,
  { bound, ties }: Bound<Uint8Array>,
  start: number,
  end: number,
): Generator<number> {
  const texts = viewOf(batch.values as Uint8Array)
  const least = viewOf(bound)
  const offsets = batch.offsets as Int32Array
  const { validity, nullCount } = batch
  for (let row = start; row < end; row++) {
    const order = direction * compareBytes(texts, offsets[row]!, offsets[row + 1]!, least)
    if ((order > 0 || (order === 0 && !ties)) && !(nullsFirst && nullCount > 0)) continue
    if (nullCount > 0 && !nullsFirst && !getBit(validity, row)) continue
    yield row
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}

/** Compares bytes four at a time: texts often have a common prefix, and a native call takes longer. */
function compareBytes(bytes: DataView, start: number, end: number, others: DataView): number {
  const length = end - start
  const shared = Math.min(length, others.byteLength)
  let i = 0
  for (; i + 4 <= shared; i += 4) {
    const difference = bytes.getUint32(start + i) - others.getUint32(i)
    if (difference !== 0) return difference
  }
  for (; i < shared; i++) {
    const difference = bytes.getUint8(start + i) - others.getUint8(i)
    if (difference !== 0) return difference
  }
  return length - others.byteLength
}

function isArrayOfNumbers({ type, values }: AnyBatch): boolean {
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) return false
  switch (type.typeId) {
    case Type.Int:
    case Type.Date:
    case Type.Time:
      return true
    case Type.Float:
      return type.precision > 0
    default:
      return false
  }
}

export function bound(name: string, value: number | undefined): number | undefined {
  if (value === undefined) return undefined
  if (!Number.isSafeInteger(value) || value < 0) {
    throw invalid(`The ${name} is ${value}. Give a whole number of rows, 0 or more.`)
  }
  return value
}
