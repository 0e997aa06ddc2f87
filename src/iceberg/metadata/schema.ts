import { illegalArgument, validation } from '../errors.ts'
import { checkDefault } from './default-value.ts'
import { firstVersions, parsePrimitive, storedName } from './primitive-type.ts'
import {
  checkJson,
  intItem,
  isObject,
  maxDepth,
  member,
  readBoolean,
  readInt,
  readList,
  readObject,
  readOptionalInt,
  readOptionalList,
  readOptionalString,
  readString,
  sameItems,
  show,
  withMembers,
} from './read.ts'
import { indexOf, typeText } from './schema-index.ts'
import type { Field, JsonObject, Schema, Type } from './types.ts'

/** The fields that a schema may have, nested ones among them. */
export const maxFields = 10_000

/**
 * A schema from parsed JSON. `schema-id` is 0 where it is missing. Fails with an `IcebergError` of status 400 for types
 * that are unknown, ids or names that occur twice, identifier fields that cannot be such, and schemas that are too large.
 */
export function readSchema(value: unknown, where: string): Schema {
  checkJson(value, where)
  return parseSchema(value, where)
}

interface Budget {
  fields: number
}

/** The same, of a value that is known to be JSON of a bounded depth. */
export function parseSchema(value: unknown, where: string): Schema {
  const object = readObject(value, where)
  const type = readType(object, where, 1, { fields: 0 })
  if (typeof type === 'string' || type.type !== 'struct')
    throw illegalArgument(`Cannot create schema, not a struct type: ${where}`)
  const identifiers = readOptionalList(object, 'identifier-field-ids', where, intItem)
  const schema = withMembers<Schema>(type, { 'schema-id': readOptionalInt(object, 'schema-id', where) ?? 0 })
  // Makes the index, which finds ids and names that occur twice.
  indexOf(schema)
  for (const id of identifiers) checkIdentifier(schema, id)
  return schema
}

function readType(value: unknown, where: string, depth: number, budget: Budget): Type {
  if (typeof value === 'string') return storedName(value)
  if (!isObject(value)) throw illegalArgument(`Cannot parse type from json: ${where}: ${show(value)}`)
  if (depth > maxDepth) throw illegalArgument(`Cannot parse types nested deeper than ${maxDepth}: ${where}`)
  const inner = (name: string, required: string) => {
    countField(budget, where)
    const type = readType(member(value, name), `${where}.${name}`, depth + 1, budget)
    checkUnknown(type, readBoolean(value, required, where), `${where}.${name}`)
    return type
  }
  switch (member(value, 'type')) {
    case 'struct': {
      const fields = readList(value, 'fields', where, (field, at) => readField(field, at, depth, budget))
      return withMembers(value, { fields: sameItems(value['fields'], fields) })
    }
    case 'list':
      readInt(value, 'element-id', where)
      return withMembers(value, { element: inner('element', 'element-required') })
    case 'map': {
      readInt(value, 'key-id', where)
      readInt(value, 'value-id', where)
      countField(budget, where)
      const key = readType(member(value, 'key'), `${where}.key`, depth + 1, budget)
      checkUnknown(key, true, `${where}.key`)
      return withMembers(value, { key, value: inner('value', 'value-required') })
    }
  }
  throw illegalArgument(`Cannot parse type from json: ${where}: ${show(member(value, 'type'))}`)
}

function readField(value: unknown, where: string, depth: number, budget: Budget): Field {
  const object = readObject(value, where)
  countField(budget, where)
  const id = readInt(object, 'id', where)
  const name = readString(object, 'name', where)
  readOptionalString(object, 'doc', where)
  const required = readBoolean(object, 'required', where)
  const type = readType(member(object, 'type'), `${where}.type`, depth + 1, budget)
  checkUnknown(type, required, name)
  checkDefault(type, member(object, 'initial-default'), `${where}.initial-default`)
  checkDefault(type, member(object, 'write-default'), `${where}.write-default`)
  return withMembers<Field>(object, { id, type })
}

function countField(budget: Budget, where: string): void {
  budget.fields++
  if (budget.fields > maxFields)
    throw illegalArgument(`Cannot parse a schema of more than ${maxFields} fields: ${where}`)
}

function checkUnknown(type: Type, required: boolean, name: string): void {
  if (type === 'unknown' && required)
    throw illegalArgument(`Cannot create required field with unknown type: ${show(name)}`)
}

/** Identifier fields are required and primitive, as all structs around them are required. */
function checkIdentifier(schema: Schema, id: number): void {
  const { fields, parents } = indexOf(schema)
  const field = fields.get(id)
  if (field === undefined)
    throw illegalArgument(`Cannot add fieldId ${id} as an identifier field: field does not exist`)
  const refuse = (why: string) =>
    illegalArgument(`Cannot add field ${field.name} as an identifier field: ${why}`)
  if (typeof field.type !== 'string' || field.type === 'variant') throw refuse('not a primitive type field')
  if (!field.required) throw refuse('not a required field')
  if (field.type === 'float' || field.type === 'double') throw refuse('must not be float or double field')
  for (let at = parents.get(id); at !== undefined; at = parents.get(at)) {
    const parent = fields.get(at)!
    if (typeof parent.type === 'string' || parent.type.type !== 'struct')
      throw refuse(`must not be nested in ${parent.name}`)
    if (!parent.required) throw refuse(`must not be nested in an optional field ${parent.name}`)
  }
}

/** Refuses a schema whose types or defaults came with a later version of the format. */
export function checkVersionOfSchema(schema: Schema, version: number): void {
  const problems: string[] = []
  for (const field of indexOf(schema).fields.values()) {
    const name = indexOf(schema).names.get(field.id)
    const first = typeof field.type === 'string' ? firstVersions.get(parsePrimitive(field.type).kind) : 0
    if (first !== undefined && version < first)
      problems.push(`Invalid type for ${name}: ${typeText(field.type)} is not supported until v${first}`)
    const initial = member(field as JsonObject, 'initial-default')
    if (initial !== undefined && version < 3)
      problems.push(
        `Invalid initial default for ${name}: non-null default (${show(initial)}) is not supported until v3`,
      )
  }
  if (problems.length > 0)
    throw validation(`Invalid schema for v${version}:\n- ${problems.slice(0, 100).join('\n- ')}`)
}
