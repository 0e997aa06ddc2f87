import type { DataType, Field } from '@uwdata/flechette'
import { childFields } from '../../arrow/layout.ts'

/** The metadata of a field without any. Flechette reads and writes null, which its types do not declare. */
export const noMetadata = null as unknown as Map<string, string>

/** A field of a table with its id, and the fields within it. Its own `field.type` may have other children. */
export interface FieldNode {
  readonly id: number
  readonly field: Field
  readonly children: readonly FieldNode[]
}

/** Fields as a tree. `ids` has an id for each field, followed by those of the fields within it. */
export function treeOf(fields: readonly Field[], ids: Iterable<number>): FieldNode[] {
  const next = ids[Symbol.iterator]()
  const node = (field: Field): FieldNode => {
    const { value: id } = next.next()
    return { id: id!, field, children: childFields(field.type).map(node) }
  }
  return fields.map(node)
}

/** The number of fields, those within them included. */
export function countFields(fields: readonly Field[]): number {
  return fields.reduce((sum, { type }) => sum + 1 + countFields(childFields(type)), 0)
}

/** The ids of a tree, each followed by those within it. */
export function idsOf(tree: readonly FieldNode[]): number[] {
  return tree.flatMap(({ id, children }) => [id, ...idsOf(children)])
}

/** The field of a node, with the node's children. */
export function fieldOf({ field, children }: FieldNode): Field {
  if (children.length === 0) return field
  const type = { ...field.type, children: children.map(fieldOf) } as unknown as DataType
  return { ...field, type }
}
