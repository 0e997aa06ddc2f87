import { type Schema, Type } from '@uwdata/flechette'
import { CatalogError } from '../../../base/errors.ts'
import { namesOf, splitPath } from '../read/projection.ts'
import type { FieldNode } from './field-tree.ts'

/** A field found by its path: the fields on the way, the last one being the field itself. */
export interface FoundField {
  readonly node: FieldNode
  readonly way: readonly FieldNode[]
  /** The index of each field among its siblings. */
  readonly indices: readonly number[]
  /** The path in normal form: dots between names, backticks around a name that needs them. */
  readonly path: string
}

/** Finds the field at a path with the syntax of queries. Names must match exactly. */
export function findField(schema: Schema, tree: readonly FieldNode[], text: string): FoundField {
  const exact = tree.findIndex(({ field }) => field.name === text)
  const names = exact >= 0 ? [text] : splitPath(text)
  const way: FieldNode[] = []
  const indices: number[] = []
  let fields = tree
  for (const name of names) {
    const index = fields.findIndex(({ field }) => field.name === name)
    const node = fields[index]
    if (node === undefined) {
      throw new CatalogError(
        'TableColumnNotFound',
        `There is no column ${JSON.stringify(text)}. The columns are ${namesOf(schema)}.`,
      )
    }
    way.push(node)
    indices.push(index)
    fields = node.children
  }
  return { node: way.at(-1)!, way, indices, path: names.map(quoted).join('.') }
}

/** Whether a field is within structs only, so that each row has one value of it. */
export function isInStructs({ way }: FoundField): boolean {
  return way.slice(0, -1).every(({ field }) => field.type.typeId === Type.Struct)
}

function quoted(name: string): string {
  return /[.`]/.test(name) || name === '' ? `\`${name.replaceAll('`', '``')}\`` : name
}
