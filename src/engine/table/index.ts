export { type ArrowInput, toArrowTable, toSchema } from '../arrow/input/input.ts'
export { decodeArrow } from '../arrow/ipc/decode.ts'
export { type PlainRow, plainRows } from '../arrow/plain-rows.ts'
export {
  fromJsonSchema,
  type JsonArrowField,
  type JsonArrowSchema,
  type JsonArrowType,
  schemaDifference,
  toJsonSchema,
} from '../arrow/schema.ts'
export type { ColumnStatistics } from '../predicate/prune/statistics.ts'
export type { ColumnAlteration } from './columns/alter.ts'
export { type FieldMetadataUpdate, metadataOf } from './columns/edits.ts'
export { type EngineOptions, tableEngine } from './engine.ts'
export type { NewIndex, TableIndex } from './indices.ts'
export type { Measure } from './search/measures.ts'
export { namesFrom } from './storage/objects.ts'
export type {
  ApplyOptions,
  CacheUse,
  Change,
  ChangeResult,
  CheckedObject,
  CountOptions,
  ManifestRef,
  MergeOptions,
  NewColumn,
  OptimizeOptions,
  Ordering,
  Progress,
  QueryOptions,
  QueryStep,
  RowCounts,
  SchemaChange,
  Snapshot,
  TableEngine,
  UpdateOptions,
  VectorSearch,
  WorkOptions,
  WritingEngine,
} from './table-engine.ts'
