import {
  type Batch,
  batchType,
  Column,
  type DataType,
  type ExtractionOptions,
  IntervalUnit,
  Type,
} from '@uwdata/flechette'
import { layoutOf } from './layout.ts'

/** A batch of values of any type. The engine works on its buffers. */
export type AnyBatch = Batch<unknown>
export type AnyColumn = Column<unknown>
export type Values =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | BigUint64Array
  | BigInt64Array
  | Float32Array
  | Float64Array
export type Offsets = Int32Array | BigInt64Array

/** A buffer of no bytes: the validity of a batch without nulls. */
export const emptyBytes = new Uint8Array(0)

/** No value is rounded: 64-bit integers, timestamps and decimals become bigint. */
export const extraction: ExtractionOptions = {
  useBigInt: true,
  useBigIntTimestamp: true,
  useDecimalInt: true,
}

export interface BatchParts {
  readonly length: number
  readonly nullCount?: number
  readonly validity?: Uint8Array
  readonly values?: Values
  readonly offsets?: Offsets
  readonly sizes?: Offsets
  readonly children?: readonly AnyBatch[]
  /** Unions only. */
  readonly typeIds?: Int8Array
  /** View types only: the buffers of long values. */
  readonly data?: readonly Uint8Array[]
  /** Dictionary-encoded types only. */
  readonly dictionary?: AnyColumn
}

/** A flechette batch of `type` over the given buffers. */
export function makeBatch(type: DataType, parts: BatchParts): AnyBatch {
  const { dictionary } = parts
  const BatchType = classOf(type)
  // Flechette computes ten to the power of a decimal's scale, which fails below zero. Unscaled values need no scale.
  const scaled = type.typeId === Type.Decimal && type.scale < 0 ? { ...type, scale: 0 } : type
  const batch = new BatchType({
    type: scaled,
    length: parts.length,
    nullCount: parts.nullCount ?? 0,
    validity: parts.validity ?? emptyBytes,
    values: parts.values,
    offsets: parts.offsets,
    sizes: parts.sizes,
    children: parts.children,
    typeIds: parts.typeIds,
    data: parts.data,
  })
  batch.type = type
  if (type.typeId === Type.Struct) keepAllNames(batch)
  return dictionary === undefined ? batch : setDictionary(batch, dictionary)
}

type BatchClass = new (options: object) => AnyBatch

