import { illegalArgument, validation } from '../errors.ts'
import type { Comparison } from './numbered.ts'
import { parsePrimitive } from './primitive-type.ts'
import type { Field, JsonObject, Schema, StructType, Type } from './types.ts'

/** The fields of a schema, by id and by name. Elements, keys and values of nested types are fields, too. */
export interface SchemaIndex {
  readonly fields: ReadonlyMap<number, Field>
  /** The full name of each field, with those of its parents: `point.x`, `points.element.x`. */
  readonly names: ReadonlyMap<number, string>
  /** The ids by full name, and by names without `element` and `value` where these are free: `points.x`. */
  readonly ids: ReadonlyMap<string, number>
  /** The field around each nested field. */
  readonly parents: ReadonlyMap<number, number>
  readonly highestId: number
}

/** The characters of all full names: long names in deep structs would fill the memory. */
const maxNameCharacters = 10_000_000

const indexes = new WeakMap<Schema, SchemaIndex>()

/** The index of a schema. Made once for each object, as a table keeps its schemas from commit to commit. */
export function indexOf(schema: Schema): SchemaIndex {
  const known = indexes.get(schema)
  if (known !== undefined) return known
  const made = makeIndex(schema)
  indexes.set(schema, made)
  return made
}

/** The id and the type of a field that is found by its id, and undefined where there is none. */
export function findField(schema: Schema, id: number): Field | undefined {
  return indexOf(schema).fields.get(id)
}

/** The id of the field with a full or short name. */
export function findId(schema: Schema, name: string): number | undefined {
  return indexOf(schema).ids.get(name)
}

function makeIndex(schema: StructType): SchemaIndex {
  const fields = new Map<number, Field>()
  const names = new Map<number, string>()
  const ids = new Map<string, number>()
  const shortIds = new Map<string, number>()
  const parents = new Map<number, number>()
  let highestId = 0
  let characters = 0

  const add = (field: Field, path: string, short: string, parent: number | undefined) => {
    const name = path === '' ? field.name : `${path}.${field.name}`
    const before = fields.get(field.id)
    if (before !== undefined)
      throw validation(
        `Invalid schema: multiple fields for id ${field.id}: ${names.get(field.id)} and ${name}`,
      )
    if (ids.has(name))
      throw validation(`Invalid schema: multiple fields for name ${name}: ${ids.get(name)} and ${field.id}`)
    characters += name.length
    if (characters > maxNameCharacters)
      throw illegalArgument(
        `Cannot parse a schema whose names have more than ${maxNameCharacters} characters`,
      )
    fields.set(field.id, field)
    names.set(field.id, name)
    ids.set(name, field.id)
    if (short !== '') {
      const shortName = `${short}.${field.name}`
      if (!shortIds.has(shortName)) shortIds.set(shortName, field.id)
    }
    if (parent !== undefined) parents.set(field.id, parent)
    highestId = Math.max(highestId, field.id)
    return name
  }
  const visit = (type: Type, path: string, short: string, parent: number | undefined) => {
    if (typeof type === 'string') return
    for (const field of fieldsOf(type)) {
      const name = add(field, path, short, parent)
      // Structs in lists and maps are found without the word between: points.x.
      const hidden = type.type !== 'struct' && field.name !== 'key' && isStruct(field.type) && short !== ''
      visit(field.type, name, hidden ? short : short === '' ? field.name : `${short}.${field.name}`, field.id)
    }
  }
  visit(schema, '', '', undefined)
  for (const [name, id] of shortIds) if (!ids.has(name)) ids.set(name, id)
  return { fields, names, ids, parents, highestId }
}

function isStruct(type: Type): boolean {
  return typeof type !== 'string' && type.type === 'struct'
}

/** The fields of a nested type: of a struct its own, and else the element, or the key and the value. */
export function fieldsOf(type: Exclude<Type, string>): readonly Field[] {
  switch (type.type) {
    case 'struct':
      return type.fields
    case 'list':
      return [
        { id: type['element-id'], name: 'element', required: type['element-required'], type: type.element },
      ]
    case 'map':
      return [
        { id: type['key-id'], name: 'key', required: true, type: type.key },
        { id: type['value-id'], name: 'value', required: type['value-required'], type: type.value },
      ]
  }
}

/** A type for messages. Fields of structs are left out. */
export function typeText(type: Type): string {
  if (typeof type === 'string') return parsePrimitive(type).text
  if (type.type === 'struct') return 'struct<…>'
  return `${type.type}<${fieldsOf(type)
    .map((field) => typeText(field.type))
    .join(', ')}>`
}

const prints = new WeakMap<Schema, string>()

/** Schemas are the same that have the same fields with the same ids. Their own ids do not matter. */
export const schemaComparison: Comparison<Schema> = {
  rough: (schema) => String(schema.fields.length),
  exact: printOf,
}

/** A text that two schemas share if they are the same. */
function printOf(schema: Schema): string {
  let print = prints.get(schema)
  if (print === undefined) {
    const identifiers = new Set(schema['identifier-field-ids'] ?? [])
    print = JSON.stringify([[...identifiers].sort((a, b) => a - b), printedType(schema)])
    prints.set(schema, print)
  }
  return print
}

function printedType(type: Type): unknown {
  if (typeof type === 'string') return parsePrimitive(type).text
  return [type.type, ...fieldsOf(type).map(printedField)]
}

function printedField(field: Field): unknown {
  const { id, name, required, type, doc } = field
  return [
    id,
    name,
    required,
    printedType(type),
    doc ?? null,
    printedDefault(field, 'initial-default'),
    printedDefault(field, 'write-default'),
  ]
}

function printedDefault(field: JsonObject, name: string): unknown {
  const value = field[name] ?? null
  return typeof value === 'bigint' ? `${value}n` : value
}
