import {
  binary,
  bool,
  type DataType,
  date,
  decimal,
  dictionary,
  duration,
  type Field,
  fixedSizeBinary,
  fixedSizeList,
  float,
  int,
  interval,
  largeBinary,
  largeList,
  largeUtf8,
  list,
  nullType,
  Table,
  Type,
  time,
  timestamp,
  union,
  utf8,
} from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import { type AnyBatch, type BatchParts, emptyBytes, makeBatch, makeColumn, type Offsets } from '../batch.ts'
import { copyBits, countBits } from '../bitmap.ts'
import { childFields, layoutOf, type ValuesConstructor } from '../layout.ts'
import { nullBatch } from '../null-batch.ts'

/** An `apache-arrow` table of any version, recognized by its properties. */
export interface ApacheTable {
  readonly schema: { readonly fields: readonly unknown[]; readonly metadata?: unknown }
  readonly batches: readonly unknown[]
  readonly numRows: number
}

/** The parts of its fields, types and data that are read here. They are the same in all versions. */
interface ApacheField {
  readonly name: string
  readonly nullable: boolean
  readonly type: ApacheType
  readonly metadata?: Map<string, string>
}

interface ApacheType {
  readonly typeId: number
  readonly bitWidth?: number
  readonly isSigned?: boolean
  readonly precision?: number
  readonly scale?: number
  readonly unit?: number
  readonly timezone?: string | null
  readonly byteWidth?: number
  readonly listSize?: number
  readonly keysSorted?: boolean
  readonly mode?: number
  readonly typeIds?: ArrayLike<number>
  readonly children?: readonly ApacheField[] | null
  readonly indices?: ApacheType
  readonly dictionary?: ApacheType
  readonly isOrdered?: boolean
}

interface ApacheData {
  readonly type: ApacheType
  readonly length: number
  readonly offset: number
  readonly nullCount: number
  readonly nullBitmap?: Uint8Array
  readonly valueOffsets?: Offsets
  readonly values?: ArrayBufferView
  readonly typeIds?: Int8Array
  readonly children: readonly ApacheData[]
  readonly dictionary?: { readonly data: readonly ApacheData[] }
}

/** Whether this looks like a table of the `apache-arrow` package. */
export function isApacheTable(data: unknown): data is ApacheTable {
  const table = data as Partial<ApacheTable> | null | undefined
  return (
    Array.isArray(table?.batches) && Array.isArray(table.schema?.fields) && typeof table.numRows === 'number'
  )
}

/** A record batch of the `apache-arrow` package. */
interface ApacheBatch {
  readonly schema: ApacheTable['schema']
  readonly data: ApacheData
  readonly numRows: number
}

/** Whether this looks like a record batch of the `apache-arrow` package. */
export function isApacheBatch(data: unknown): data is ApacheBatch {
  const batch = data as Partial<ApacheBatch> | null | undefined
  return (
    Array.isArray(batch?.data?.children) &&
    Array.isArray(batch.schema?.fields) &&
    typeof batch.numRows === 'number'
  )
}

/** The table of one record batch. */
export function tableOfBatch(batch: ApacheBatch): ApacheTable {
  return { schema: batch.schema, batches: [batch], numRows: batch.numRows }
}

/**
 * The table over the same buffers, made without the package itself. The package's IPC writer only takes tables of the
 * same copy of the package, and writes some columns of nulls wrongly.
 */
export function fromApacheTable(table: ApacheTable): Table {
  const fields = (table.schema.fields as readonly ApacheField[]).map(fieldOf)
  const columns = fields.map((field, i) =>
    makeColumn(
      field.type,
      table.batches.map((batch) => {
        const { data } = batch as { data: ApacheData }
        return batchOf(field.type, data.children[i]!)
      }),
    ),
  )
  const { metadata } = table.schema
  return new Table(
    { fields, metadata: metadata instanceof Map && metadata.size > 0 ? metadata : null },
    columns,
  )
}

function fieldOf({ name, nullable, type, metadata }: ApacheField): Field {
  const own = metadata instanceof Map && metadata.size > 0 ? metadata : null
  return { name, nullable, type: typeOf(type, name), metadata: own as Map<string, string> }
}

