import { illegalArgument, validation } from '../errors.ts'
import { readSpec, readSpecFields, sequentialIds, withFieldIds } from './partition-spec.ts'
import { member, readInt, readList, sameItems } from './read.ts'
import { parseSchema } from './schema.ts'
import { readSortOrder, unsorted } from './sort-order.ts'
import type { JsonObject, PartitionSpec, Schema, SortOrder } from './types.ts'

/* The lists of schemas, specs and sort orders of a metadata file, which version 1 may have in an older form. */

export function readSchemas(json: JsonObject, version: number, where: string) {
  if (member(json, 'schemas') === undefined) {
    needVersion1('schemas', version)
    const schema = parseSchema(member(json, 'schema'), `${where}.schema`)
    return { schemas: [schema], 'current-schema-id': schema['schema-id'] }
  }
  const current = readInt(json, 'current-schema-id', where)
  const schemas = readList<Schema>(json, 'schemas', where, parseSchema)
  checkIds(schemas, 'schema-id', 'schemas')
  if (!schemas.some((schema) => schema['schema-id'] === current))
    throw illegalArgument(`Cannot find schema with current-schema-id=${current} from schemas`)
  return { schemas: sameItems(json['schemas'], schemas), 'current-schema-id': current }
}

export function readSpecs(json: JsonObject, version: number, where: string) {
  if (member(json, 'partition-specs') === undefined) {
    needVersion1('partition-specs', version)
    const fields = readSpecFields(json, 'partition-spec', where)
    const spec = withFieldIds({ 'spec-id': 0, fields }, sequentialIds())
    return { 'partition-specs': [spec], 'default-spec-id': 0 }
  }
  const current = readInt(json, 'default-spec-id', where)
  const specs = readList<PartitionSpec>(json, 'partition-specs', where, (value, at) =>
    withFieldIds(readSpec(value, at), sequentialIds()),
  )
  checkIds(specs, 'spec-id', 'partition-specs')
  if (!specs.some((spec) => spec['spec-id'] === current))
    throw validation(`Cannot find partition spec with default-spec-id=${current} from partition-specs`)
  return { 'partition-specs': sameItems(json['partition-specs'], specs), 'default-spec-id': current }
}

export function readSortOrders(json: JsonObject, version: number, where: string) {
  if (member(json, 'sort-orders') === undefined) {
    needVersion1('sort-orders', version)
    return { 'sort-orders': [unsorted], 'default-sort-order-id': unsorted['order-id'] }
  }
  const current = readInt(json, 'default-sort-order-id', where)
  const orders = readList<SortOrder>(json, 'sort-orders', where, readSortOrder)
  checkIds(orders, 'order-id', 'sort-orders')
  if (!orders.some((order) => order['order-id'] === current))
    throw validation(`Cannot find sort order with default-sort-order-id=${current} from sort-orders`)
  return { 'sort-orders': sameItems(json['sort-orders'], orders), 'default-sort-order-id': current }
}

function needVersion1(name: string, version: number): void {
  if (version > 1) throw illegalArgument(`${name} must exist in format v${version}`)
}

function checkIds(items: readonly JsonObject[], name: string, list: string): void {
  const ids = new Set<unknown>()
  for (const item of items) {
    if (ids.has(item[name]))
      throw illegalArgument(`Multiple entries with ${name}=${String(item[name])} in ${list}`)
    ids.add(item[name])
  }
}
