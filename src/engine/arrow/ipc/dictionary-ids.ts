import { type DataType, type Field, type Schema, Type } from '@uwdata/flechette'
import { childFields } from '../layout.ts'

type DictionaryType = DataType & { typeId: -1 }

/** The dictionary types in the fields. Each comes before the dictionaries within its values. */
export function dictionaryTypesOf(fields: readonly Field[]): DictionaryType[] {
  const found: DictionaryType[] = []
  const visit = (type: DataType): void => {
    if (type.typeId === Type.Dictionary) {
      found.push(type)
      visit(type.dictionary)
    } else {
      for (const field of childFields(type)) visit(field.type)
    }
  }
  for (const { type } of fields) visit(type)
  return found
}

/** The schema with its dictionaries numbered in the order of `dictionaryTypesOf`. No two fields share one. */
export function numberDictionaries(schema: Schema): Schema {
  let next = 0
  const renumber = (type: DataType): DataType => {
    if (type.typeId === Type.Dictionary) {
      const id = next++
      return { ...type, id, dictionary: renumber(type.dictionary) }
    }
    const fields = childFields(type)
    if (fields.length === 0) return type
    return {
      ...type,
      children: fields.map((field) => ({ ...field, type: renumber(field.type) })),
    } as DataType
  }
  return { ...schema, fields: schema.fields.map((field) => ({ ...field, type: renumber(field.type) })) }
}
