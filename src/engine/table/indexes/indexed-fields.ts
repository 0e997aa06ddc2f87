import type { Field } from '@uwdata/flechette'
import type { IndexType } from '../../../base/model/index-types.ts'
import { childFields } from '../../arrow/layout.ts'
import { type FragmentEntry, type IndexEntry, indexesOf, type StoredIndex } from '../format/manifest.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import { idsOfSchema, type TableSchema } from '../format/table-schema.ts'

/** A field of a table. */
export interface FoundField {
  readonly id: number
  /** The index of the column, and of the child in each field on the way. */
  readonly path: readonly number[]
  readonly names: readonly string[]
  readonly field: Field
}

/** All fields of a schema with their ids, each followed by those within it. */
export function fieldsInOrder(schema: TableSchema): FoundField[] {
  const ids = idsOfSchema(schema)
  const found: FoundField[] = []
  const visit = (field: Field, path: readonly number[], names: readonly string[]) => {
    found.push({ id: ids[found.length]!, path, names, field })
    for (const [i, child] of childFields(field.type).entries())
      visit(child, [...path, i], [...names, child.name])
  }
  for (const [i, field] of schema.fields.entries()) visit(field, [i], [field.name])
  return found
}

/** Types of indexes that find rows by equal values. The others are records only. */
const hashed: ReadonlySet<IndexType> = new Set<IndexType>(['BTREE', 'BITMAP'])

/** Whether an index has files, which find rows by equal values. */
export function hasFiles({ type }: Pick<StoredIndex, 'type'>): boolean {
  return hashed.has(type)
}

/**
 * Rows of a fragment from which on it gets an index. Reading the column of a smaller one takes no longer than looking a
 * value up, so such a fragment counts as indexed.
 */
export const minIndexedRows = 4_096

const known = new WeakMap<LoadedSnapshot, readonly FoundField[]>()

/** The fields of a version that have an index with files. */
export function indexedFields(snapshot: LoadedSnapshot): readonly FoundField[] {
  const { indices = [] } = snapshot.body
  if (indices.length === 0) return []
  let fields = known.get(snapshot)
  if (fields === undefined) {
    const ids = new Set(indices.filter(hasFiles).map(({ field }) => field))
    fields = ids.size === 0 ? [] : fieldsInOrder(snapshot.schema).filter(({ id }) => ids.has(id))
    known.set(snapshot, fields)
  }
  return fields
}

/** The index of a field in a fragment. */
export function indexIn(entry: FragmentEntry, field: number): IndexEntry | undefined {
  return indexesOf(entry).find((index) => index.field === field)
}

/** The fields of which a fragment should have an index and has none. */
export function lackingIn(entry: FragmentEntry, fields: readonly FoundField[]): readonly FoundField[] {
  if (fields.length === 0 || entry.rows < minIndexedRows) return []
  return fields.filter(({ id }) => indexIn(entry, id) === undefined)
}

/** A fragment with the files of these indexes of a table only. */
export function withIndexesOf(indices: readonly StoredIndex[], entry: FragmentEntry): FragmentEntry {
  if (entry.indexes === undefined) return entry
  const { indexes, ...rest } = entry
  const kept = indexes.filter(({ field }) =>
    indices.some((index) => index.field === field && hasFiles(index)),
  )
  if (kept.length === indexes.length) return entry
  return kept.length === 0 ? rest : { ...rest, indexes: kept }
}
