import { type DataType, IntervalUnit, Type, UnionMode } from '@uwdata/flechette'

/** The typed arrays a fixed-width value buffer is viewed with. */
export type ValuesConstructor =
  | typeof Uint8Array
  | typeof Int8Array
  | typeof Uint16Array
  | typeof Int16Array
  | typeof Uint32Array
  | typeof Int32Array
  | typeof BigUint64Array
  | typeof BigInt64Array
  | typeof Float32Array
  | typeof Float64Array

export type OffsetsConstructor = typeof Int32Array | typeof BigInt64Array

/** The buffers of a type's values. Reading, gathering and checking differ by layout. */
export type Layout =
  | { readonly kind: 'null' | 'bits' | 'struct' | 'runEnds' }
  /** `bytes` for each row, viewed as `array`. */
  | { readonly kind: 'fixed'; readonly bytes: number; readonly array: ValuesConstructor }
  | { readonly kind: 'bytes'; readonly offsets: OffsetsConstructor; readonly text: boolean }
  | { readonly kind: 'views'; readonly text: boolean }
  | { readonly kind: 'list' | 'listView'; readonly offsets: OffsetsConstructor }
  | { readonly kind: 'fixedList'; readonly stride: number }
  | { readonly kind: 'dictionary'; readonly array: ValuesConstructor; readonly bytes: number }
  | { readonly kind: 'union'; readonly dense: boolean }

/** The layout of a type. Source: https://arrow.apache.org/docs/format/Columnar.html#buffer-listing-for-each-layout */
export function layoutOf(type: DataType): Layout {
  switch (type.typeId) {
    case Type.Null:
      return { kind: 'null' }
    case Type.Bool:
      return { kind: 'bits' }
    case Type.Int:
    case Type.Float:
    case Type.Date:
    case Type.Time:
    case Type.Timestamp:
    case Type.Duration:
      return { kind: 'fixed', bytes: type.values.BYTES_PER_ELEMENT, array: type.values }
    case Type.Decimal:
      return { kind: 'fixed', bytes: type.bitWidth / 8, array: type.values }
    case Type.Interval:
      if (type.unit === IntervalUnit.MONTH_DAY_NANO) return { kind: 'fixed', bytes: 16, array: Uint8Array }
      return { kind: 'fixed', bytes: type.unit === IntervalUnit.DAY_TIME ? 8 : 4, array: Int32Array }
    case Type.FixedSizeBinary:
      return { kind: 'fixed', bytes: type.stride, array: Uint8Array }
    case Type.Utf8:
    case Type.LargeUtf8:
      return { kind: 'bytes', offsets: type.offsets, text: true }
    case Type.Binary:
    case Type.LargeBinary:
      return { kind: 'bytes', offsets: type.offsets, text: false }
    case Type.Utf8View:
      return { kind: 'views', text: true }
    case Type.BinaryView:
      return { kind: 'views', text: false }
    case Type.List:
    case Type.LargeList:
    case Type.Map:
      return { kind: 'list', offsets: type.offsets }
    case Type.ListView:
    case Type.LargeListView:
      return { kind: 'listView', offsets: type.offsets }
    case Type.FixedSizeList:
      return { kind: 'fixedList', stride: type.stride }
    case Type.Struct:
      return { kind: 'struct' }
    case Type.RunEndEncoded:
      return { kind: 'runEnds' }
    case Type.Dictionary: {
      const { values } = type.indices
      return { kind: 'dictionary', array: values, bytes: values.BYTES_PER_ELEMENT }
    }
    case Type.Union:
      return { kind: 'union', dense: type.mode === UnionMode.Dense }
    default:
      throw new TypeError(`no layout for Arrow type ${(type as { typeId: number }).typeId}`)
  }
}

/** A buffer of a batch. Views have more of them, for long values. */
export type BufferName = 'validity' | 'offsets' | 'sizes' | 'values' | 'typeIds'

const bufferNames: Readonly<Record<Layout['kind'], readonly BufferName[]>> = {
  null: [],
  runEnds: [],
  struct: ['validity'],
  fixedList: ['validity'],
  bits: ['validity', 'values'],
  fixed: ['validity', 'values'],
  dictionary: ['validity', 'values'],
  views: ['validity', 'values'],
  bytes: ['validity', 'offsets', 'values'],
  list: ['validity', 'offsets'],
  listView: ['validity', 'offsets', 'sizes'],
  union: ['typeIds'],
}
const denseUnion: readonly BufferName[] = ['typeIds', 'offsets']

/** The buffers of a layout in the order of messages. Buffers of long values follow them. */
export function bufferNamesOf(layout: Layout): readonly BufferName[] {
  return layout.kind === 'union' && layout.dense ? denseUnion : bufferNames[layout.kind]
}

/** Whether a layout has a validity buffer: whether its rows can be null themselves. */
export function hasValidity({ kind }: Layout): boolean {
  return bufferNames[kind][0] === 'validity'
}

/** The fields of a batch's children. A dictionary has none, since its values are stored separately. */
export function childFields(type: DataType) {
  return type.typeId !== Type.Dictionary && 'children' in type ? type.children : []
}

/** Whether a dictionary occurs anywhere in the type. */
export function hasDictionary(type: DataType): boolean {
  return type.typeId === Type.Dictionary || childFields(type).some((field) => hasDictionary(field.type))
}

const listTypes: ReadonlySet<number> = new Set([
  Type.List,
  Type.LargeList,
  Type.FixedSizeList,
  Type.ListView,
  Type.LargeListView,
])

/** Whether values of a type are lists, in whatever layout. */
export function isList({ typeId }: DataType): boolean {
  return listTypes.has(typeId)
}

/** Whether a typed array has the values of a type as they are. That of halves has their bits. */
export function hasPlainNumbers(type: DataType): boolean {
  switch (type.typeId) {
    case Type.Int:
    case Type.Date:
    case Type.Time:
    case Type.Timestamp:
    case Type.Duration:
      return true
    case Type.Float:
      return type.precision > 0
    default:
      return false
  }
}
