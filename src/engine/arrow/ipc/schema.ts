import {
  binary,
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
  largeListView,
  largeUtf8,
  list,
  listView,
  runEndEncoded,
  type Schema,
  Type,
  time,
  timestamp,
  union,
  utf8,
} from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import { requireShort } from '../name-limit.ts'
import type { FlatTable } from './flatbuffer.ts'

/** Limits far above real schemas, but low enough that a forged schema costs little. */
export const maxDepth = 64
const maxFields = 100_000

/**
 * The schema a Schema message or a file's footer describes.
 *
 * Format: `Schema.fbs` of Apache Arrow, https://github.com/apache/arrow/blob/main/format/Schema.fbs
 */
export function readSchema(table: FlatTable): Schema {
  if (table.int16(0) !== 0) {
    throw invalid('The Arrow data is big-endian. Send it in little-endian byte order.')
  }
  const budget = { fields: maxFields }
  return {
    version: 4,
    endianness: 0,
    fields: table.tables(1).map((field) => readField(field, budget, 0)),
    metadata: readMetadata(table, 2),
  }
}

function readField(table: FlatTable, budget: { fields: number }, depth: number): Field {
  if (--budget.fields < 0)
    throw invalid(`The Arrow schema has more than ${maxFields} fields. Send fewer columns.`)
  if (depth > maxDepth) throw invalid(`The Arrow schema nests deeper than ${maxDepth} levels. Flatten it.`)
  const name = requireShort(table.string(0) ?? '')
  const children = table.tables(5).map((child) => readField(child, budget, depth + 1))
  const type = namedType(name, () => readType(table.int8(2), table.table(3), children))
  const encoding = table.table(4)
  const indexType = encoding?.table(1)
  return {
    name,
    nullable: table.bool(1),
    type: encoding
      ? namedType(name, () =>
          dictionary(
            type,
            indexType ? (int(indexType.int32(0) as 8, indexType.bool(1)) as ReturnType<typeof int>) : int(32),
            encoding.bool(2),
            encoding.int64(0),
          ),
        )
      : type,
    metadata: readMetadata(table, 6) as Map<string, string>,
  }
}

/** Adds the column's name to the error that flechette's constructors throw for a value out of range. */
function namedType(name: string, read: () => DataType): DataType {
  try {
    return read()
  } catch (cause) {
    throw invalid(
      `Column ${JSON.stringify(name)} has an Arrow type that cannot be read. Use another type for it.`,
      {
        cause,
      },
    )
  }
}

function readType(typeId: number, table: FlatTable | undefined, children: Field[]): DataType {
  const int16 = (index: number, absent: number) => table?.int16(index, absent) ?? absent
  const int32 = (index: number, absent: number) => table?.int32(index, absent) ?? absent
  const child = (index: number): Field => {
    const found = children[index]
    if (found === undefined) throw new Error(`child ${index} is missing`)
    return found
  }
  switch (typeId) {
    case Type.Null:
    case Type.Bool:
    case Type.BinaryView:
    case Type.Utf8View:
      return { typeId }
    case Type.Int:
      return int(int32(0, 0) as 8, table?.bool(1) ?? false)
    case Type.Float:
      return float(int16(0, 0) as 0)
    case Type.Binary:
      return binary()
    case Type.Utf8:
      return utf8()
    case Type.LargeBinary:
      return largeBinary()
    case Type.LargeUtf8:
      return largeUtf8()
    case Type.Decimal:
      return boundedDecimal(int32(0, 0), int32(1, 0), int32(2, 128))
    case Type.Date:
      return date(int16(0, 1) as 0)
    case Type.Time:
      return time(int16(0, 1) as 0)
    case Type.Timestamp:
      return timestamp(int16(0, 0) as 0, table?.string(1) ?? null)
    case Type.Interval:
      return interval(int16(0, 0) as 0)
    case Type.Duration:
      return duration(int16(0, 1) as 0)
    case Type.FixedSizeBinary:
      return fixedSizeBinary(natural(int32(0, 0)))
    case Type.List:
      return list(child(0))
    case Type.LargeList:
      return largeList(child(0))
    case Type.ListView:
      return listView(child(0)) as DataType
    case Type.LargeListView:
      return largeListView(child(0)) as DataType
    case Type.FixedSizeList:
      return fixedSizeList(child(0), natural(int32(0, 0)))
    case Type.Struct:
      // Not flechette's struct(): it treats an empty or oddly named list of fields as a record of types.
      return { typeId, children }
    case Type.Map: {
      const entries = child(0)
      if (entries.type.typeId !== Type.Struct || entries.type.children.length !== 2) {
        throw new Error('a map needs a struct of two fields')
      }
      return { typeId, keysSorted: table?.bool(0) ?? false, children: [entries], offsets: Int32Array }
    }
    case Type.RunEndEncoded:
      if (child(0).type.typeId !== Type.Int) throw new Error('run ends must be integers')
      return runEndEncoded(child(0), child(1))
    case Type.Union: {
      const ids = table?.at(1)
        ? table.structs(1, 4, (at) => table.reader.int32(at))
        : children.map((_, i) => i)
      if (ids.length !== children.length || new Set(ids).size !== ids.length)
        throw new Error('wrong type ids')
      if (ids.some((id) => id < 0 || id > 127)) throw new Error('type ids must be 0 to 127')
      return union(int16(0, 0) as 0, children, ids)
    }
    default:
      throw new Error(`unknown type number ${typeId}`)
  }
}

/** Refuses more digits than any width holds: a forged type could make a reader compute a huge power of ten. */
function boundedDecimal(precision: number, scale: number, bitWidth: number): DataType {
  if (precision < 1 || precision > 76 || Math.abs(scale) > 128) throw new Error('digits out of range')
  return decimal(precision, scale, bitWidth as 128)
}

function natural(value: number): number {
  if (value < 0) throw new Error(`negative size ${value}`)
  return value
}

function readMetadata(table: FlatTable, index: number): Map<string, string> | null {
  const entries = table
    .tables(index)
    .map((entry): [string, string] => [requireShort(entry.string(0) ?? ''), entry.string(1) ?? ''])
  return entries.length > 0 ? new Map(entries) : null
}
