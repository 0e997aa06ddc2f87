/*
 * Table metadata as `metadata.json` stores it: plain objects, whose members have the names of the specification.
 * Members that no type names are kept as they are.
 */

/** A 64-bit integer. It is a number where a number holds it exactly, so equal values are always `===`. */
export type Long = number | bigint

export type JsonObject = { readonly [member: string]: unknown }

/** The type of a column: the name of a primitive type, or a nested type. */
export type Type = string | StructType | ListType | MapType

export interface StructType {
  readonly type: 'struct'
  readonly fields: readonly Field[]
  readonly [member: string]: unknown
}

export interface ListType {
  readonly type: 'list'
  readonly 'element-id': number
  readonly element: Type
  readonly 'element-required': boolean
  readonly [member: string]: unknown
}

export interface MapType {
  readonly type: 'map'
  readonly 'key-id': number
  readonly key: Type
  readonly 'value-id': number
  readonly value: Type
  readonly 'value-required': boolean
  readonly [member: string]: unknown
}

export interface Field {
  readonly id: number
  readonly name: string
  readonly required: boolean
  readonly type: Type
  readonly doc?: string | null
  readonly 'initial-default'?: unknown
  readonly 'write-default'?: unknown
  readonly [member: string]: unknown
}

export interface Schema extends StructType {
  readonly 'schema-id': number
  readonly 'identifier-field-ids'?: readonly number[] | null
}

export interface PartitionField {
  readonly 'source-id': number
  readonly 'field-id': number
  readonly name: string
  readonly transform: string
  readonly [member: string]: unknown
}

export interface PartitionSpec {
  readonly 'spec-id': number
  readonly fields: readonly PartitionField[]
  readonly [member: string]: unknown
}

export interface SortField {
  readonly transform: string
  readonly 'source-id': number
  readonly direction: 'asc' | 'desc'
  readonly 'null-order': 'nulls-first' | 'nulls-last'
  readonly [member: string]: unknown
}

export interface SortOrder {
  readonly 'order-id': number
  readonly fields: readonly SortField[]
  readonly [member: string]: unknown
}

export interface Snapshot {
  readonly 'snapshot-id': Long
  readonly 'parent-snapshot-id'?: Long | null
  readonly 'sequence-number'?: Long
  readonly 'timestamp-ms': Long
  readonly summary?: Readonly<Record<string, string>>
  readonly 'manifest-list'?: string
  readonly manifests?: readonly string[]
  readonly 'schema-id'?: number | null
  readonly 'first-row-id'?: Long | null
  readonly 'added-rows'?: Long | null
  readonly [member: string]: unknown
}

export interface SnapshotRef {
  readonly 'snapshot-id': Long
  readonly type: 'branch' | 'tag'
  readonly 'min-snapshots-to-keep'?: number | null
  readonly 'max-snapshot-age-ms'?: Long | null
  readonly 'max-ref-age-ms'?: Long | null
  readonly [member: string]: unknown
}

export interface SnapshotLogEntry {
  readonly 'timestamp-ms': Long
  readonly 'snapshot-id': Long
  readonly [member: string]: unknown
}

export interface MetadataLogEntry {
  readonly 'timestamp-ms': Long
  readonly 'metadata-file': string
  readonly [member: string]: unknown
}

/** A file of statistics, or of partition statistics. */
export interface StatisticsFile {
  readonly 'snapshot-id': Long
  readonly 'statistics-path': string
  readonly 'file-size-in-bytes': Long
  readonly [member: string]: unknown
}

export interface EncryptionKey {
  readonly 'key-id': string
  readonly 'encrypted-key-metadata': string
  readonly 'encrypted-by-id'?: string | null
  readonly properties?: Readonly<Record<string, string>>
  readonly [member: string]: unknown
}

export interface TableMetadata {
  readonly 'format-version': number
  /** Tables of version 1 may have none. */
  readonly 'table-uuid'?: string
  readonly location: string
  /** From version 2 on. */
  readonly 'last-sequence-number'?: Long
  readonly 'last-updated-ms': Long
  readonly 'last-column-id': number
  /** The current schema again, in version 1 only. */
  readonly schema?: Schema
  readonly 'current-schema-id': number
  readonly schemas: readonly Schema[]
  /** The fields of the default spec again, in version 1 only. */
  readonly 'partition-spec'?: readonly PartitionField[]
  readonly 'default-spec-id': number
  readonly 'partition-specs': readonly PartitionSpec[]
  readonly 'last-partition-id': number
  readonly 'default-sort-order-id': number
  readonly 'sort-orders': readonly SortOrder[]
  readonly properties: Readonly<Record<string, string>>
  /** Without a current snapshot -1, and null from version 3 on. */
  readonly 'current-snapshot-id': Long | null
  /** From version 3 on. */
  readonly 'next-row-id'?: Long
  readonly 'encryption-keys'?: readonly EncryptionKey[]
  readonly refs: Readonly<Record<string, SnapshotRef>>
  readonly snapshots: readonly Snapshot[]
  readonly statistics: readonly StatisticsFile[]
  readonly 'partition-statistics': readonly StatisticsFile[]
  readonly 'snapshot-log': readonly SnapshotLogEntry[]
  readonly 'metadata-log': readonly MetadataLogEntry[]
  readonly [member: string]: unknown
}

/** The newest version of the format that is read and written. */
export const newestVersion = 3
/** The version of new tables that ask for none. */
export const defaultVersion = 2
/** The version from which on rows have ids. */
export const rowLineageVersion = 3
export const mainBranch = 'main'
