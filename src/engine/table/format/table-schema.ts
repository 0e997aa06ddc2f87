import { createHash } from 'node:crypto'
import { type DataType, type Schema, Type } from '@uwdata/flechette'
import { numberDictionaries } from '../../arrow/ipc/prepare.ts'
import { childFields, layoutOf } from '../../arrow/layout.ts'
import { decodeSchema, schemaDifference } from '../../arrow/schema.ts'
import { countFields, type FieldNode, treeOf } from '../columns/field-tree.ts'
import { type ColumnSource, matchColumns } from './column-source.ts'
import type { ColumnFile, FragmentLayout, StoredColumns, StoredLayout } from './manifest.ts'

/** The schema of a table. `columns` is absent if no column was added or dropped: then all files have these columns. */
export interface TableSchema extends Schema {
  readonly columns?: TableColumns | undefined
}

/** What reading or writing a fragment takes to know of its table. A snapshot is one. */
export interface TableFiles {
  /** The table's location within the content: empty, or ending in a slash. */
  readonly prefix: string
  readonly schema: TableSchema
}

/** Decodes a manifest's schema for reading fragments. */
export function decodeTableSchema(text: string, stored?: StoredColumns): TableSchema {
  const schema = decodeFileSchema(text)
  return stored === undefined ? schema : { ...schema, columns: new TableColumns(schema, stored) }
}

function decodeFileSchema(text: string): Schema {
  return numberDictionaries(decodeSchema(Buffer.from(text, 'base64')))
}

/** Locates the columns of a table in fragments that were written before columns were added or dropped. */
class TableColumns {
  readonly stored: StoredColumns
  readonly #tree: readonly FieldNode[]
  /** The schemas of files, by layout. */
  readonly #files = new Map<string, FileColumns>()
  /** The locations of columns in fragments, by the layouts of their files. */
  readonly #locations = new Map<string, readonly (ColumnLocation | undefined)[]>()

  constructor(schema: Schema, stored: StoredColumns) {
    this.stored = stored
    this.#tree = treeOf(schema.fields, stored.ids)
    this.#files.set(stored.layout, { schema, tree: this.#tree })
  }

  /** Whether a fragment's first file has exactly the columns of the table. */
  fits({ layout = '' }: Pick<ColumnFile, 'layout'>): boolean {
    return layout === this.stored.layout
  }

  /** The location of each column of the table in a fragment; undefined for a column that is null there. */
  locationsIn(entry: FragmentLayout): readonly (ColumnLocation | undefined)[] {
    const layouts = [entry.layout ?? '', ...(entry.files ?? []).map(({ layout = '' }) => layout)]
    const key = layouts.join()
    let locations = this.#locations.get(key)
    if (locations === undefined) {
      locations = this.#tree.map((column) => this.#find(column, layouts))
      this.#locations.set(key, locations)
    }
    return locations
  }

  /** The schema of files with this layout. */
  schemaOf(layout: string): Schema {
    return this.#fileOf(layout).schema
  }

  /** The ids of fields in files with this layout. */
  idsOfLayout(layout: string): readonly number[] {
    return layout === this.stored.layout ? this.stored.ids : this.stored.layouts[layout]!.ids
  }

  #find(column: FieldNode, layouts: readonly string[]): ColumnLocation | undefined {
    for (const [file, layout] of layouts.entries()) {
      const source = matchColumns(column, this.#fileOf(layout).tree)
      if (source) return { file, source }
    }
    return undefined
  }

  #fileOf(layout: string) {
    let file = this.#files.get(layout)
    if (file === undefined) {
      const stored = this.stored.layouts[layout]
      if (stored === undefined) throw new TypeError(`no layout ${JSON.stringify(layout)} in the manifest`)
      const schema = decodeFileSchema(stored.schema)
      file = { schema, tree: treeOf(schema.fields, stored.ids) }
      this.#files.set(layout, file)
    }
    return file
  }
}

interface FileColumns {
  readonly schema: Schema
  readonly tree: readonly FieldNode[]
}

/** The location of a column in a fragment: the number of its file, the first being 0, and its position there. */
export interface ColumnLocation {
  readonly file: number
  readonly source: ColumnSource
}

