/**
 * An embeddable table catalog: open one with {@link openCatalog}, and call its operations.
 *
 * @module
 */

export type { Content, ListedObject } from '../base/content/content.ts'
export { CatalogError, type ErrorCode, errorNumbers } from '../base/errors.ts'
export { formatIdentifier, type Identifier, parseIdentifier } from '../base/model/identifier.ts'
export { checkedKey, compareKeys } from '../base/store/key.ts'
export { type Cut, type Span, spanOf } from '../base/store/range.ts'
export type {
  Entry,
  InspectOptions,
  Key,
  Range,
  Reader,
  Store,
  StoreFeatures,
  StoreInspection,
  StoreMetrics,
  Value,
  Writer,
} from '../base/store/store.ts'
export type {
  AdoptReport,
  AuthorizeHook,
  BackgroundOptimize,
  BackupOptions,
  BackupReport,
  Catalog,
  CatalogMetrics,
  CatalogOptions,
  Changes,
  CommittedChange,
  CopyReport,
  ExportOptions,
  ExportReport,
  Finding,
  ImportOptions,
  ImportReport,
  Items,
  Iteration,
  IterationOptions,
  LanceRunOptions,
  Listed,
  Named,
  OpenTransactionOptions,
  Operation,
  OperationOptions,
  Progress,
  ReadOnlyOption,
  RestoreOptions,
  RestoreReport,
  RowsRequest,
  StorageOptionsHook,
  StoreConnections,
  SubjectChange,
  TableInPlace,
  Transaction,
  TransactionOptions,
  VacuumOptions,
  VacuumReport,
  VerifyOptions,
  VerifyProgress,
  VerifyReport,
  VersionSpan,
  Watching,
  WatchRequest,
} from '../catalog/index.ts'
export * from '../catalog/operations/index.ts'
export type { ServedCatalog } from '../client/index.ts'
export { type AdoptOptions, adoptContent, keepContent } from './adopt.ts'
export {
  type CopyOptions,
  copyCatalog,
  importTables,
  restoreCatalog,
  type VerifyCatalogOptions,
  verifyCatalog,
} from './closed-directory.ts'
export { openContent } from './content-root.ts'
export type { LocalCatalog } from './local-handle.ts'
export {
  type CustomCatalogOptions,
  type DatabaseCatalogOptions,
  type DirectoryCatalogOptions,
  type MemoryCatalog,
  type MemorySnapshot,
  openCatalog,
} from './open.ts'
