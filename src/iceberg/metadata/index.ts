export { type UpdateContext, updatedMetadata } from './apply-updates.ts'
export { tableMetadata } from './check-metadata.ts'
export { currentSnapshotId } from './draft.ts'
export { type NewTable, newTableMetadata } from './new-table.ts'
export { referencedSnapshots } from './referenced-snapshots.ts'
export { checkRequirements, isCreate } from './requirements.ts'
export { readSchema } from './schema.ts'
export type {
  Field,
  Long,
  PartitionSpec,
  Schema,
  Snapshot,
  SnapshotRef,
  SortOrder,
  TableMetadata,
  Type,
} from './types.ts'
