import type { DataType } from '@uwdata/flechette'
import { type AnyBatch, makeBatch, partsOf } from '../../arrow/batch.ts'
import { childFields } from '../../arrow/layout.ts'
import { nullBatch } from '../../arrow/null-batch.ts'
import { type FieldNode, idsOf } from '../columns/field-tree.ts'

/** Where a field lies within a file or within another field there. */
export interface ColumnSource {
  readonly index: number
  /** For each field within it where that one lies; undefined for one that is null there. Absent: all as they are. */
  readonly children?: readonly (ColumnSource | undefined)[]
}

/** Finds a field among those of a file, by its id; undefined when it is not there. */
export function matchColumns(wanted: FieldNode, given: readonly FieldNode[]): ColumnSource | undefined {
  const index = given.findIndex(({ id }) => id === wanted.id)
  const found = given[index]
  if (found === undefined) return undefined
  if (idsOf(wanted.children).join() === idsOf(found.children).join()) return { index }
  return { index, children: wanted.children.map((child) => matchColumns(child, found.children)) }
}

/** The values of a field of type `type` from the batch that a file has for it. */
export function fromSource(batch: AnyBatch, type: DataType, { children }: ColumnSource): AnyBatch {
  if (children === undefined) return batch
  const fields = childFields(type)
  const parts = children.map((source, i) => {
    const child = fields[i]!
    return source
      ? fromSource(batch.children[source.index]!, child.type, source)
      : nullBatch(child.type, batch.length, Number.POSITIVE_INFINITY)
  })
  return makeBatch(type, { ...partsOf(batch), children: parts })
}

/** The path within a file of a field at a path of the table; undefined when the file does not have it. */
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
