import { type DataType, type Field, type Schema, Type } from '@uwdata/flechette'
import { type AnyBatch, dictionaryOf, makeBatch, makeColumn, partsOf } from '../batch.ts'
import { childFields, hasDictionary, type ValuesConstructor } from '../layout.ts'
import { mergeDictionaries } from '../take/dictionary.ts'
import { assemble, remap, wholeOf } from '../take/take.ts'

/**
 * The type with new objects for all types below a dictionary. Flechette's encoder needs them: it distinguishes
 * dictionaries by the identity of their types, and expects the children of a dictionary's values on the dictionary
 * itself. `nextId` numbers the dictionaries of a table without rows.
 */
export function prepareType(type: DataType, nextId: () => number = counter()): DataType {
  if (!hasDictionary(type)) return type
  if (type.typeId === Type.Dictionary) {
    const dictionary = { ...prepareType(type.dictionary, nextId) }
    const prepared = { ...type, id: nextId(), dictionary }
    return (
      childFields(dictionary).length > 0 ? { ...prepared, children: childFields(dictionary) } : prepared
    ) as DataType
  }
  const children = childFields(type).map(
    (field): Field => ({ ...field, type: prepareType(field.type, nextId) }),
  )
  return { ...type, children } as DataType
}

export function counter(): () => number {
  let last = -1
  return () => ++last
}

export interface Prepared {
  readonly type: DataType
  readonly batches: readonly AnyBatch[]
}

/**
 * Batches that share one dictionary for each dictionary type, as an Arrow file requires. The indices are widened if the
 * merged dictionary has too many entries for them.
 */
export function prepareBatches(
  type: DataType,
  batches: readonly AnyBatch[],
  nextId?: () => number,
): Prepared {
  if (!hasDictionary(type)) return { type, batches }
  return share(prepareType(type, nextId), batches)
}

function share(type: DataType, batches: readonly AnyBatch[]): Prepared {
  if (!hasDictionary(type) || batches.length === 0) return { type, batches }
  if (type.typeId === Type.Dictionary) return shareDictionary(type, batches)
  const fields = childFields(type)
  const children = fields.map((field, i) =>
    share(
      field.type,
      batches.map((batch) => batch.children[i]!),
    ),
  )
  const shared = {
    ...type,
    children: fields.map((field, i) => ({ ...field, type: children[i]!.type })),
  } as DataType
  return {
    type: shared,
    batches: batches.map((batch, b) =>
      makeBatch(shared, { ...partsOf(batch), children: children.map(({ batches }) => batches[b]!) }),
    ),
  }
}

function shareDictionary(type: DataType & { typeId: -1 }, batches: readonly AnyBatch[]): Prepared {
  const merged = mergeDictionaries(type.dictionary, batches.map(dictionaryOf))
  // One batch: in a file further batches can only be deltas, which not every reader supports.
  const whole = assemble(type.dictionary, merged.dictionary.data.map(wholeOf))
  const values = share(type.dictionary, [whole])
  const { bitWidth, signed } = type.indices
  const bits = bitWidth - (signed ? 1 : 0)
  const wide = merged.moved.some(Boolean) && merged.dictionary.length > 2 ** bits
  const indices = wide
    ? { ...type.indices, bitWidth: 32 as const, signed: true, values: Int32Array }
    : type.indices
  const dictionaryType = { ...values.type }
  const nested = childFields(dictionaryType)
  const shared = {
    ...type,
    indices,
    dictionary: dictionaryType,
    ...(nested.length > 0 ? { children: nested } : {}),
  } as DataType
  const dictionary = makeColumn(dictionaryType, values.batches)
  return {
    type: shared,
    batches: batches.map((batch, b) => {
      const moved = remap(batch, merged.moved[b], wide ? (Int32Array as ValuesConstructor) : undefined)
      return makeBatch(shared, { ...partsOf(moved), dictionary })
    }),
  }
}

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
