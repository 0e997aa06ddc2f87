import { invalid } from '../../base/errors.ts'
import type { Steps } from '../../base/scheduling/time-slice.ts'
import { IcebergError, illegalArgument, validation } from '../errors.ts'
import { readEncryptionKey } from './encryption-keys.ts'
import { tableLocation } from './location.ts'
import { checkMetadataLog, checkSnapshotLog, readMetadataLogEntry, readSnapshotLogEntry } from './logs.ts'
import { checkSpec, checkSpecNames, lastFieldId } from './partition-spec.ts'
import {
  checkLongJson,
  isObject,
  member,
  readInt,
  readLong,
  readLongList,
  readObject,
  readOptionalInt,
  readOptionalLong,
  readOptionalString,
  readOptionalStringMap,
  readString,
  show,
  withMembers,
} from './read.ts'
import { readRef } from './refs.ts'
import { readSnapshot, sequenceNumber } from './snapshots.ts'
import { checkSortOrder } from './sort-order.ts'
import { readPartitionStatistics, readStatistics } from './statistics.ts'
import { readSchemas, readSortOrders, readSpecs } from './structure-lists.ts'
import {
  type JsonObject,
  type Long,
  mainBranch,
  newestVersion,
  rowLineageVersion,
  type SnapshotRef,
  type TableMetadata,
} from './types.ts'

/**
 * The metadata of a table from the parsed JSON of a metadata file, checked, and in the form in which a table keeps it.
 * Members that older writers left out are there, such as `refs` and `schemas`. Members that the specification does not
 * name are kept. It works in steps: a table may have 100,000 snapshots.
 *
 * Fails with `InvalidInput` for what no reader could use: it says which member is wrong, and why.
 *
 * ```ts
 * const metadata = await inSlices(tableMetadata(parse(await readFile(path, 'utf8'))), signal)
 * ```
 */
export function* tableMetadata(json: unknown): Steps<TableMetadata> {
  try {
    return yield* readMetadata(json)
  } catch (error) {
    if (!(error instanceof IcebergError)) throw error
    throw invalid(
      `The metadata of the Iceberg table is not valid: ${error.message}. Give the metadata file of a table.`,
      { cause: error },
    )
  }
}

const top = 'metadata'

function* readMetadata(json: unknown): Steps<TableMetadata> {
  if (!isObject(json)) throw illegalArgument(`Cannot parse metadata from a non-object: ${show(json)}`)
  yield* checkLongJson(json, top)
  const version = readInt(json, 'format-version', top)
  if (version < 1 || version > newestVersion)
    throw illegalArgument(`Cannot read unsupported version ${version} (supported: v1 to v${newestVersion})`)
  const identity = readIdentity(json, version)
  const lists = {
    ...readSchemas(json, version, top),
    ...readSpecs(json, version, top),
    ...readSortOrders(json, version, top),
  }
  const metadata = withMembers<TableMetadata>(json, {
    ...identity,
    ...lists,
    ...readPartitionId(json, version, lists['partition-specs'].map(lastFieldId)),
    ...(yield* readState(json, version)),
  })
  checkStructure(metadata)
  yield* checkState(metadata)
  return withCurrent(metadata)
}

function readIdentity(json: JsonObject, version: number) {
  const uuid = readOptionalString(json, 'table-uuid', top)
  if (version > 1 && uuid === undefined) throw illegalArgument(`UUID is required in format v${version}`)
  return {
    'table-uuid': uuid,
    location: tableLocation(readString(json, 'location', top), `${top}.location`),
    'last-sequence-number': version > 1 ? readLong(json, 'last-sequence-number', top) : undefined,
    'last-updated-ms': readLong(json, 'last-updated-ms', top),
    'last-column-id': readInt(json, 'last-column-id', top),
    'next-row-id': version >= rowLineageVersion ? readLong(json, 'next-row-id', top) : undefined,
  }
}

function readPartitionId(json: JsonObject, version: number, lastIds: readonly number[]) {
  const id = readOptionalInt(json, 'last-partition-id', top)
  if (id === undefined && version > 1)
    throw illegalArgument(`last-partition-id must exist in format v${version}`)
  return { 'last-partition-id': id ?? Math.max(...lastIds) }
}