/** A file of a fragment by its number, the first being 0. */
export function fileAt(entry: FragmentLayout, file: number): Omit<ColumnFile, 'statistics'> {
  return file === 0 ? entry : entry.files![file - 1]!
}

/** The bytes of a column of a fragment: for a missing column, those of its nulls; for a computed row column, 0. */
export function bytesOfColumn(
  { fields, columns }: TableSchema,
  entry: FragmentLayout,
  index: number,
): number {
  if (index >= fields.length) return 0
  if (columns === undefined || columns.fits(entry)) return entry.columns[index]![1]
  const location = columns.locationsIn(entry)[index]
  if (location === undefined) return Math.ceil(bytesOfNull(fields[index]!.type) * entry.rows)
  return fileAt(entry, location.file).columns[location.source.index]![1]
}

function bytesOfNull(type: DataType): number {
  const layout = layoutOf(type)
  if (layout.kind === 'fixed' || layout.kind === 'dictionary') return layout.bytes
  if (type.typeId !== Type.Struct && layout.kind !== 'fixedList') return 0
  const each = childFields(type).reduce((sum, field) => sum + bytesOfNull(field.type), 0)
  return layout.kind === 'fixedList' ? layout.stride * each : each
}

/** The ids of a table's fields. Fields of a table whose columns never changed are numbered in order. */
export function idsOfSchema({ fields, columns }: TableSchema): readonly number[] {
  return columns?.stored.ids ?? Array.from({ length: countFields(fields) }, (_, id) => id)
}

/** Whether two versions have the same columns, so that work for those of one is valid for the other. */
export function haveSameColumns(one: TableSchema, other: TableSchema): boolean {
  if (schemaDifference(one, other)) return false
  return one.fields === other.fields || isSame(idsOfSchema(one), idsOfSchema(other))
}

/** Whether a fragment lacks all of the given fields. */
export function lacks({ columns }: TableSchema, entry: FragmentLayout, ids: readonly number[]): boolean {
  if (columns === undefined) return false
  return [entry, ...(entry.files ?? [])].every(({ layout = '' }) => {
    const held = columns.idsOfLayout(layout)
    return !ids.some((id) => held.includes(id))
  })
}

/** The key of a layout. Files whose fields have the same ids share one. */
function keyOfLayout(ids: readonly number[]): string {
  return createHash('sha256').update(ids.join()).digest('hex').slice(0, 16)
}

/** The columns in the form of manifests, also for a table that has none of its own yet. */
export function storedColumnsOf(schema: TableSchema): StoredColumns {
  const ids = idsOfSchema(schema)
  return schema.columns?.stored ?? { ids, nextId: ids.length, layout: '', layouts: {} }
}

/** The key of a layout in a manifest's columns. A new layout is added to them. */
export function withLayout(
  stored: StoredColumns,
  layout: StoredLayout,
): { readonly key: string; readonly stored: StoredColumns } {
  if (isSame(stored.ids, layout.ids)) return { key: stored.layout, stored }
  for (const [key, known] of Object.entries(stored.layouts)) {
    if (isSame(known.ids, layout.ids)) return { key, stored }
  }
  const key = keyOfLayout(layout.ids)
  return { key, stored: { ...stored, layouts: { ...stored.layouts, [key]: layout } } }
}

/** The columns of a manifest after its fields changed. `schema` is its schema before. */
export function withSchema(
  stored: StoredColumns,
  schema: string,
  ids: readonly number[],
  nextId: number,
): StoredColumns {
  const { [stored.layout]: _, ...others } = stored.layouts
  const layouts = { ...others, [stored.layout]: { schema, ids: stored.ids } }
  const known = Object.entries(layouts).find(([, layout]) => isSame(layout.ids, ids))
  const { typedItems } = stored
  const also = typedItems && { typedItems }
  if (known === undefined) return { ids, nextId, layout: keyOfLayout(ids), layouts, ...also }
  const { [known[0]]: _own, ...rest } = layouts
  return { ids, nextId, layout: known[0], layouts: rest, ...also }
}

/** The entry of a file, with this layout. */
export function withLayoutKey<T extends ColumnFile>(file: T, key: string): T {
  if ((file.layout ?? '') === key) return file
  const { layout: _, ...rest } = file
  return (key === '' ? rest : { ...rest, layout: key }) as T
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((id, i) => id === b[i])
}
