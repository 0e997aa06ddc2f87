import { illegalArgument, validation } from '../errors.ts'
import { withFreshIds } from './fresh-ids.ts'
import { tableLocation } from './location.ts'
import {
  checkSpec,
  checkSpecNames,
  lastFieldId,
  readSpec,
  sequentialIds,
  type UnboundSpec,
  withFieldIds,
} from './partition-spec.ts'
import { checkJson, member, readOptionalStringMap, readString, show } from './read.ts'
import { checkVersionOfSchema, readSchema } from './schema.ts'
import { findId, indexOf } from './schema-index.ts'
import { checkSortOrder, readSortOrder, unsorted } from './sort-order.ts'
import {
  defaultVersion,
  type JsonObject,
  type Long,
  newestVersion,
  type PartitionSpec,
  rowLineageVersion,
  type Schema,
  type SortOrder,
  type TableMetadata,
} from './types.ts'

/** What a request says of a table to be created, as parsed JSON, and what the server adds to it. */
export interface NewTable {
  readonly schema: unknown
  readonly partitionSpec?: unknown
  readonly sortOrder?: unknown
  readonly location: string
  readonly properties?: unknown
  readonly uuid: string
  /** The time of the creation, in milliseconds. */
  readonly now: Long
}

/** Properties that say how a table is created, and are not kept. */
const reserved = new Set([
  'format-version',
  'uuid',
  'snapshot-count',
  'current-snapshot-id',
  'current-snapshot-summary',
  'current-snapshot-timestamp-ms',
  'current-schema',
  'default-partition-spec',
  'default-sort-order',
])
const commitProperties = [
  'commit.retry.num-retries',
  'commit.retry.min-wait-ms',
  'commit.retry.max-wait-ms',
  'commit.retry.total-timeout-ms',
]
const encryptionProperties = ['encryption.key-id', 'encryption.data-key-length']
const metricsOfColumn = 'write.metadata.metrics.column.'

/**
 * The metadata of a new table. Columns and partition fields get fresh ids, whatever ids the request has. The version of
 * the format is that of the property `format-version`, and 2 without it. Fails with an `IcebergError` of status 400 for
 * a schema, spec, order or property that a table cannot have.
 *
 * ```ts
 * newTableMetadata({ schema, location: 's3://lake/prod/flights', uuid: randomUUID(), now: Date.now() })
 * ```
 */
export function newTableMetadata(table: NewTable): TableMetadata {
  const given = member(table as unknown as JsonObject, 'properties') ?? {}
  const { schema: schemaGiven, partitionSpec, sortOrder } = table
  checkJson([given, partitionSpec ?? null, sortOrder ?? null], 'request')
  const properties = readOptionalStringMap({ properties: given }, 'properties', 'request') ?? {}
  const version = versionOf(properties)
  const requested = readSchema(schemaGiven, 'schema')
  const { schema, lastColumnId } = withFreshIds(requested)
  checkVersionOfSchema(schema, version)
  checkProperties(properties, version, schema)
  const spec = freshSpec(partitionSpec, requested, schema)
  const order = freshSortOrder(sortOrder, requested, schema)
  return {
    'format-version': version,
    'table-uuid': table.uuid,
    location: tableLocation(readString({ location: table.location }, 'location', 'request'), 'location'),
    ...(version > 1 ? { 'last-sequence-number': 0 } : {}),
    'last-updated-ms': table.now,
    'last-column-id': lastColumnId,
    ...(version === 1 ? { schema } : {}),
    'current-schema-id': 0,
    schemas: [schema],
    ...(version === 1 ? { 'partition-spec': spec.fields } : {}),
    'default-spec-id': 0,
    'partition-specs': [spec],
    'last-partition-id': lastFieldId(spec),
    'default-sort-order-id': order['order-id'],
    'sort-orders': [order],
    properties: keptProperties(properties),
    'current-snapshot-id': version >= rowLineageVersion ? null : -1,
    ...(version >= rowLineageVersion ? { 'next-row-id': 0 } : {}),
    refs: {},
    snapshots: [],
    statistics: [],
    'partition-statistics': [],
    'snapshot-log': [],
    'metadata-log': [],
  }
}

function versionOf(properties: Readonly<Record<string, string>>): number {
  const text = member(properties, 'format-version') as string | undefined
  if (text === undefined) return defaultVersion
  if (!/^[+-]?\d{1,9}$/.test(text)) throw illegalArgument(`Invalid format-version: ${show(text)}`)
  const version = Number(text)
  if (version < 1 || version > newestVersion)
    throw illegalArgument(`Unsupported format version: v${version} (supported: v${newestVersion})`)
  return version
}

/** The properties that a table keeps, with the default of new tables that readers of old ones do not assume. */
function keptProperties(properties: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(properties).filter(([name]) => !reserved.has(name))
  return { 'write.parquet.compression-codec': 'zstd', ...Object.fromEntries(kept) }
}

function checkProperties(
  properties: Readonly<Record<string, string>>,
  version: number,
  schema: Schema,
): void {
  for (const [name, value] of Object.entries(properties)) {
    if (commitProperties.includes(name)) checkCommitProperty(name, value)
    const column = name.startsWith(metricsOfColumn) ? name.slice(metricsOfColumn.length) : undefined
    if (column !== undefined && findId(schema, column) === undefined)
      throw validation(
        `Invalid metrics config, could not find column ${show(column)} from table prop ${show(name)} in schema`,
      )
  }
  const encryption = encryptionProperties.filter((name) => Object.hasOwn(properties, name))
  if (version < 3 && encryption.length > 0)
    throw illegalArgument(`Invalid properties for v${version}: [${encryption.join(', ')}]`)
}

function checkCommitProperty(name: string, value: string): void {
  if (!/^[+-]?\d{1,10}$/.test(value) || Math.abs(Number(value)) >= 2 ** 31)
    throw validation(`Table property ${name} must have integer value`)
  if (Number(value) < 0) throw validation(`Table property ${name} must have non negative integer value`)
}

/** The id in the new schema of a column that the request names by its id. */
function freshId(id: number, requested: Schema, schema: Schema, what: string): number {
  const name = indexOf(requested).names.get(id)
  const fresh = name === undefined ? undefined : findId(schema, name)
  if (fresh === undefined) throw validation(`Cannot find source column for ${what}: ${id}`)
  return fresh
}

function freshSpec(value: unknown, requested: Schema, schema: Schema): PartitionSpec {
  if (value === undefined || value === null) return { 'spec-id': 0, fields: [] }
  const given = readSpec(value, 'partition-spec')
  const unbound: UnboundSpec = {
    ...given,
    'spec-id': 0,
    fields: given.fields.map((field) => ({
      ...field,
      'source-id': freshId(field['source-id'], requested, schema, 'partition field'),
      'field-id': undefined,
    })),
  }
  checkSpecNames(unbound, schema)
  const spec = withFieldIds(unbound, sequentialIds())
  checkSpec(spec, schema)
  return spec
}

function freshSortOrder(value: unknown, requested: Schema, schema: Schema): SortOrder {
  if (value === undefined || value === null) return unsorted
  const given = readSortOrder(value, 'write-order')
  if (given.fields.length === 0) return unsorted
  const fields = given.fields.map((field) => ({
    ...field,
    'source-id': freshId(field['source-id'], requested, schema, 'sort field'),
  }))
  const order = { ...given, 'order-id': 1, fields }
  checkSortOrder(order, schema)
  return order
}
