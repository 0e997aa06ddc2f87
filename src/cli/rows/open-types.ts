import type { JsonField, JsonType } from './json.ts'

/** Whether a type is null, or has one within it that takes the type of the first value that is inserted. */
export function isOpen({ type, fields = [] }: JsonType): boolean {
  if (type === 'null') return true
  return isNested(type) && fields.some((field) => isOpen(field.type))
}

/** The fields, with types of others of their names where their own are null. */
export function typedFields(fields: readonly JsonField[], given: readonly JsonField[]): readonly JsonField[] {
  return fields.map((field) => {
    const other = given.find(({ name }) => name === field.name)
    return other === undefined ? field : { ...field, type: typed(field.type, other.type) }
  })
}

function typed(type: JsonType, given: JsonType): JsonType {
  if (type.type === 'null') return given
  if (!isNested(type.type) || !isNested(given.type)) return type
  const { fields = [] } = type
  const { fields: others = [] } = given
  if ((type.type === 'struct') !== (given.type === 'struct')) return type
  if (type.type === 'struct') return { ...type, fields: typedFields(fields, others) }
  // The names of items differ between writers.
  return { ...type, fields: fields.map((item, i) => ({ ...item, type: typed(item.type, others[i]!.type) })) }
}

function isNested(type: string): boolean {
  return /^(struct|(large_)?list(_view)?|fixed_size_list)$/.test(type)
}
