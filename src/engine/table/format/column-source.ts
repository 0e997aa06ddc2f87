import { type DataType, Type } from '@uwdata/flechette'
import { type AnyBatch, makeBatch, partsOf } from '../../arrow/batch.ts'
import { childFields } from '../../arrow/layout.ts'
import { nullBatch } from '../../arrow/null-batch.ts'
import { type FieldNode, idsOf } from '../columns/field-tree.ts'

/** The position of a field within a file or within another field there. */
export interface ColumnSource {
  readonly index: number
  /**
   * The positions of its child fields; undefined for a child that is null there. Absent: the children are unchanged.
   */
  readonly children?: readonly (ColumnSource | undefined)[]
}

/** Finds a field by its id among those of a file; undefined if the file does not have it. */
export function matchColumns(wanted: FieldNode, given: readonly FieldNode[]): ColumnSource | undefined {
  const index = given.findIndex(({ id }) => id === wanted.id)
  const found = given[index]
  if (found === undefined) return undefined
  if (idsOf(wanted.children).join() === idsOf(found.children).join()) return { index }
  return { index, children: wanted.children.map((child) => matchColumns(child, found.children)) }
}

/** Converts a file's batch of a field to the field's current `type`. */
export function fromSource(batch: AnyBatch, type: DataType, { children }: ColumnSource): AnyBatch {
  if (children === undefined) return batch
  const fields = childFields(type)
  // A list has as many items as the file's, which may have been of the type null.
  const length = type.typeId === Type.Struct ? batch.length : batch.children[0]!.length
  const parts = children.map((source, i) => {
    const child = fields[i]!
    return source
      ? fromSource(batch.children[source.index]!, child.type, source)
      : nullBatch(child.type, length, Number.POSITIVE_INFINITY)
  })
  return makeBatch(type, { ...partsOf(batch), children: parts })
}

/** The path within a file of a field at a path of the table; undefined if the file does not have it. */
export function sourcePath(source: ColumnSource, path: readonly number[]): readonly number[] | undefined {
  const found = [source.index]
  let at: ColumnSource | undefined = source
  for (const index of path.slice(1)) {
    at = at === undefined ? undefined : at.children === undefined ? { index } : at.children[index]
    if (at === undefined) return undefined
    found.push(at.index)
  }
  return found
}
