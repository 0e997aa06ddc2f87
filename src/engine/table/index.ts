export { type ArrowInput, toArrowTable, toSchema } from '../arrow/input/input.ts'
export { openRowStream, type RowStream } from '../arrow/input/row-stream.ts'
export { decodeArrow } from '../arrow/ipc/decode.ts'
export { tablesOfAnswer } from '../arrow/ipc/decode-stream.ts'
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
export { metadataOf } from './columns/edits.ts'
export { type EngineOptions, tableEngine } from './engine.ts'
export type { ManifestRef } from './format/manifest.ts'
export type { Measure } from './search/measures.ts'
export { type InlineObjects, namesFrom } from './storage/objects.ts'
export type {
  ApplyOptions,
  ArrowRows,
  CacheUse,
  Change,
  ChangeResult,
  ChangesOptions,
  CheckedObject,
  ColumnAlteration,
  CountOptions,
  FieldMetadataUpdate,
  MatchedRows,
  MergeOptions,
  NewColumn,
  NewIndex,
  OptimizeOptions,
  Ordering,
  Overwrite,
  Progress,
  QueryOptions,
  QueryStep,
  RowCounts,
  SchemaChange,
  Snapshot,
  TableEngine,
  TableIndex,
  UpdateOptions,
  VectorSearch,
  WorkOptions,
  WritingEngine,
} from './table-engine.ts'
export { keyPredicate } from './write/key-predicate.ts'
