/*
 * What describes and offers operations, in process and over HTTP. What is loaded later is imported from its own file.
 */

export type { CatalogOptions } from './handle/catalog-options.ts'
export type { Core, Settings } from './handle/core.ts'
export type {
  Backing,
  Catalog,
  CatalogMetrics,
  Changes,
  CommittedChange,
  OperationMethods,
  StoreConnections,
  SubjectChange,
  Transact,
  Transaction,
  TransactionOptions,
  VersionSpan,
  Watching,
  WatchRequest,
} from './handle/handle.ts'
export {
  createHandle,
  heldTransactions,
  readStore,
  startUpkeep,
  storeState,
  unknownState,
} from './handle/handle.ts'
export { itemsOf } from './handle/iteration/items.ts'
export type {
  Items,
  Iteration,
  IterationOptions,
  Listed,
  Named,
  RowsRequest,
} from './handle/iteration/types.ts'
export type { LanceRunOptions } from './handle/lance-options.ts'
export type { ReadOnlyOption } from './handle/read-only.ts'
export type { OpenTransactionOptions } from './handle/session-limits.ts'
export type { FunctionRun } from './handle/transaction-function.ts'
export { checkFunction, runFunction } from './handle/transaction-function.ts'
export { joinIdentifier } from './listing/paging.ts'
export type { StorageOptionsHook } from './locations/context.ts'
export type { ContentRoot } from './locations/locations.ts'
export type { AuthorizeHook, CallerHook } from './lookup/access.ts'
export { principalKey } from './lookup/access.ts'
export type { AdoptCounts, AdoptReport } from './maintenance/adopt/report.ts'
export type { BackupOptions, BackupReport } from './maintenance/backup/backup.ts'
export type { RestoreOptions, RestoreReport } from './maintenance/backup/restore.ts'
export type { CopyReport } from './maintenance/plain-files/copy.ts'
export type { ExportOptions, ExportReport, TableInPlace } from './maintenance/plain-files/export.ts'
export type { ImportOptions, ImportReport } from './maintenance/plain-files/import.ts'
export type { VacuumOptions, VacuumReport } from './maintenance/vacuum.ts'
export type { Finding, VerifyOptions, VerifyProgress, VerifyReport } from './maintenance/verify/report.ts'
export { checkCallerHook } from './operations/framework/access.ts'
export { checkRequest } from './operations/framework/check.ts'
export type { SessionServer } from './operations/framework/inside.ts'
export {
  beginsOrEnds,
  isAboutTransactions,
  isKeyed,
  transactionNamed,
} from './operations/framework/inside.ts'
export type {
  AnyOperation,
  Invocable,
  Operation,
  OperationContext,
  OperationOptions,
  Progress,
} from './operations/framework/operation.ts'
export {
  callerHook,
  invoke,
  isUnsupported,
  requestId,
  sessionServer,
} from './operations/framework/operation.ts'
export type { Method, QueryKind, Route } from './operations/framework/route.ts'
export { fieldsOf, hintFor, removeUnknown } from './operations/framework/unknown-fields.ts'
export type { MayRead } from './operations/framework/visible-changes.ts'
export { requestDoc, responseDoc } from './operations/types/field-docs.ts'
export type { BackgroundOptimize } from './rows/background.ts'
export type { BlobOfVersion, ClientRules, UnreadableColumn } from './rows/client-rules.ts'
