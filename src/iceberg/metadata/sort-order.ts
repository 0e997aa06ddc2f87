import { illegalArgument, validation } from '../errors.ts'
import type { Comparison } from './numbered.ts'
import { maxSpecFields } from './partition-spec.ts'
import {
  readInt,
  readList,
  readObject,
  readOptionalInt,
  readString,
  sameItems,
  show,
  withMembers,
} from './read.ts'
import { findField, typeText } from './schema-index.ts'
import { checkTransform, isPrimitive, readTransform } from './transform.ts'
import type { Schema, SortField, SortOrder } from './types.ts'

/** The order of tables that are not sorted. Its id is reserved. */
export const unsorted: SortOrder = { 'order-id': 0, fields: [] }

/** A sort order from parsed JSON. */
export function readSortOrder(value: unknown, where: string): SortOrder {
  const object = readObject(value, where)
  const fields = readList(object, 'fields', where, readField)
  if (fields.length > maxSpecFields)
    throw illegalArgument(`Cannot parse more than ${maxSpecFields} fields: ${where}.fields`)
  const id = readOptionalInt(object, 'order-id', where) ?? (fields.length === 0 ? 0 : 1)
  if (fields.length === 0 && id !== 0) throw illegalArgument('Unsorted order ID must be 0')
  if (fields.length > 0 && id === 0) throw illegalArgument('Sort order ID 0 is reserved for unsorted order')
  return withMembers(object, { 'order-id': id, fields: sameItems(object['fields'], fields) })
}

function readField(value: unknown, where: string): SortField {
  const object = readObject(value, where)
  const direction = readString(object, 'direction', where).toLowerCase()
  if (direction !== 'asc' && direction !== 'desc')
    throw illegalArgument(`Invalid sort direction: ${show(object['direction'])}`)
  const nullOrder = readString(object, 'null-order', where).toLowerCase()
  if (nullOrder !== 'nulls-first' && nullOrder !== 'nulls-last')
    throw illegalArgument(`Unexpected null order: ${show(object['null-order'])}`)
  return withMembers(object, {
    transform: readTransform(readString(object, 'transform', where)),
    'source-id': readInt(object, 'source-id', where),
    direction,
    'null-order': nullOrder,
  })
}

/** Orders are the same that sort alike. Their ids do not matter. */
export const orderComparison: Comparison<SortOrder> = {
  rough: (order) => String(order.fields.length),
  exact: ({ fields }) =>
    JSON.stringify(
      fields.map((field) => [field.transform, field['source-id'], field.direction, field['null-order']]),
    ),
}

/** Refuses an order that cannot sort rows of a schema. */
export function checkSortOrder(order: SortOrder, schema: Schema): void {
  for (const field of order.fields) {
    const type = findField(schema, field['source-id'])?.type
    if (type === undefined) throw validation(`Cannot find source column for sort field: ${fieldText(field)}`)
    if (!isPrimitive(type)) throw validation(`Cannot sort by non-primitive source field: ${typeText(type)}`)
    checkTransform(field.transform, type)
  }
}

function fieldText(field: SortField): string {
  const nulls = field['null-order'] === 'nulls-first' ? 'NULLS FIRST' : 'NULLS LAST'
  return `${field.transform}(${field['source-id']}) ${field.direction.toUpperCase()} ${nulls}`
}
