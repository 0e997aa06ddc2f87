import type { DataType, Field } from '@uwdata/flechette'
import { childFields } from '../../arrow/layout.ts'

/** A field of a table with its id, and the fields within it. Its own `field.type` may have other children. */
export interface FieldNode {
  readonly id: number
  readonly field: Field
  readonly children: readonly FieldNode[]
}

/** Fields as a tree. `ids` has an id for each, before those of the fields within it. */
export function treeOf(fields: readonly Field[], ids: Iterable<number>): FieldNode[] {
  const next = ids[Symbol.iterator]()
  const node = (field: Field): FieldNode => {
    const { value: id } = next.next()
    return { id: id!, field, children: childFields(field.type).map(node) }
  }
  return fields.map(node)
}

/** How many fields there are, with those within them. */
export function countFields(fields: readonly Field[]): number {
  return fields.reduce((sum, { type }) => sum + 1 + countFields(childFields(type)), 0)
}

/** The ids of a tree, each before those within it. */
export function idsOf(tree: readonly FieldNode[]): number[] {
  return tree.flatMap(({ id, children }) => [id, ...idsOf(children)])
}

/** The field that a node stands for, with the children that the node has. */
export function fieldOf({ field, children }: FieldNode): Field {
  if (children.length === 0) return field
  const type = { ...field.type, children: children.map(fieldOf) } as unknown as DataType
  return { ...field, type }
}