/** The members of a flechette batch of texts. Those of a view type have `view` in place of offsets. */
interface TextBatch {
  readonly offsets?: Offsets
  readonly values: Uint8Array
  view?(index: number): Uint8Array
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** The text of bytes of UTF-8, with a byte order mark if it begins with one. */
export function textOf(bytes: Uint8Array): string {
  return utf8.decode(bytes)
}

const ownClasses = new Map<BatchClass, BatchClass>()

/** Flechette's class of a batch, or one in its place that reads values otherwise. */
function classOf(type: DataType): BatchClass {
  const known = batchType(type, extraction) as BatchClass
  const read = readerOf(type)
  if (read === undefined) return known
  let made = ownClasses.get(known)
  if (made === undefined) {
    made = class extends known {
      override value(index: number): unknown {
        return read(this, index)
      }
    }
    ownClasses.set(known, made)
  }
  return made
}

type ReadValue = (batch: AnyBatch, index: number) => unknown

/** How values of a type are read, where Flechette drops a byte order mark or throws for many nanoseconds. */
function readerOf(type: DataType): ReadValue | undefined {
  switch (type.typeId) {
    case Type.Utf8:
    case Type.LargeUtf8:
    case Type.Utf8View:
      return readText
    case Type.Interval:
      return type.unit === IntervalUnit.MONTH_DAY_NANO ? readInterval : undefined
    default:
      return undefined
  }
}

function readText(batch: AnyBatch, index: number): string {
  const { offsets, values, view } = batch as unknown as TextBatch
  if (offsets === undefined) return textOf(view!.call(batch, index))
  return textOf(values.subarray(Number(offsets[index]), Number(offsets[index + 1])))
}

function readInterval({ values }: AnyBatch, index: number): Float64Array {
  const { buffer, byteOffset } = values as Uint8Array
  const view = new DataView(buffer, byteOffset + index * 16)
  return Float64Array.of(view.getInt32(0, true), view.getInt32(4, true), Number(view.getBigInt64(8, true)))
}

/** Allows a struct's values to have a member `__proto__`. Flechette would set their prototype instead. */
function keepAllNames(batch: AnyBatch): void {
  const { names, children } = batch as unknown as { names: readonly string[]; children: readonly AnyBatch[] }
  if (!names.includes('__proto__')) return
  const factory = (index: number) =>
    Object.fromEntries(names.map((name, i) => [name, children[i]!.at(index)]))
  Object.assign(batch, { factory })
}

/** Decodes a value when it is first read. Flechette's own `setDictionary` decodes all of them at once. */
function setDictionary(batch: AnyBatch, dictionary: AnyColumn): AnyBatch {
  return Object.defineProperty(Object.assign(batch, { dictionary }), 'cache', {
    configurable: true,
    get: () => dictionary.cache(),
  })
}

export function dictionaryOf(batch: AnyBatch): AnyColumn {
  return (batch as unknown as { dictionary: AnyColumn }).dictionary
}

export function typeIdsOf(batch: AnyBatch): Int8Array {
  return (batch as unknown as { typeIds: Int8Array }).typeIds
}

export function dataOf(batch: AnyBatch): readonly Uint8Array[] {
  return (batch as unknown as { data: readonly Uint8Array[] }).data
}

/** Whether the row `i` of a batch is null. */
export function isNullAt({ nullCount, validity }: AnyBatch, i: number): boolean {
  return nullCount > 0 && (validity[i >> 3]! & (1 << (i & 7))) === 0
}

/** The parts of a batch. Another batch can be made of them with some parts replaced. */
export function partsOf(batch: AnyBatch): BatchParts {
  const source = batch as unknown as Record<string, unknown>
  const parts: Record<string, unknown> = {}
  for (const name of partNames)
    if (source[name] !== undefined && source[name] !== null) parts[name] = source[name]
  return parts as unknown as BatchParts
}

const partNames = [
  'length',
  'nullCount',
  'validity',
  'values',
  'offsets',
  'sizes',
  'children',
  'typeIds',
  'data',
  'dictionary',
] as const

/** A column of the given batches. The list may be empty. */
export function makeColumn(type: DataType, batches: readonly AnyBatch[]): AnyColumn {
  return new Column([...batches], type)
}

/** The buffers that a batch uses, those of nested batches and dictionaries included. */
export function* buffersOf(batch: AnyBatch): Generator<ArrayBufferLike> {
  const { validity, values, offsets, sizes, children, typeIds, data, dictionary } =
    batch as unknown as BatchParts
  for (const part of [validity, values, offsets, sizes, typeIds, ...(data ?? [])]) {
    if (part) yield part.buffer
  }
  for (const child of [...(children ?? []), ...(dictionary?.data ?? [])]) yield* buffersOf(child)
}

/** The bytes a batch's buffers span, nested ones included and dictionaries left out. */
export function byteLength(batch: AnyBatch): number {
  const { validity, values, offsets, sizes, children, typeIds, data } = batch as unknown as BatchParts
  let sum = (validity?.byteLength ?? 0) + (values?.byteLength ?? 0) + (offsets?.byteLength ?? 0)
  sum += (sizes?.byteLength ?? 0) + (typeIds?.byteLength ?? 0)
  for (const buffer of data ?? []) sum += buffer.byteLength
  for (const child of children ?? []) sum += byteLength(child)
  return sum
}

/** The bytes of all dictionaries of a batch, at any depth, without those that are known already. */
export function dictionaryBytes(batch: AnyBatch, known: Set<AnyColumn> = new Set()): number {
  const { children, dictionary } = batch as unknown as BatchParts
  let sum = 0
  if (dictionary && !known.has(dictionary)) {
    known.add(dictionary)
    for (const entries of dictionary.data) sum += byteLength(entries) + dictionaryBytes(entries, known)
  }
  for (const child of children ?? []) sum += dictionaryBytes(child, known)
  return sum
}

/** About how many bytes one value takes. Dictionary values are stored once, so only the indices count. */
export function bytesOfRow(batch: AnyBatch, row: number, layout = layoutOf(batch.type)): number {
  switch (layout.kind) {
    case 'null':
    case 'bits':
      return 1
    case 'fixed':
    case 'dictionary':
      return layout.bytes
    case 'bytes':
      return Number(batch.offsets[row + 1]!) - Number(batch.offsets[row]!) + 4
    case 'views':
      // The length comes first in the 16 bytes of a view.
      return (
        (batch.values as Uint8Array).subarray(row * 16, row * 16 + 4).reduceRight((n, b) => n * 256 + b, 0) +
        16
      )
    case 'list':
      return bytesOfRows(batch.children[0]!, Number(batch.offsets[row]!), Number(batch.offsets[row + 1]!)) + 4
    case 'listView': {
      const start = Number(batch.offsets[row]!)
      return bytesOfRows(batch.children[0]!, start, start + Number(batch.sizes[row]!)) + 8
    }
    case 'fixedList':
      return bytesOfRows(batch.children[0]!, row * layout.stride, (row + 1) * layout.stride)
    case 'struct':
      return batch.children.reduce((sum, child) => sum + bytesOfRow(child, row), 0)
    default:
      return 8
  }
}

/** Adds to each of `sizes` from `first` what {@link bytesOfRow} tells of the rows of a batch from `start` to `end`. */
export function addBytesOfEach(
  batch: AnyBatch,
  { start, end }: { readonly start: number; readonly end: number },
  sizes: Float64Array,
  first: number,
): void {
  // A look at the layout for each row took a third of a merge.
  const layout = layoutOf(batch.type)
  if (layout.kind === 'struct') {
    for (const child of batch.children) addBytesOfEach(child, { start, end }, sizes, first)
    return
  }
  for (let row = start, at = first; row < end; row++) sizes[at++]! += bytesOfRow(batch, row, layout)
}

function bytesOfRows(items: AnyBatch, start: number, end: number): number {
  const layout = layoutOf(items.type)
  if (layout.kind === 'fixed' || layout.kind === 'dictionary') return (end - start) * layout.bytes
  if (layout.kind === 'bytes' && end > start)
    return Number(items.offsets[end]!) - Number(items.offsets[start]!) + 4 * (end - start)
  let bytes = 0
  for (let row = start; row < end; row++) bytes += bytesOfRow(items, row)
  return bytes
}