/** Properties, snapshots, references, logs and statistics. */
function* readState(json: JsonObject, version: number) {
  function* list<T>(name: string, item: (value: unknown, where: string) => T): Steps<readonly T[]> {
    return member(json, name) === undefined ? [] : yield* readLongList(json, name, top, item)
  }
  const current = readOptionalLong(json, 'current-snapshot-id', top) ?? -1
  const keys = yield* list('encryption-keys', readEncryptionKey)
  return {
    properties: readOptionalStringMap(json, 'properties', top) ?? {},
    'current-snapshot-id': current === -1 && version >= rowLineageVersion ? null : current,
    'encryption-keys': keys.length === 0 ? undefined : keys,
    refs: readRefs(json, current),
    snapshots: yield* list('snapshots', readSnapshot),
    statistics: yield* list('statistics', readStatistics),
    'partition-statistics': yield* list('partition-statistics', readPartitionStatistics),
    'snapshot-log': yield* list('snapshot-log', readSnapshotLogEntry),
    'metadata-log': yield* list('metadata-log', readMetadataLogEntry),
  }
}

/** The references. The branch main is where the current snapshot is, also where a writer did not say so. */
function readRefs(json: JsonObject, current: Long): Readonly<Record<string, SnapshotRef>> {
  const given = member(json, 'refs')
  const at = `${top}.refs`
  const entries =
    given === undefined
      ? []
      : Object.entries(readObject(given, at)).map(
          ([name, ref]) => [name, readRef(ref, `${at}.${show(name)}`)] as const,
        )
  const refs =
    given === undefined ? {} : withMembers<JsonObject>(given as JsonObject, Object.fromEntries(entries))
  if (current === -1 || Object.hasOwn(refs, mainBranch)) return refs as Record<string, SnapshotRef>
  return {
    ...(refs as Record<string, SnapshotRef>),
    [mainBranch]: { 'snapshot-id': current, type: 'branch' },
  }
}

function checkStructure(metadata: TableMetadata): void {
  const schema = metadata.schemas.find((each) => each['schema-id'] === metadata['current-schema-id'])!
  for (const spec of metadata['partition-specs']) {
    checkSpecNames(spec, schema)
    if (spec['spec-id'] === metadata['default-spec-id']) checkSpec(spec, schema)
  }
  for (const order of metadata['sort-orders'])
    if (order['order-id'] === metadata['default-sort-order-id']) checkSortOrder(order, schema)
}

function* checkState(metadata: TableMetadata): Steps<void> {
  const last = metadata['last-sequence-number'] ?? 0
  const ids = new Set<Long>()
  for (const snapshot of metadata.snapshots) {
    const id = snapshot['snapshot-id']
    if (ids.size % 64 === 63) yield
    if (ids.has(id)) throw illegalArgument(`Multiple snapshots with snapshot-id=${id} in snapshots`)
    ids.add(id)
    if (sequenceNumber(snapshot) > last)
      throw validation(
        `Invalid snapshot with sequence number ${sequenceNumber(snapshot)} greater than last sequence number ${last}`,
      )
  }
  for (const [name, ref] of Object.entries(metadata.refs))
    if (!ids.has(ref['snapshot-id']) && ref['snapshot-id'] !== metadata['current-snapshot-id'])
      throw illegalArgument(
        `Snapshot for reference ${show(name)} does not exist in the existing snapshots list: ${ref['snapshot-id']}`,
      )
  checkCurrent(metadata, ids)
  const keys = (metadata['encryption-keys'] ?? []).map((key) => key['key-id'])
  if (new Set(keys).size < keys.length)
    throw illegalArgument('Multiple keys with the same key-id in encryption-keys')
  checkSnapshotLog(metadata['snapshot-log'], metadata['last-updated-ms'])
  checkMetadataLog(metadata['metadata-log'], metadata['last-updated-ms'])
}

function checkCurrent(metadata: TableMetadata, ids: ReadonlySet<Long>): void {
  const current = metadata['current-snapshot-id']
  const main = member(metadata.refs, mainBranch) as SnapshotRef | undefined
  if (current === null || current === -1) {
    if (main !== undefined)
      throw illegalArgument(
        `Current snapshot is not set, but main branch exists: snapshot-id=${main['snapshot-id']}`,
      )
    return
  }
  if (!ids.has(current)) throw illegalArgument('Invalid table metadata: Cannot find current version')
  if (main !== undefined && main['snapshot-id'] !== current)
    throw illegalArgument(
      `Current snapshot ID does not match main branch (${current} != ${main['snapshot-id']})`,
    )
  if (main?.type === 'tag') throw validation(`Cannot set ${mainBranch} to a tag, it must be a branch`)
}

/** Old readers of version 1 know the current schema and spec only. Later versions do not have these members. */
function withCurrent(metadata: TableMetadata): TableMetadata {
  const isFirst = metadata['format-version'] === 1
  return withMembers(metadata, {
    schema: isFirst
      ? metadata.schemas.find((each) => each['schema-id'] === metadata['current-schema-id'])
      : undefined,
    'partition-spec': isFirst
      ? metadata['partition-specs'].find((each) => each['spec-id'] === metadata['default-spec-id'])!.fields
      : undefined,
  })
}
