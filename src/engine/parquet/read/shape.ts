import { type DataType, type Field, list, Type } from '@uwdata/flechette'
import { requireShort } from '../../arrow/name-limit.ts'
import { damagedFile, unreadable } from '../damage.ts'
import { annotations } from './annotations.ts'
import { fieldIn, retyped } from './arrow-schema.ts'
import { annotated, annotationOf, leafType } from './leaf-type.ts'
import type { SchemaNode } from './schema-tree.ts'

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
  switch (annotationOf(node)) {
    case annotations.list:
      return listShape(node, arrow)
    case annotations.map:
      return mapShape(node, arrow) ?? structShape(node, arrow)
    case undefined:
    case annotations.variant:
      return structShape(node, arrow)
    default:
      throw annotated(node)
  }
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
