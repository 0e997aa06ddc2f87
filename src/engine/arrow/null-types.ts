import { type DataType, type Field, type Schema, Type } from '@uwdata/flechette'
import { childFields, isList } from './layout.ts'

/*
 * A column that had no value when its table was made has the type null. It takes the type of the first values that are
 * inserted. So do fields of structs and items of lists, such as those of lists that were empty.
 */

/** Whether a type is null, or has a null type within it that may take another one. */
export function isOpen(type: DataType): boolean {
  if (type.typeId === Type.Null) return true
  return (
    (type.typeId === Type.Struct || isList(type)) && childFields(type).some((child) => isOpen(child.type))
  )
}

/** The field, with types of `given` where its own are null. The same field if there are none. */
function typedField(field: Field, given: Field): Field {
  const { type } = field
  if (type.typeId === Type.Null) {
    if (!field.nullable || given.type.typeId === Type.Null) return field
    const metadata = new Map([...(given.metadata ?? []), ...(field.metadata ?? [])])
    return { ...field, type: given.type, ...(metadata.size > 0 && { metadata }) }
  }
  const own = childFields(type)
  const others = childFields(given.type)
  const children = own.map((child) => {
    const other = isList(type) ? others[0] : others.find(({ name }) => name === child.name)
    return other === undefined ? child : typedField(child, other)
  })
  const isAlike =
    type.typeId === Type.Struct ? given.type.typeId === Type.Struct : isList(type) && isList(given.type)
  if (!isAlike || children.every((child, i) => child === own[i])) return field
  return { ...field, type: { ...type, children } as DataType }
}

/** The schema, with types of `given` where those of its own columns are null. The same schema if there are none. */
export function typedSchema(schema: Schema, given: readonly Field[]): Schema {
  if (!schema.fields.some(({ type }) => isOpen(type))) return schema
  const byName = new Map(given.map((field) => [field.name, field]))
  const fields = schema.fields.map((field) => {
    const other = isOpen(field.type) ? byName.get(field.name) : undefined
    return other === undefined ? field : typedField(field, other)
  })
  return fields.every((field, i) => field === schema.fields[i]) ? schema : { ...schema, fields }
}
