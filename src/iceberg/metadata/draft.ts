import { illegalArgument, validation } from '../errors.ts'
import { Numbered } from './numbered.ts'
import { specComparison } from './partition-spec.ts'
import { Refs } from './refs.ts'
import { schemaComparison } from './schema-index.ts'
import { Snapshots } from './snapshots.ts'
import { orderComparison } from './sort-order.ts'
import { StatisticsFiles } from './statistics.ts'
import {
  defaultVersion,
  type EncryptionKey,
  type JsonObject,
  type Long,
  mainBranch,
  type PartitionSpec,
  rowLineageVersion,
  type Schema,
  type SnapshotLogEntry,
  type SortOrder,
  type StatisticsFile,
  type TableMetadata,
} from './types.ts'

/**
 * Table metadata while updates change it. Parts that may be large are copied when an update first needs them, and the
 * base is never changed.
 */
export class Draft {
  readonly base: TableMetadata | undefined
  readonly now: Long
  formatVersion: number
  uuid: string | undefined
  location: string | undefined
  lastSequenceNumber: Long
  lastColumnId: number
  currentSchemaId: number
  readonly schemas: Numbered<Schema>
  defaultSpecId: number
  readonly specs: Numbered<PartitionSpec>
  lastPartitionId: number
  defaultSortOrderId: number
  readonly sortOrders: Numbered<SortOrder>
  currentSnapshotId: Long | undefined
  nextRowId: Long

  /** Updates that changed something. Without any, the base is the result. */
  changes = 0
  lastAddedSchemaId: number | undefined
  lastAddedSpecId: number | undefined
  lastAddedSortOrderId: number | undefined
  readonly snapshots: Snapshots
  readonly addedSnapshots = new Set<Long>()
  /** Added snapshots that main was set to. */
  readonly madeCurrent = new Set<Long>()
  readonly newLogEntries: SnapshotLogEntry[] = []
  removedSnapshots = false

  #refs: Refs | undefined
  #statistics: StatisticsFiles | undefined
  #partitionStatistics: StatisticsFiles | undefined
  #encryptionKeys: Map<string, EncryptionKey> | undefined
  #properties: Map<string, string> | undefined

  constructor(
    base: TableMetadata | undefined,
    initial: { now: Long; uuid: string | undefined; formatVersion?: number | undefined },
  ) {
    this.base = base
    this.now = initial.now
    this.formatVersion = base?.['format-version'] ?? initial.formatVersion ?? defaultVersion
    this.uuid = base === undefined ? initial.uuid : base['table-uuid']
    this.location = base?.location
    this.lastSequenceNumber = base?.['last-sequence-number'] ?? 0
    this.lastColumnId = base?.['last-column-id'] ?? 0
    this.currentSchemaId = base?.['current-schema-id'] ?? 0
    this.schemas = new Numbered(pairs(base?.schemas, 'schema-id'), schemaComparison)
    this.defaultSpecId = base?.['default-spec-id'] ?? 0
    this.specs = new Numbered(pairs(base?.['partition-specs'], 'spec-id'), specComparison)
    this.lastPartitionId = base?.['last-partition-id'] ?? 0
    this.defaultSortOrderId = base?.['default-sort-order-id'] ?? 0
    this.sortOrders = new Numbered(pairs(base?.['sort-orders'], 'order-id'), orderComparison)
    this.currentSnapshotId = base && currentSnapshotId(base)
    this.nextRowId = base?.['next-row-id'] ?? 0
    this.snapshots = new Snapshots(base?.snapshots ?? [])
  }

  get refs(): Refs {
    this.#refs ??= new Refs(this.base?.refs ?? {})
    return this.#refs
  }

  get statistics(): StatisticsFiles {
    this.#statistics ??= new StatisticsFiles(this.base?.statistics ?? [])
    return this.#statistics
  }

  get partitionStatistics(): StatisticsFiles {
    this.#partitionStatistics ??= new StatisticsFiles(this.base?.['partition-statistics'] ?? [])
    return this.#partitionStatistics
  }

  get encryptionKeys(): Map<string, EncryptionKey> {
    this.#encryptionKeys ??= new Map(this.base?.['encryption-keys']?.map((key) => [key['key-id'], key]))
    return this.#encryptionKeys
  }

  /** The properties, to be changed. */
  get propertyMap(): Map<string, string> {
    this.#properties ??= new Map(Object.entries(this.base?.properties ?? {}))
    return this.#properties
  }

  /** The properties as a table stores them. */
  get properties(): Readonly<Record<string, string>> {
    return this.#properties ? Object.fromEntries(this.#properties) : (this.base?.properties ?? {})
  }

  /** The current schema. Specs and sort orders are bound to it. */
  currentSchema(): Schema {
    const schema = this.schemas.get(this.currentSchemaId)
    if (schema === undefined)
      throw validation(`Cannot find schema with current-schema-id=${this.currentSchemaId} from schemas`)
    return schema
  }

  defaultSpec(): PartitionSpec {
    if (this.specs.size === 0) throw illegalArgument('Partition specs cannot be null or empty')
    const spec = this.specs.get(this.defaultSpecId)
    if (spec === undefined)
      throw validation(
        `Cannot find partition spec with default-spec-id=${this.defaultSpecId} from partition-specs`,
      )
    return spec
  }

  defaultSortOrder(): SortOrder {
    if (this.sortOrders.size === 0) throw illegalArgument('Sort orders cannot be null or empty')
    const order = this.sortOrders.get(this.defaultSortOrderId)
    if (order === undefined)
      throw validation(
        `Cannot find sort order with default-sort-order-id=${this.defaultSortOrderId} from sort-orders`,
      )
    return order
  }

  /** The members about snapshots, as a table stores them. Those that no update needed are the ones of the base. */
  snapshotMembers() {
    const { base } = this
    const none = this.formatVersion >= rowLineageVersion ? null : -1
    const keys = this.#encryptionKeys ? [...this.#encryptionKeys.values()] : (base?.['encryption-keys'] ?? [])
    return {
      'current-snapshot-id': this.currentSnapshotId ?? none,
      ...(keys.length > 0 ? { 'encryption-keys': keys } : {}),
      refs: this.#refs?.toObject() ?? base?.refs ?? {},
      snapshots:
        this.addedSnapshots.size > 0 || this.removedSnapshots || base === undefined
          ? this.snapshots.toList()
          : base.snapshots,
      statistics: listOf(this.#statistics) ?? base?.statistics ?? [],
      'partition-statistics': listOf(this.#partitionStatistics) ?? base?.['partition-statistics'] ?? [],
    }
  }

  removeRef(name: string): void {
    if (name === mainBranch) this.currentSnapshotId = undefined
    if (this.refs.delete(name)) this.changes++
  }
}

function listOf(files: StatisticsFiles | undefined): StatisticsFile[] | undefined {
  return files?.changed ? files.toList() : undefined
}

function pairs<T extends JsonObject>(items: readonly T[] | undefined, name: string): [number, T][] {
  return (items ?? []).map((item) => [item[name] as number, item])
}

/** The id of a table's current snapshot, and undefined where it has none. */
export function currentSnapshotId(metadata: TableMetadata): Long | undefined {
  const id = metadata['current-snapshot-id']
  return id === null || id === -1 ? undefined : id
}
