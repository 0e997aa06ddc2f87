import { indexOf } from './schema-index.ts'
import type { Field, Schema, StructType, Type } from './types.ts'

/**
 * The schema of a new table: the same columns with ids from 1 on. The fields of a struct get their ids before the fields
 * inside of them, as the reference implementation numbers them.
 */
export function withFreshIds(schema: Schema): { readonly schema: Schema; readonly lastColumnId: number } {
  let last = 0
  const next = () => ++last
  const struct = freshStruct(schema, next) as Schema
  const names = indexOf(schema).names
  const fresh: Schema = { ...struct, 'schema-id': 0 }
  const ids = indexOf(fresh).ids
  const identifiers = (schema['identifier-field-ids'] ?? []).map((id) => ids.get(names.get(id)!)!)
  return {
    schema: identifiers.length === 0 ? fresh : { ...fresh, 'identifier-field-ids': identifiers },
    lastColumnId: last,
  }
}

function freshStruct(struct: StructType, next: () => number): StructType {
  const ids = struct.fields.map(next)
  const fields = struct.fields.map(
    (field, i): Field => ({ ...field, id: ids[i]!, type: freshType(field.type, next) }),
  )
  return { ...struct, fields }
}

function freshType(type: Type, next: () => number): Type {
  if (typeof type === 'string') return type
  switch (type.type) {
    case 'struct':
      return freshStruct(type, next)
    case 'list': {
      const id = next()
      return { ...type, 'element-id': id, element: freshType(type.element, next) }
    }
    case 'map': {
      const [keyId, valueId] = [next(), next()]
      const key = freshType(type.key, next)
      return { ...type, 'key-id': keyId, key, 'value-id': valueId, value: freshType(type.value, next) }
    }
  }
}
