import { type Field, type Schema, Type } from '@uwdata/flechette'
import { childFields } from '../../arrow/layout.ts'
import { typedSchema } from '../../arrow/null-types.ts'
import { checkColumns } from '../../arrow/schema.ts'
import { type LoadedSnapshot, snapshotOf } from '../format/snapshot.ts'
import type { Change } from '../table-engine.ts'
import { storeSchema } from '../write/write-manifest.ts'
import { columnsAfter } from './column-change.ts'
import { idsFrom, treeOfSchema } from './edits.ts'
import { type FieldNode, fieldOf, treeOf } from './field-tree.ts'

/**
 * A version whose columns have the types of given ones where their own are null. The same version if there are none.
 * Such a column is a new one to files: those written before lack it, and are null there. So earlier versions keep theirs.
 */
export function withTypesOf(base: LoadedSnapshot, given: Schema): LoadedSnapshot {
  const schema = typedSchema(base.schema, given.fields)
  if (schema === base.schema) return base
  checkColumns(schema)
  const { tree, nextId } = treeOfSchema(base.schema)
  const ids = idsFrom(nextId)
  const typed = tree.map((node, i) => retyped(node, schema.fields[i]!, ids))
  const { schema: text } = storeSchema({ ...schema, fields: typed.map(fieldOf) })
  const columns = columnsAfter(base, {
    tree: typed,
    nextId: ids.next().value,
    typesItems: typesItems(tree, typed),
  })
  return snapshotOf(base.prefix, base.manifest, { ...base.body, schema: text, columns })
}

/** The node with a type at some places within it. Those get new ids, and the others keep theirs. */
function retyped(node: FieldNode, field: Field, ids: Generator<number>): FieldNode {
  if (node.field.type.typeId !== field.type.typeId) return treeOf([field], ids)[0]!
  const fields = childFields(field.type)
  return { ...node, children: node.children.map((child, i) => retyped(child, fields[i]!, ids)) }
}

/** Whether items of lists get new ids, while the lists keep theirs. */
export function typesItems(before: readonly FieldNode[], after: readonly FieldNode[]): boolean {
  return before.some((node, i) => {
    const now = after[i]!
    if (now.id !== node.id) return false
    const isOther = node.children.some(({ id }, k) => id !== now.children[k]?.id)
    return (isOther && node.field.type.typeId !== Type.Struct) || typesItems(node.children, now.children)
  })
}

/** The change, on versions whose columns have these types where their own are null. */
export function typing(change: Change, schema: Schema): Change {
  return { apply: (base, options) => change.apply(withTypesOf(base as LoadedSnapshot, schema), options) }
}
