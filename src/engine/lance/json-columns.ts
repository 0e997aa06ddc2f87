import { type Field, type Schema, utf8 } from '@uwdata/flechette'
import { decodeSchema } from '../arrow/ipc/decode.ts'

/*
 * Lance keeps a column of JSON in an encoding of its own, as bytes that are marked `lance.json`. It answers with texts that
 * are marked `arrow.json`, encodes such texts when they are written, and takes other bytes as they are.
 */

const mark = 'ARROW:extension:name'

/** The columns of a table, by its schema as Lance answers it, as rows are handed to Lance: JSON as texts. */
export function columnsToWrite(bytes: Uint8Array): Schema {
  const schema = decodeSchema(bytes)
  return { ...schema, fields: schema.fields.map(toWrite) }
}

function toWrite(field: Field): Field {
  if (field.metadata?.get(mark) === 'lance.json')
    return { ...field, type: utf8(), metadata: new Map(field.metadata).set(mark, 'arrow.json') }
  const { type } = field
  if (!('children' in type) || !Array.isArray(type.children)) return field
  const children = (type.children as Field[]).map(toWrite)
  const isSame = children.every((child, i) => child === type.children[i])
  return isSame ? field : { ...field, type: { ...type, children } as Field['type'] }
}