function typeOf(type: ApacheType, column: string): DataType {
  const unit = type.unit as 0 | undefined
  const children = (type.children ?? []).map(fieldOf)
  const [child] = children as [Field]
  switch (type.typeId) {
    case Type.Null:
      return nullType()
    case Type.Bool:
      return bool()
    case Type.Int:
      return int(type.bitWidth as 8, type.isSigned)
    case Type.Float:
      return float(type.precision as 0)
    case Type.Binary:
      return binary()
    case Type.LargeBinary:
      return largeBinary()
    case Type.Utf8:
      return utf8()
    case Type.LargeUtf8:
      return largeUtf8()
    case Type.Decimal:
      return decimal(type.precision!, type.scale!, (type.bitWidth ?? 128) as 128)
    case Type.Date:
      return date(unit!)
    case Type.Time:
      return time(unit!)
    case Type.Timestamp:
      return timestamp(unit!, type.timezone || null)
    case Type.Interval:
      return interval(unit!)
    case Type.Duration:
      return duration(unit!)
    case Type.FixedSizeBinary:
      return fixedSizeBinary(type.byteWidth!)
    case Type.List:
      return list(child)
    case Type.LargeList:
      return largeList(child)
    case Type.FixedSizeList:
      return fixedSizeList(child, type.listSize!)
    case Type.Struct:
      return { typeId: Type.Struct, children }
    case Type.Map:
      return {
        typeId: Type.Map,
        keysSorted: type.keysSorted ?? false,
        children: [child],
        offsets: Int32Array,
      }
    case Type.Union:
      return union(type.mode as 0, children, Array.from(type.typeIds!))
    case Type.Dictionary: {
      const indices = typeOf(type.indices!, column) as ReturnType<typeof int>
      return dictionary(typeOf(type.dictionary!, column), indices, type.isOrdered)
    }
    default:
      throw invalid(
        `Column ${JSON.stringify(column)} of the apache-arrow table has type number ${type.typeId}, which is not known here. Send Arrow IPC bytes.`,
      )
  }
}

function batchOf(type: DataType, data: ApacheData): AnyBatch {
  const { length } = data
  const layout = layoutOf(type)
  if (layout.kind === 'null') return makeBatch(type, { length, nullCount: length })
  const children = childFields(type).map((field, i) => childOf(field.type, data.children[i]))
  if (layout.kind === 'union') {
    const typeIds = data.typeIds!.subarray(0, length)
    const offsets = layout.dense ? { offsets: (data.valueOffsets as Int32Array).subarray(0, length) } : {}
    return makeBatch(type, { length, typeIds, children, ...offsets })
  }
  const nulls = nullsOf(data)
  const make = (parts: Partial<BatchParts>) => makeBatch(type, { length, ...nulls, ...parts })
  switch (layout.kind) {
    case 'bits':
      return make({ values: shifted(data.values as Uint8Array, data.offset, length) })
    case 'fixed':
      return make({
        values: viewed(data.values!, layout.array, (length * layout.bytes) / layout.array.BYTES_PER_ELEMENT),
      })
    case 'dictionary': {
      if (type.typeId !== Type.Dictionary) break
      const entries = (data.dictionary?.data ?? []).map((part) => batchOf(type.dictionary, part))
      return make({
        values: viewed(data.values!, layout.array, length),
        dictionary: makeColumn(type.dictionary, entries),
      })
    }
    case 'bytes':
      return make({ offsets: offsetsOf(data, layout.offsets), values: data.values as Uint8Array })
    case 'list':
      return make({ offsets: offsetsOf(data, layout.offsets), children })
    case 'fixedList': {
      // A column of nulls only may have no values buffer.
      const missing = nulls.nullCount === length && children[0]!.length < length * layout.stride
      return make({
        children: missing ? [nullBatch(childFields(type)[0]!.type, length * layout.stride)] : children,
      })
    }
    case 'struct':
      return make({ children })
  }
  throw new TypeError('a layout apache-arrow does not have')
}

function childOf(type: DataType, data: ApacheData | undefined): AnyBatch {
  return data === undefined ? nullBatch(type, 0) : batchOf(type, data)
}

function nullsOf({ nullBitmap, offset, length }: ApacheData): { validity: Uint8Array; nullCount: number } {
  if (!nullBitmap || nullBitmap.length === 0) return { validity: emptyBytes, nullCount: 0 }
  const validity = shifted(nullBitmap, offset, length)
  return { validity, nullCount: length - countBits(validity, length) }
}

/** Bits from `offset` on. Bits past the end of a short bitmap are 0. */
function shifted(bits: Uint8Array, offset: number, length: number): Uint8Array {
  const target = new Uint8Array(Math.ceil(length / 8))
  copyBits(bits, offset, target, 0, Math.max(0, Math.min(length, bits.length * 8 - offset)))
  return target
}

function offsetsOf(
  { valueOffsets, length }: ApacheData,
  array: typeof Int32Array | typeof BigInt64Array,
): Offsets {
  return valueOffsets && valueOffsets.length > length
    ? valueOffsets.subarray(0, length + 1)
    : new array(length + 1)
}

/** The same bytes as another kind of array, at least `length` values of it. */
function viewed(values: ArrayBufferView, array: ValuesConstructor, length: number) {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  const size = length * array.BYTES_PER_ELEMENT
  const whole = new Uint8Array(size)
  whole.set(bytes.subarray(0, size))
  return new array(whole.buffer, 0, length)
}
