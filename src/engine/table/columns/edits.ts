import { type Field, type Schema, Type } from '@uwdata/flechette'
import { type CatalogError, invalid } from '../../../base/errors.ts'
import { quote } from '../../../base/model/identifier.ts'
import { indexOfName } from '../../arrow/field-names.ts'
import { childFields } from '../../arrow/layout.ts'
import { isRowColumn, requireWellFormed } from '../../arrow/schema.ts'
import { idsOfSchema, storedColumnsOf, type TableSchema } from '../format/table-schema.ts'
import { noColumn, splitPath } from '../read/projection.ts'
import type { FieldMetadataUpdate } from '../table-engine.ts'
import type { ColumnEdit } from './column-change.ts'
import { type FieldNode, noMetadata, treeOf } from './field-tree.ts'

/** The fields of a table as a tree, and the next free id. */
export function treeOfSchema(schema: TableSchema): { tree: FieldNode[]; nextId: number } {
  return { tree: treeOf(schema.fields, idsOfSchema(schema)), nextId: storedColumnsOf(schema).nextId }
}

/** Assigns consecutive ids. */
export function* idsFrom(first: number): Generator<number, never> {
  for (let id = first; ; id++) yield id
}

/** Refuses names that a column cannot have, and duplicates. */
export function checkNames(tree: readonly FieldNode[], before: readonly FieldNode[]): void {
  const known = new Set(before.map(({ field }) => field.name))
  const seen = new Set<string>()
  for (const { field } of tree) {
    const { name } = field
    if (!known.has(name)) checkNewName(field)
    if (seen.has(name)) throw taken(name)
    seen.add(name)
  }
}

function checkNewName(field: Field): void {
  const { name } = field
  if (name === '') throw invalid('The name of a column is empty. Give it at least one character.')
  requireWellFormed([field])
  if (name.includes('.')) {
    throw invalid(
      `A column cannot be named ${quote(name)}: a dot leads to a field within a struct. Name it without dots.`,
    )
  }
  if (isRowColumn(name)) {
    throw invalid(`${quote(name)} names what queries tell about each row. Give the column another name.`)
  }
}

export function taken(name: string): CatalogError {
  return invalid(`There is a column ${quote(name)} already. Choose another name, or drop that column first.`)
}

/** Removes columns, and fields within structs. A struct is removed with the last of its fields. */
export function dropColumns(schema: TableSchema, paths: readonly string[]): ColumnEdit {
  const { tree, nextId } = treeOfSchema(schema)
  const dropped = new Set<number>()
  for (const text of paths) {
    const found = findField(schema, tree, text)
    const [holder, around] = [found.way.at(-2), found.way.at(-3)]
    if (holder && (holder.field.type.typeId !== Type.Struct || around?.field.type.typeId === Type.Map)) {
      throw invalid(
        `${quote(text)} is a part of the type of ${quote(holder.field.name)}, and no field of a struct. Drop the whole column.`,
      )
    }
    dropped.add(found.node.id)
  }
  const edited = without(tree, dropped)
  if (edited.length === 0)
    throw invalid('A table needs at least one column. Keep one of them, or drop the table.')
  return { tree: edited, nextId }
}

function without(nodes: readonly FieldNode[], dropped: ReadonlySet<number>): FieldNode[] {
  return nodes.flatMap((node) => {
    if (dropped.has(node.id)) return []
    if (node.children.length === 0) return [node]
    const children = without(node.children, dropped)
    return children.length === 0 ? [] : [{ ...node, children }]
  })
}

/** Changes the metadata of fields. */
export function updateMetadata(schema: TableSchema, updates: readonly FieldMetadataUpdate[]): ColumnEdit {
  const { tree, nextId } = treeOfSchema(schema)
  const found = new Map<number, Map<string, string>>()
  for (const { path, metadata, replace } of updates) {
    const { node } = findField(schema, tree, path)
    const known = found.get(node.id) ?? new Map(node.field.metadata ?? [])
    const next = replace ? new Map<string, string>() : known
    for (const [key, value] of Object.entries(metadata)) {
      if (value === null) next.delete(key)
      else next.set(key, value)
    }
    found.set(node.id, next)
  }
  const edit = (node: FieldNode): FieldNode => {
    const metadata = found.get(node.id)
    const field = metadata
      ? { ...node.field, metadata: metadata.size > 0 ? metadata : noMetadata }
      : node.field
    return { ...node, field, children: node.children.map(edit) }
  }
  return { tree: tree.map(edit), nextId }
}

/** The metadata of fields, by their paths in normal form. */
export function metadataOf(schema: Schema, paths: readonly string[]): Record<string, Record<string, string>> {
  const { tree } = treeOfSchema(schema)
  return Object.fromEntries(
    paths.map((text) => {
      const { node, path } = findField(schema, tree, text)
      return [path, Object.fromEntries(node.field.metadata ?? [])]
    }),
  )
}

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
  const names = indexOfName(schema.fields, text) >= 0 ? [text] : splitPath(text)
  const way: FieldNode[] = []
  const indices: number[] = []
  let fields: readonly Field[] = schema.fields
  let nodes = tree
  for (const name of names) {
    const index = indexOfName(fields, name)
    const node = nodes[index]
    if (node === undefined) throw noColumn(schema, text)
    way.push(node)
    indices.push(index)
    fields = childFields(node.field.type)
    nodes = node.children
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
