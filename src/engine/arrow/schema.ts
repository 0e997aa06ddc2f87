import { type Field, type Schema, Table, Type, tableToIPC } from '@uwdata/flechette'
import { CatalogError, invalid } from '../../base/errors.ts'
import { makeColumn } from './batch.ts'
import { readEncapsulatedMessage } from './ipc/message.ts'
import { prepareType } from './ipc/prepare.ts'
import { childFields } from './layout.ts'
import { typeName } from './type-name.ts'

export {
  fromJsonSchema,
  type JsonArrowField,
  type JsonArrowSchema,
  type JsonArrowType,
  toJsonSchema,
} from './json-schema.ts'

/**
 * Refuses names of columns, and of fields in them, with half of a surrogate pair. UTF-8 has none, so two such names could
 * become one.
 */
export function requireWellFormed(fields: readonly Field[]): void {
  for (const { name, type } of fields) {
    if (!name.isWellFormed())
      throw invalid('The name of a column holds half of a surrogate pair. Give well-formed Unicode.')
    requireWellFormed(childFields(type.typeId === Type.Dictionary ? type.dictionary : type))
  }
}

/** Refuses a schema without columns, or with two columns of one name, or with a name that is no Unicode. */
export function checkColumns(schema: Schema): void {
  requireWellFormed(schema.fields)
  if (schema.fields.length === 0) {
    throw new CatalogError(
      'TableSchemaValidationError',
      'The schema has no columns. Give the table at least one.',
    )
  }
  const seen = new Set<string>()
  for (const { name } of schema.fields) {
    if (seen.has(name)) {
      throw new CatalogError(
        'TableSchemaValidationError',
        `The schema has two columns named ${JSON.stringify(name)}. Give each column a name of its own.`,
      )
    }
    seen.add(name)
  }
}

/**
 * How the second field differs from the first, as words that follow the column's name ("is int32 and not string").
 * Undefined if they are equal. Ignores metadata, and ids and order flags of dictionaries. With `ignoreNullable`,
 * nullability and the names of list items are ignored, too.
 */
export function fieldDifference(expected: Field, given: Field, ignoreNullable = false): string | undefined {
  if (expected.type !== given.type) {
    const wanted = typeName(expected.type, ignoreNullable)
    const got = typeName(given.type, ignoreNullable)
    if (wanted !== got) return `is ${got} and not ${wanted}`
  }
  if (!ignoreNullable && expected.nullable !== given.nullable) {
    return given.nullable ? 'may be null and must not be' : 'must not be null and may be'
  }
  return undefined
}

/** The first difference between two schemas, as a sentence without its period; undefined for equal schemas. */
export function schemaDifference(expected: Schema, given: Schema): string | undefined {
  if (expected.fields === given.fields) return undefined
  const others = new Map(given.fields.map((field) => [field.name, field]))
  for (const field of expected.fields) {
    const other = others.get(field.name)
    if (other === undefined) return `column ${JSON.stringify(field.name)} is missing`
    const difference = fieldDifference(field, other)
    if (difference) return `column ${JSON.stringify(field.name)} ${difference}`
  }
  const names = new Set(expected.fields.map(({ name }) => name))
  const extra = given.fields.find(({ name }) => !names.has(name))
  if (extra) return `column ${JSON.stringify(extra.name)} is not in the table`
  const moved = expected.fields.findIndex((field, i) => field.name !== given.fields[i]?.name)
  return moved < 0 ? undefined : `column ${JSON.stringify(expected.fields[moved]!.name)} is in another place`
}

/** The schema as an Arrow IPC stream without rows. No part of the schema is lost. */
export function encodeSchema(schema: Schema): Uint8Array {
  const fields = schema.fields.map((field) => ({ ...field, type: prepareType(field.type) }))
  const columns = fields.map((field) => makeColumn(field.type, []))
  return tableToIPC(new Table({ ...schema, fields }, columns), { format: 'stream' })!
}

/** The schema that `encodeSchema` wrote. */
export function decodeSchema(bytes: Uint8Array): Schema {
  const placed = readEncapsulatedMessage(bytes, 0)
  if (placed?.message.kind !== 'schema') throw new TypeError('no Arrow schema')
  return placed.message.schema
}

/** Columns that Lance computes for each row. */
const rowColumns = new Set([
  '_rowid',
  '_rowaddr',
  '_rowoffset',
  '_row_created_at_version',
  '_row_last_updated_at_version',
])

/** Whether a name, in any case, is a computed column of Lance that this catalog does not have. */
export function isRowColumn(name: string): boolean {
  return rowColumns.has(name.toLowerCase())
}
