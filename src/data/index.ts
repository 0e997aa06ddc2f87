export { decodeArrow } from './arrow/decode.ts'
export { type ArrowInput, toArrowTable } from './arrow/input.ts'
export {
  fromJsonSchema,
  type JsonArrowField,
  type JsonArrowSchema,
  type JsonArrowType,
  schemaDifference,
  toJsonSchema,
} from './arrow/schema.ts'
export { tableEngine } from './engine.ts'
export { namesFrom } from './object-names.ts'
export type { ColumnStatistics } from './statistics.ts'
export type {
  ApplyOptions,
  Change,
  Changed,
  CheckedObject,
  CountOptions,
  EngineOptions,
  ManifestRef,
  OptimizeGoals,
  Progress,
  QueryOptions,
  Snapshot,
  TableEngine,
  WorkOptions,
} from './table-engine.ts'
