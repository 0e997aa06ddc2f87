import { illegalArgument, validation } from '../errors.ts'
import type { Comparison } from './numbered.ts'
import {
  member,
  readInt,
  readList,
  readObject,
  readOptionalInt,
  readString,
  sameItems,
  show,
  withMembers,
} from './read.ts'
import { findField, findId, indexOf, typeText } from './schema-index.ts'
import { checkTransform, isPrimitive, readTransform } from './transform.ts'
import type { PartitionField, PartitionSpec, Schema } from './types.ts'

/** The first id of partition fields. */
export const firstPartitionId = 1000

/** The fields that a spec or a sort order may have. */
export const maxSpecFields = 1_000

/** A spec as requests have it: fields may come without ids. */
export interface UnboundSpec {
  readonly 'spec-id': number
  readonly fields: readonly UnboundField[]
  readonly [member: string]: unknown
}

export interface UnboundField {
  readonly 'source-id': number
  readonly 'field-id'?: number | undefined
  readonly name: string
  readonly transform: string
  readonly [member: string]: unknown
}

/** A partition spec from parsed JSON. Either all of its fields have ids, or none has. */
export function readSpec(value: unknown, where: string): UnboundSpec {
  const object = readObject(value, where)
  const fields = readSpecFields(object, 'fields', where)
  return withMembers(object, { 'spec-id': readOptionalInt(object, 'spec-id', where) ?? 0, fields })
}

/** The fields of a spec, which are all of it in `partition-spec` of version 1. */
export function readSpecFields(
  object: { readonly [member: string]: unknown },
  name: string,
  where: string,
): readonly UnboundField[] {
  const fields = readList(object, name, where, readField)
  if (fields.length > maxSpecFields)
    throw illegalArgument(`Cannot parse more than ${maxSpecFields} fields: ${where}.${name}`)
  const missing = fields.filter((field) => field['field-id'] === undefined).length
  if (missing > 0 && missing < fields.length)
    throw illegalArgument(
      `Cannot parse spec with missing field IDs: ${missing} missing of ${fields.length} fields.`,
    )
  return sameItems(object[name], fields)
}

function readField(value: unknown, where: string): UnboundField {
  const object = readObject(value, where)
  readString(object, 'name', where)
  const transform = readTransform(readString(object, 'transform', where))
  const sourceId = readInt(object, 'source-id', where)
  const id = member(object, 'field-id') === undefined ? undefined : readInt(object, 'field-id', where)
  return withMembers(object, { transform, 'source-id': sourceId, 'field-id': id })
}

/** The spec with an id for each field. `nextId` gives the ids of fields that come without. */
export function withFieldIds(spec: UnboundSpec, nextId: (field: UnboundField) => number): PartitionSpec {
  if (spec.fields.every((field) => field['field-id'] !== undefined)) return spec as PartitionSpec
  return {
    ...spec,
    fields: spec.fields.map((field) => ({ ...field, 'field-id': nextId(field) })),
  } as PartitionSpec
}

/** Gives ids in the order of the fields, as old writers did that wrote none. */
export function sequentialIds(): () => number {
  let last = firstPartitionId - 1
  return () => ++last
}

/** The highest id of the fields of a spec. */
export function lastFieldId(spec: PartitionSpec): number {
  return spec.fields.reduce((last, field) => Math.max(last, field['field-id']), firstPartitionId - 1)
}

/** Whether the ids count from 1000 on, as version 1 needs them. */
export function hasSequentialIds(spec: PartitionSpec): boolean {
  return spec.fields.every((field, i) => field['field-id'] === firstPartitionId + i)
}

/** Specs are the same that partition alike. Ids of specs and fields do not matter. */
export const specComparison: Comparison<UnboundSpec> = {
  rough: (spec) => String(spec.fields.length),
  exact: ({ fields }) =>
    JSON.stringify(fields.map((field) => [field['source-id'], field.transform, field.name])),
}

/** Refuses names that are empty, occur twice, or belong to another column of the schema. */
export function checkSpecNames(spec: UnboundSpec, schema: Schema): void {
  const names = new Set<string>()
  for (const { name, 'source-id': sourceId } of spec.fields) {
    if (name === '') throw illegalArgument('Cannot use empty partition name: ')
    const column = findId(schema, name)
    if (column !== undefined && column !== sourceId && findField(schema, sourceId) !== undefined)
      throw illegalArgument(
        `Cannot create identity partition sourced from different field in schema: ${show(name)}`,
      )
    if (names.has(name)) throw illegalArgument(`Cannot use partition name more than once: ${show(name)}`)
    names.add(name)
  }
}

/** Refuses a spec that cannot partition rows of a schema. */
export function checkSpec(spec: PartitionSpec, schema: Schema): void {
  const { fields, parents } = indexOf(schema)
  for (const field of spec.fields) {
    // Fields of dropped columns stay in version 1, and are void.
    if (field.transform === 'void') continue
    const type = fields.get(field['source-id'])?.type
    if (type === undefined)
      throw validation(`Cannot find source column for partition field: ${fieldText(field)}`)
    if (!isPrimitive(type))
      throw validation(`Cannot partition by non-primitive source field: ${typeText(type)}`)
    checkTransform(field.transform, type)
    for (let at = parents.get(field['source-id']); at !== undefined; at = parents.get(at)) {
      const parent = fields.get(at)!.type
      if (typeof parent === 'string' || parent.type !== 'struct')
        throw validation(`Invalid partition field parent: ${typeText(parent)}`)
    }
  }
}

function fieldText(field: PartitionField): string {
  return `${field['field-id']}: ${field.name}: ${field.transform}(${field['source-id']})`
}
