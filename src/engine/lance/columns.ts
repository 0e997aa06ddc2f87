import { type Field, type Schema, utf8 } from '@uwdata/flechette'
import { unsupported } from '../../base/errors.ts'
import { decodeSchema } from '../arrow/ipc/decode.ts'

/*
 * Columns as rows are handed to Lance.
 *
 * Lance keeps a column of JSON in an encoding of its own, as bytes that are marked `lance.json`. It answers with texts that
 * are marked `arrow.json`, encodes such texts when they are written, and takes other bytes as they are.
 *
 * It no longer takes bytes that are marked as blobs in the old way: new tables have them as bytes, as our own tables do.
 */

const extension = 'ARROW:extension:name'
const oldBlob = 'lance-encoding:blob'

/** What was made of schemas that handles keep for the next change. */
const known = new WeakMap<Uint8Array, Schema>()

/** The columns of a table, by its schema as Lance answers it, as rows are handed to Lance: JSON as texts. */
export function columnsToWrite(bytes: Uint8Array): Schema {
  const found = known.get(bytes) ?? readColumns(bytes)
  known.set(bytes, found)
  return found
}

function readColumns(bytes: Uint8Array): Schema {
  return mapped(decodeSchema(bytes), (field) =>
    field.metadata?.get(extension) === 'lance.json'
      ? { ...field, type: utf8(), metadata: new Map(field.metadata).set(extension, 'arrow.json') }
      : field,
  )
}

/**
 * Names with which Lance writes a column, and then finds no row of the table by it, or all columns at once. Those of its
 * own columns it refuses where a table is made, and not where a column is renamed.
 */
const unreadable = /^(?:|\*|.*`.*|_row(?:id|addr|offset|_created_at_version|_last_updated_at_version))$/s

/** Refuses a name for a new column with which Lance could not read the table. */
export function checkNewName(name: string): void {
  if (!unreadable.test(name)) return
  throw unsupported(
    `Lance cannot read a table with a column named ${JSON.stringify(name)}.`,
    'Choose a name that is not empty, is not *, has no backtick and is none of Lance, such as _rowid; or make a table of our own, with the property format arrow.',
  )
}

/** Columns of a new table, or new columns of one: bytes that are marked as old blobs without the mark. */
export function newColumns(schema: Schema): Schema {
  for (const { name } of schema.fields) checkNewName(name)
  return mapped(schema, (field) => {
    if (!field.metadata?.has(oldBlob)) return field
    const metadata = new Map(field.metadata)
    metadata.delete(oldBlob)
    return { ...field, metadata }
  })
}

function mapped(schema: Schema, map: (field: Field) => Field): Schema {
  const fields = schema.fields.map((field) => mappedField(field, map))
  return { ...schema, fields }
}

function mappedField(field: Field, map: (field: Field) => Field): Field {
  const own = map(field)
  const { type } = own
  if (!('children' in type) || !Array.isArray(type.children)) return own
  const children = (type.children as Field[]).map((child) => mappedField(child, map))
  const isSame = children.every((child, i) => child === type.children[i])
  return isSame ? own : { ...own, type: { ...type, children } as Field['type'] }
}
