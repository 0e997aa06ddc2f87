import {
  binary,
  bool,
  type DataType,
  dateDay,
  decimal,
  type Field,
  fixedSizeBinary,
  float16,
  float32,
  float64,
  int,
  interval,
  list,
  nullType,
  Type,
  time,
  timestamp,
  utf8,
} from '@uwdata/flechette'
import { CatalogError } from '../../../base/errors.ts'
import { requireShort } from '../../arrow/name-limit.ts'
import { damagedFile, unreadable } from '../damage.ts'
import { fieldIn, retyped } from './arrow-schema.ts'
import type { SchemaNode } from './schema-tree.ts'
import { natural, type Struct } from './thrift.ts'

/** How a column is made of its leaves: its Arrow type, and the fields of Parquet that it comes from. */
export interface Shape {
  readonly kind: 'leaf' | 'struct' | 'list' | 'map'
  readonly node: SchemaNode
  /** The type that the levels and values make. */
  readonly natural: DataType
  /** The type that the file's Arrow schema names, if it has the same values. */
  readonly type: DataType
  readonly nullable: boolean
  readonly children: readonly Shape[]
  /** The repeated field of a list or map. */
  readonly repeated?: SchemaNode
}

const converted = {
  utf8: 0,
  map: 1,
  mapKeyValue: 2,
  list: 3,
  enum: 4,
  decimal: 5,
  date: 6,
  timeMillis: 7,
  timeMicros: 8,
  timestampMillis: 9,
  timestampMicros: 10,
  uint8: 11,
  int64: 18,
  json: 19,
  interval: 21,
} as const

/** The shape of a column. `arrow` is the field of the Arrow schema that writers of Arrow data store with it. */
export function shapeOf(node: SchemaNode, arrow: Field | undefined, isItem = false): Shape {
  requireShort(node.name)
  if (node.repetition === 'REPEATED' && !isItem) return repeatedAlone(node, arrow)
  if (node.type !== undefined) {
    const natural = leafType(node)
    return {
      kind: 'leaf',
      node,
      natural,
      type: retyped(natural, arrow?.type),
      nullable: nullable(node),
      children: [],
    }
  }
  if (node.logical.field_3 !== undefined || node.converted === converted.list) return listShape(node, arrow)
  if (
    node.logical.field_2 !== undefined ||
    node.converted === converted.map ||
    node.converted === converted.mapKeyValue
  )
    return mapShape(node, arrow) ?? structShape(node, arrow)
  return structShape(node, arrow)
}

function nullable({ repetition }: SchemaNode): boolean {
  return repetition === 'OPTIONAL'
}

/** The Arrow field of a shape. */
export function fieldOf({ node, type, nullable }: Shape, metadata: Field['metadata'] | undefined): Field {
  return { name: node.name, type, nullable, metadata: metadata ?? (null as unknown as Field['metadata']) }
}

function structShape(node: SchemaNode, arrow: Field | undefined): Shape {
  const children = node.children.map((child) => shapeOf(child, fieldIn(arrow, child.name)))
  if (children.length === 0) throw unreadable(`has column ${node.label} without fields`, 'Leave it out.')
  const fields = children.map((child) => fieldOf(child, fieldIn(arrow, child.node.name)?.metadata))
  const type: DataType = { typeId: Type.Struct, children: fields }
  return { kind: 'struct', node, natural: type, type, nullable: nullable(node), children }
}

/** A repeated field without an annotation is a list of its values. */
function repeatedAlone(node: SchemaNode, arrow: Field | undefined): Shape {
  return listOf({ node, repeated: node, item: shapeOf(node, itemOf(arrow), true), arrow, nullable: false })
}

/** Source: https://github.com/apache/parquet-format/blob/master/LogicalTypes.md#lists */
function listShape(node: SchemaNode, arrow: Field | undefined): Shape {
  const [repeated, ...others] = node.children
  if (repeated?.repetition !== 'REPEATED' || others.length > 0)
    throw damagedFile(`has a list ${node.label} in an unknown form`)
  const isItem =
    repeated.children.length !== 1 || repeated.name === 'array' || repeated.name === `${node.name}_tuple`
  const itemNode = isItem ? repeated : repeated.children[0]!
  const item = shapeOf(itemNode, itemOf(arrow), isItem)
  return listOf({ node, repeated, item, arrow, nullable: nullable(node) })
}

function itemOf(arrow: Field | undefined): Field | undefined {
  const type = arrow?.type.typeId === Type.Dictionary ? undefined : arrow?.type
  return type && 'children' in type ? (type.children[0] as Field) : undefined
}

function listOf(given: {
  readonly node: SchemaNode
  readonly repeated: SchemaNode
  readonly item: Shape
  readonly arrow: Field | undefined
  readonly nullable: boolean
}): Shape {
  const { node, repeated, item, arrow } = given
  const known = itemOf(arrow)
  const field = { ...fieldOf(item, known?.metadata), ...(known && { name: known.name }) }
  const natural = list(field) as DataType
  return {
    kind: 'list',
    node,
    repeated,
    natural,
    type: retyped(natural, arrow?.type),
    nullable: given.nullable,
    children: [item],
  }
}

