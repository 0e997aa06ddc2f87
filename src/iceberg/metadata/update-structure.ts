import { illegalArgument, validation } from '../errors.ts'
import type { Draft } from './draft.ts'
import {
  checkSpec,
  checkSpecNames,
  firstPartitionId,
  hasSequentialIds,
  lastFieldId,
  readSpec,
  sequentialIds,
  type UnboundField,
  withFieldIds,
} from './partition-spec.ts'
import { intItem, member, readInt, readList, withMembers } from './read.ts'
import { checkVersionOfSchema, parseSchema } from './schema.ts'
import { indexOf } from './schema-index.ts'
import { checkSortOrder, readSortOrder, unsorted } from './sort-order.ts'
import type { JsonObject, PartitionSpec } from './types.ts'

/*
 * Updates of schemas, partition specs and sort orders. An id of -1 stands for what the same commit added last, which
 * may be one that the table already had.
 */

/** Higher ids of columns are those of metadata columns. */
const highestColumnId = 2_147_483_447

export function addSchema(draft: Draft, update: JsonObject, where: string): void {
  const schema = parseSchema(member(update, 'schema'), `${where}.schema`)
  const { highestId: highest } = indexOf(schema)
  if (highest > highestColumnId)
    throw illegalArgument(`Invalid field ID: ${highest} (reserved for metadata columns)`)
  checkVersionOfSchema(schema, draft.formatVersion)
  const known = draft.schemas.find(schema)
  const id = known ?? draft.schemas.nextId(draft.currentSchemaId)
  draft.lastAddedSchemaId = id
  if (known !== undefined && highest <= draft.lastColumnId) return
  draft.lastColumnId = Math.max(draft.lastColumnId, highest)
  if (known === undefined) draft.schemas.add(id, withMembers(schema, { 'schema-id': id }))
  draft.changes++
}

export function setCurrentSchema(draft: Draft, update: JsonObject, where: string): void {
  const id = lastOr(readInt(update, 'schema-id', where), draft.lastAddedSchemaId, 'schema')
  if (id === draft.currentSchemaId) return
  const schema = draft.schemas.get(id)
  if (schema === undefined) throw illegalArgument(`Cannot set current schema to unknown schema: ${id}`)
  // A new column may have the name of a partition. Readers bind all specs to the current schema.
  for (const spec of draft.specs.values()) checkSpecNames(spec, schema)
  draft.currentSchemaId = id
  draft.changes++
}

function lastOr(id: number, last: number | undefined, what: string): number {
  if (id !== -1) return id
  if (last === undefined) throw validation(`Cannot set last added ${what}: no ${what} has been added`)
  return last
}

export function removeSchemas(draft: Draft, update: JsonObject, where: string): void {
  const ids = readList(update, 'schema-ids', where, intItem)
  if (ids.includes(draft.currentSchemaId)) throw illegalArgument('Cannot remove the current schema')
  for (const id of ids) if (draft.schemas.delete(id)) draft.changes++
}

export function addSpec(draft: Draft, update: JsonObject, where: string): void {
  const unbound = readSpec(member(update, 'spec'), `${where}.spec`)
  const schema = draft.currentSchema()
  checkSpecNames(unbound, schema)
  const known = draft.specs.find(unbound as PartitionSpec)
  if (known !== undefined) {
    checkSpec(draft.specs.get(known)!, schema)
    draft.lastAddedSpecId = known
    return
  }
  const id = draft.specs.nextId(0)
  const spec = withMembers<PartitionSpec>(withFieldIds(unbound, fieldIds(draft)), { 'spec-id': id })
  checkSpec(spec, schema)
  checkFieldIds(spec, draft.formatVersion)
  draft.lastPartitionId = Math.max(draft.lastPartitionId, lastFieldId(spec))
  draft.specs.add(id, spec)
  draft.lastAddedSpecId = id
  draft.changes++
}

/** Gives ids to fields that come without: in version 1 in their order, and else the one of the same field before. */
function fieldIds(draft: Draft): (field: UnboundField) => number {
  if (draft.formatVersion === 1) return sequentialIds()
  const known = new Map<string, number>()
  const keyOf = (field: UnboundField) => `${field['source-id']} ${field.transform}`
  for (const spec of draft.specs.values())
    for (const field of spec.fields) known.set(keyOf(field), field['field-id'])
  let last = Math.max(draft.lastPartitionId, firstPartitionId - 1)
  return (field) => {
    const id = known.get(keyOf(field)) ?? ++last
    // Each id is given once: two fields of a spec may have the same source and transform.
    known.delete(keyOf(field))
    return id
  }
}

function checkFieldIds(spec: PartitionSpec, version: number): void {
  if (version === 1 && !hasSequentialIds(spec))
    throw validation(
      `Spec does not use sequential IDs that are required in v1: [${spec.fields.map((field) => field['field-id']).join(', ')}]`,
    )
  if (new Set(spec.fields.map((field) => field['field-id'])).size < spec.fields.length)
    throw validation('Cannot use partition field ID more than once')
}

export function setDefaultSpec(draft: Draft, update: JsonObject, where: string): void {
  const id = lastOr(readInt(update, 'spec-id', where), draft.lastAddedSpecId, 'spec')
  if (id === draft.defaultSpecId) return
  if (draft.specs.get(id) === undefined)
    throw illegalArgument(`Cannot set default spec to unknown spec: ${id}`)
  draft.defaultSpecId = id
  draft.changes++
}

export function removeSpecs(draft: Draft, update: JsonObject, where: string): void {
  const ids = readList(update, 'spec-ids', where, intItem)
  if (ids.includes(draft.defaultSpecId)) throw illegalArgument('Cannot remove the default partition spec')
  for (const id of ids) if (draft.specs.delete(id)) draft.changes++
}

export function addSortOrder(draft: Draft, update: JsonObject, where: string): void {
  const order = readSortOrder(member(update, 'sort-order'), `${where}.sort-order`)
  checkSortOrder(order, draft.currentSchema())
  const isUnsorted = order.fields.length === 0
  const known = draft.sortOrders.find(order)
  const id = known ?? (isUnsorted ? 0 : draft.sortOrders.nextId(1))
  draft.lastAddedSortOrderId = id
  if (known !== undefined) return
  draft.sortOrders.add(id, isUnsorted ? unsorted : withMembers(order, { 'order-id': id }))
  draft.changes++
}

export function setDefaultSortOrder(draft: Draft, update: JsonObject, where: string): void {
  const id = lastOr(readInt(update, 'sort-order-id', where), draft.lastAddedSortOrderId, 'sort order')
  if (id === draft.defaultSortOrderId) return
  if (draft.sortOrders.get(id) === undefined)
    throw illegalArgument(`Cannot set default sort order to unknown sort order: ${id}`)
  draft.defaultSortOrderId = id
  draft.changes++
}
