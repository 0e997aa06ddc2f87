export { type ArrowInput, toArrowTable } from '../arrow/input/input.ts'
export { decodeArrow } from '../arrow/ipc/decode.ts'
export {
  fromJsonSchema,
  type JsonArrowField,
  type JsonArrowSchema,
  type JsonArrowType,
  schemaDifference,
  toJsonSchema,
} from '../arrow/schema.ts'
export type { ColumnStatistics } from '../predicate/prune/statistics.ts'
export { tableEngine } from './engine.ts'
export { markIn, markOf, namesFrom } from './storage/object-names.ts'
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
  WritingEngine,
} from './table-engine.ts'
