import { type DataType, type Field, Type } from '@uwdata/flechette'
import type { SchemaElement } from 'hyparquet'
import { type CatalogError, invalid, unsupported } from '../../../base/errors.ts'
import { childFields } from '../../arrow/layout.ts'
import { typeName } from '../../arrow/type-name.ts'

/** A column, or a field within one, with the elements of the Parquet schema that it becomes. */
export interface Column {
  readonly kind: 'leaf' | 'struct' | 'list' | 'map'
  readonly field: Field
  readonly element: SchemaElement
  readonly children: readonly Column[]
}

/** How a leaf is written: its element without name and repetition. */
type Physical = Omit<SchemaElement, 'name' | 'repetition_type'>

/** The column of a field. Throws `Unsupported` for a type that Parquet does not have. */
export function columnOf(field: Field, path: string = field.name): Column {
  const type = valueTypeOf(field.type)
  const element = (about: Physical): SchemaElement => ({
    name: field.name,
    repetition_type: field.nullable || type.typeId === Type.Null ? 'OPTIONAL' : 'REQUIRED',
    ...about,
  })
  const children = childFields(type)
  switch (type.typeId) {
    case Type.Struct: {
      if (children.length === 0) throw impossible(path, type, 'Leave the column out.')
      const within = children.map((child) => columnOf(child, `${path}.${child.name}`))
      return { kind: 'struct', field, element: element({ num_children: within.length }), children: within }
    }
    case Type.Map: {
      const entries = childFields(children[0]!.type).map((child, i) =>
        columnOf(
          { ...child, name: i === 0 ? 'key' : 'value', nullable: i === 1 && child.nullable },
          `${path}.${child.name}`,
        ),
      )
      const about: Physical = { num_children: 1, converted_type: 'MAP', logical_type: { type: 'MAP' } }
      return { kind: 'map', field, element: element(about), children: entries }
    }
    case Type.List:
    case Type.LargeList:
    case Type.FixedSizeList:
    case Type.ListView:
    case Type.LargeListView: {
      const item = columnOf({ ...children[0]!, name: 'element' }, `${path}.${children[0]!.name}`)
      const about: Physical = { num_children: 1, converted_type: 'LIST', logical_type: { type: 'LIST' } }
      return { kind: 'list', field, element: element(about), children: [item] }
    }
    default:
      return { kind: 'leaf', field, element: element(physicalOf(type, path)), children: [] }
  }
}

/** The type of the values of a dictionary, or of runs. */
export function valueTypeOf(type: DataType): DataType {
  if (type.typeId === Type.Dictionary) return valueTypeOf(type.dictionary)
  return type.typeId === Type.RunEndEncoded ? valueTypeOf(type.children[1]!.type) : type
}

/** The elements of a schema: each is followed by its children. */
export function elementsOf(columns: readonly Column[]): SchemaElement[] {
  const elements: SchemaElement[] = [{ name: 'schema', num_children: columns.length }]
  const add = ({ kind, element, children }: Column): void => {
    elements.push(element)
    if (kind === 'list' || kind === 'map') elements.push(repeatedOf(kind))
    children.forEach(add)
  }
  columns.forEach(add)
  return elements
}

/** The repeated group between a list or map and its values. */
export function repeatedOf(kind: 'list' | 'map'): SchemaElement {
  return kind === 'list'
    ? { name: 'list', repetition_type: 'REPEATED', num_children: 1 }
    : { name: 'key_value', repetition_type: 'REPEATED', num_children: 2 }
}

const units = { 1: 'MILLIS', 2: 'MICROS', 3: 'NANOS' } as const

/** The unit in which Parquet stores times of a unit of Arrow: it has no seconds. */
function unitOf(unit: number): (typeof units)[1 | 2 | 3] {
  return units[Math.max(1, unit) as 1 | 2 | 3]
}

function physicalOf(type: DataType, path: string): Physical {
  switch (type.typeId) {
    case Type.Null:
      return { type: 'INT32', logical_type: { type: 'NULL' } }
    case Type.Bool:
      return { type: 'BOOLEAN' }
    case Type.Int: {
      const { bitWidth, signed } = type
      const wide = bitWidth === 64 ? 'INT64' : 'INT32'
      if (signed && bitWidth >= 32) return { type: wide }
      return { type: wide, converted_type: `${signed ? '' : 'U'}INT_${bitWidth}` as 'INT_8' }
    }
    case Type.Float:
      if (type.precision === 0)
        return { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 2, logical_type: { type: 'FLOAT16' } }
      return { type: type.precision === 1 ? 'FLOAT' : 'DOUBLE' }
    case Type.Utf8:
    case Type.LargeUtf8:
    case Type.Utf8View:
      return { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } }
    case Type.Binary:
    case Type.LargeBinary:
    case Type.BinaryView:
      return { type: 'BYTE_ARRAY' }
    case Type.FixedSizeBinary:
      if (type.stride < 1) throw impossible(path, type, 'Leave the column out.')
      return { type: 'FIXED_LEN_BYTE_ARRAY', type_length: type.stride }
    case Type.Decimal:
      return decimalOf(type.precision, type.scale, path)
    case Type.Date:
      return { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } }
    case Type.Time: {
      const unit = unitOf(type.unit)
      return {
        type: unit === 'MILLIS' ? 'INT32' : 'INT64',
        logical_type: { type: 'TIME', isAdjustedToUTC: false, unit },
      }
    }
    case Type.Timestamp:
      return {
        type: 'INT64',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: type.timezone != null, unit: unitOf(type.unit) },
      }
    case Type.Duration:
      return { type: 'INT64' }
    case Type.Interval:
      return { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 12, converted_type: 'INTERVAL' }
    default:
      throw impossible(path, type, 'Convert or leave out the column.')
  }
}

function decimalOf(precision: number, scale: number, path: string): Physical {
  if (scale < 0 || scale > precision) {
    throw invalid(
      `Parquet has no decimals of ${precision} digits with ${scale} after the point, as column ${JSON.stringify(path)} has. Cast it to a scale from 0 to its precision.`,
    )
  }
  const about: Physical = {
    converted_type: 'DECIMAL',
    logical_type: { type: 'DECIMAL', precision, scale },
    precision,
    scale,
  }
  if (precision <= 9) return { type: 'INT32', ...about }
  if (precision <= 18) return { type: 'INT64', ...about }
  // The bytes of the largest value, and its sign.
  const bits = (10n ** BigInt(precision)).toString(2).length + 1
  return { type: 'FIXED_LEN_BYTE_ARRAY', type_length: Math.ceil(bits / 8), ...about }
}

function impossible(path: string, type: DataType, instead: string): CatalogError {
  return unsupported(
    `Parquet has no type for ${typeName(type)}, as column ${JSON.stringify(path)} has.`,
    instead,
  )
}