/** Source: https://github.com/apache/parquet-format/blob/master/LogicalTypes.md#maps */
function mapShape(node: SchemaNode, arrow: Field | undefined): Shape | undefined {
  const [repeated] = node.children
  if (node.children.length !== 1 || repeated?.repetition !== 'REPEATED' || repeated.children.length !== 2)
    return undefined
  const [keyNode, valueNode] = repeated.children as [SchemaNode, SchemaNode]
  if (keyNode.repetition === 'REPEATED' || valueNode.repetition === 'REPEATED') return undefined
  const known = itemOf(arrow)
  const [knownKey, knownValue] = (known && 'children' in known.type ? known.type.children : []) as Field[]
  const [key, value] = [shapeOf(keyNode, knownKey), shapeOf(valueNode, knownValue)]
  // Arrow has no null keys.
  const keyField = {
    ...fieldOf(key, knownKey?.metadata),
    name: knownKey?.name ?? keyNode.name,
    nullable: false,
  }
  const valueField = { ...fieldOf(value, knownValue?.metadata), name: knownValue?.name ?? valueNode.name }
  const entries: Field = {
    name: known?.name ?? 'entries',
    type: { typeId: Type.Struct, children: [keyField, valueField] },
    nullable: false,
    metadata: null as unknown as Field['metadata'],
  }
  const keysSorted = arrow?.type.typeId === Type.Map && arrow.type.keysSorted
  const type: DataType = {
    typeId: Type.Map,
    keysSorted,
    children: [entries],
    offsets: Int32Array,
  } as DataType
  return {
    kind: 'map',
    node,
    repeated,
    natural: type,
    type,
    nullable: nullable(node),
    children: [key, value],
  }
}

function leafType(node: SchemaNode): DataType {
  const { logical, converted: old } = node
  if (logical.field_5 !== undefined || old === converted.decimal) return decimalType(node)
  switch (node.type) {
    case 'BOOLEAN':
      return bool()
    case 'INT32':
      return smallType(node)
    case 'INT64':
      return longType(node)
    case 'INT96':
      return timestamp(3, null)
    case 'FLOAT':
      return float32()
    case 'DOUBLE':
      return float64()
    case 'BYTE_ARRAY': {
      const isText = [1, 4, 12].some((id) => logical[`field_${id}`] !== undefined)
      return isText || old === converted.utf8 || old === converted.enum || old === converted.json
        ? utf8()
        : binary()
    }
    default:
      if (logical.field_15 !== undefined && node.length === 2) return float16()
      if (old === converted.interval && node.length === 12) return interval(2)
      return fixedSizeBinary(node.length)
  }
}

function smallType({ logical, converted: old }: SchemaNode): DataType {
  if (logical.field_11 !== undefined) return nullType()
  if (logical.field_6 !== undefined || old === converted.date) return dateDay()
  if (logical.field_7 !== undefined || old === converted.timeMillis) return time(1)
  return integerType(logical, old, 32)
}

function longType({ logical, converted: old }: SchemaNode): DataType {
  const [of, at] = [logical.field_7 as Struct | undefined, logical.field_8 as Struct | undefined]
  if (of !== undefined) return time(unitOf(of) === 3 ? 3 : 2)
  if (at !== undefined) return timestamp(unitOf(at), at.field_1 === true ? 'UTC' : null)
  if (old === converted.timeMicros) return time(2)
  if (old === converted.timestampMillis) return timestamp(1, 'UTC')
  if (old === converted.timestampMicros) return timestamp(2, 'UTC')
  return integerType(logical, old, 64)
}

/** The unit of a logical time, as Arrow counts units. */
function unitOf({ field_2 }: Struct): 1 | 2 | 3 {
  const unit = (field_2 ?? {}) as Struct
  return unit.field_3 !== undefined ? 3 : unit.field_2 !== undefined ? 2 : 1
}

function integerType(logical: Struct, old: number | undefined, width: 32 | 64): DataType {
  const about = logical.field_10 as Struct | undefined
  if (about !== undefined) {
    const bits = natural(about.field_1)
    return int(bits === 8 || bits === 16 ? (width === 32 ? bits : 64) : width, about.field_2 !== false)
  }
  if (old === undefined || old < converted.uint8 || old > converted.int64) return int(width)
  const bits = 8 << ((old - converted.uint8) % 4)
  return int((bits > width || width === 64 ? width : bits) as 8, old >= converted.uint8 + 4)
}

function decimalType(node: SchemaNode): DataType {
  const about = (node.logical.field_5 ?? {}) as Struct
  const scale = about.field_1 === undefined ? node.scale : natural(about.field_1)
  const precision = about.field_2 === undefined ? node.precision : natural(about.field_2)
  if (
    precision < 1 ||
    scale > precision ||
    node.type === 'BOOLEAN' ||
    node.type === 'FLOAT' ||
    node.type === 'DOUBLE' ||
    node.type === 'INT96'
  )
    throw damagedFile(`has column ${node.label} of an impossible decimal`)
  if (precision > 76) {
    throw new CatalogError(
      'Unsupported',
      `The Parquet file has column ${node.label} with decimals of ${precision} digits. Write it with at most 76.`,
    )
  }
  return decimal(precision, scale, precision > 38 ? 256 : 128)
}
