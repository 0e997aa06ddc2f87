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
  Catalog,
  CatalogMetrics,
  Changes,
  CommittedChange,
  StoreConnections,
  SubjectChange,
  Transaction,
  TransactionOptions,
  VersionSpan,
  Watching,
  WatchRequest,
} from '../catalog/handle/handle.ts'
export type {
  Items,
  Iteration,
  IterationOptions,
  Listed,
  Named,
  RowsRequest,
} from '../catalog/handle/iteration/types.ts'
export type { CatalogOptions } from '../catalog/handle/open-core.ts'
export type { ReadOnlyOption } from '../catalog/handle/read-only.ts'
export type { OpenTransactionOptions } from '../catalog/handle/session-limits.ts'
export type { StorageOptionsHook } from '../catalog/locations/context.ts'
export type { AuthorizeHook } from '../catalog/lookup/access.ts'
export type { AdoptReport } from '../catalog/maintenance/adopt/report.ts'
export type { BackupOptions, BackupReport } from '../catalog/maintenance/backup/backup.ts'
export type { RestoreOptions, RestoreReport } from '../catalog/maintenance/backup/restore.ts'
export type { ExportOptions, ExportReport } from '../catalog/maintenance/plain-files/export.ts'
export type { ImportOptions, ImportReport } from '../catalog/maintenance/plain-files/import.ts'
export type { VacuumOptions, VacuumReport } from '../catalog/maintenance/vacuum.ts'
export type {
  Finding,
  VerifyOptions,
  VerifyProgress,
  VerifyReport,
} from '../catalog/maintenance/verify/report.ts'
export { alterTableAddColumns } from '../catalog/operations/alter-table-add-columns.ts'
export { alterTableAlterColumns } from '../catalog/operations/alter-table-alter-columns.ts'
export { alterTableDropColumns } from '../catalog/operations/alter-table-drop-columns.ts'
export { alterTransaction } from '../catalog/operations/alter-transaction.ts'
export { analyzeTableQueryPlan } from '../catalog/operations/analyze-table-query-plan.ts'
export { batchCommitTables } from '../catalog/operations/batch-commit-tables.ts'
export { batchCreateTableVersions } from '../catalog/operations/batch-create-table-versions.ts'
export { batchDeleteTableVersions } from '../catalog/operations/batch-delete-table-versions.ts'
export { beginTransaction } from '../catalog/operations/begin-transaction.ts'
export { cloneTable } from '../catalog/operations/clone-table.ts'
export { commitTransaction } from '../catalog/operations/commit-transaction.ts'
export { countTableRows } from '../catalog/operations/count-table-rows.ts'
export { createNamespace } from '../catalog/operations/create-namespace.ts'
export { createTable } from '../catalog/operations/create-table.ts'
export { createTableBranch } from '../catalog/operations/create-table-branch.ts'
export { createTableIndex } from '../catalog/operations/create-table-index.ts'
export { createTableScalarIndex } from '../catalog/operations/create-table-scalar-index.ts'
export { createTableTag } from '../catalog/operations/create-table-tag.ts'
export { createTableVersion } from '../catalog/operations/create-table-version.ts'
export { declareTable } from '../catalog/operations/declare-table.ts'
export { deleteFromTable } from '../catalog/operations/delete-from-table.ts'
export { deleteTableBranch } from '../catalog/operations/delete-table-branch.ts'
export { deleteTableTag } from '../catalog/operations/delete-table-tag.ts'
export { deregisterTable } from '../catalog/operations/deregister-table.ts'
export { describeNamespace } from '../catalog/operations/describe-namespace.ts'
export { describeTable } from '../catalog/operations/describe-table.ts'
export { describeTableIndexStats } from '../catalog/operations/describe-table-index-stats.ts'
export { describeTableVersion } from '../catalog/operations/describe-table-version.ts'
export { describeTransaction } from '../catalog/operations/describe-transaction.ts'
export { dropNamespace } from '../catalog/operations/drop-namespace.ts'
export { dropTable } from '../catalog/operations/drop-table.ts'
export { dropTableIndex } from '../catalog/operations/drop-table-index.ts'
export { explainTableQueryPlan } from '../catalog/operations/explain-table-query-plan.ts'
export type { Operation, OperationOptions, Progress } from '../catalog/operations/framework/operation.ts'
export { getTableStats } from '../catalog/operations/get-table-stats.ts'
export { getTableTagVersion } from '../catalog/operations/get-table-tag-version.ts'
export { type OperationName, operations } from '../catalog/operations/index.ts'
export { insertIntoTable } from '../catalog/operations/insert-into-table.ts'
export { listAllTables } from '../catalog/operations/list-all-tables.ts'
export { listNamespaces } from '../catalog/operations/list-namespaces.ts'
export { listTableBranches } from '../catalog/operations/list-table-branches.ts'
export { listTableIndices } from '../catalog/operations/list-table-indices.ts'
export { listTableTags } from '../catalog/operations/list-table-tags.ts'
export { listTableVersions } from '../catalog/operations/list-table-versions.ts'
export { listTables } from '../catalog/operations/list-tables.ts'
export { listTransactions } from '../catalog/operations/list-transactions.ts'
export { mergeInsertIntoTable } from '../catalog/operations/merge-insert-into-table.ts'
export { namespaceExists } from '../catalog/operations/namespace-exists.ts'
export { optimizeTable } from '../catalog/operations/optimize-table.ts'
export { queryTable } from '../catalog/operations/query-table.ts'
export { registerTable } from '../catalog/operations/register-table.ts'
export { renameTable } from '../catalog/operations/rename-table.ts'
export { restoreTable } from '../catalog/operations/restore-table.ts'
export { rollbackTransaction } from '../catalog/operations/rollback-transaction.ts'
export { tableExists } from '../catalog/operations/table-exists.ts'
export type * from '../catalog/operations/types/methods.ts'
export { updateFieldMetadata } from '../catalog/operations/update-field-metadata.ts'
export { updateTable } from '../catalog/operations/update-table.ts'
export { updateTableSchemaMetadata } from '../catalog/operations/update-table-schema-metadata.ts'
export { updateTableTag } from '../catalog/operations/update-table-tag.ts'
export type { BackgroundOptimize } from '../catalog/rows/background.ts'
export type { ServedCatalog } from '../client/index.ts'
export { type AdoptOptions, adoptContent, keepContent } from './adopt.ts'
export {
  type CopyOptions,
  copyCatalog,
  importTables,
  restoreCatalog,
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
