/**
 * An embeddable table catalog: open one with {@link openCatalog}, and call its operations.
 *
 * @module
 */

export { type AdoptOptions, adoptContent, keepContent } from './catalog/adopt.ts'
export {
  type CopyOptions,
  copyCatalog,
  importTables,
  restoreCatalog,
  verifyCatalog,
} from './catalog/closed-directory.ts'
export { openContent } from './catalog/content-root.ts'
export type { StorageOptionsHook } from './catalog/core.ts'
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
} from './catalog/handle.ts'
export type {
  Items,
  Iteration,
  IterationOptions,
  Listed,
  Named,
  RowsRequest,
} from './catalog/iteration/types.ts'
export type { LocalCatalog } from './catalog/local-handle.ts'
export {
  type CustomCatalogOptions,
  type DatabaseCatalogOptions,
  type DirectoryCatalogOptions,
  type MemoryCatalog,
  type MemorySnapshot,
  openCatalog,
} from './catalog/open.ts'
export type { CatalogOptions } from './catalog/open-core.ts'
export type { ReadOnlyOption } from './catalog/read-only.ts'
export type { OpenTransactionOptions } from './catalog/session-limits.ts'
export type { ServedCatalog } from './client.ts'
export type { Content, ListedObject } from './content/content.ts'
export { CatalogError, type ErrorCode, errorNumbers } from './errors.ts'
export type { AdoptReport } from './maintenance/adopt/report.ts'
export type { BackupOptions, BackupReport } from './maintenance/backup/backup.ts'
export type { RestoreOptions, RestoreReport } from './maintenance/backup/restore.ts'
export type { ExportOptions, ExportReport } from './maintenance/plain-files/export.ts'
export type { ImportOptions, ImportReport } from './maintenance/plain-files/import.ts'
export type { VacuumOptions, VacuumReport } from './maintenance/vacuum.ts'
export type { Finding, VerifyOptions, VerifyProgress, VerifyReport } from './maintenance/verify/report.ts'
export { formatIdentifier, type Identifier, parseIdentifier } from './model/identifier.ts'
export { alterTableAddColumns } from './operations/alter-table-add-columns.ts'
export { alterTableAlterColumns } from './operations/alter-table-alter-columns.ts'
export { alterTableDropColumns } from './operations/alter-table-drop-columns.ts'
export { alterTransaction } from './operations/alter-transaction.ts'
export { analyzeTableQueryPlan } from './operations/analyze-table-query-plan.ts'
export { batchCommitTables } from './operations/batch-commit-tables.ts'
export { batchCreateTableVersions } from './operations/batch-create-table-versions.ts'
export { batchDeleteTableVersions } from './operations/batch-delete-table-versions.ts'
export { beginTransaction } from './operations/begin-transaction.ts'
export { cloneTable } from './operations/clone-table.ts'
export { commitTransaction } from './operations/commit-transaction.ts'
export { countTableRows } from './operations/count-table-rows.ts'
export { createNamespace } from './operations/create-namespace.ts'
export { createTable } from './operations/create-table.ts'
export { createTableBranch } from './operations/create-table-branch.ts'
export { createTableIndex } from './operations/create-table-index.ts'
export { createTableScalarIndex } from './operations/create-table-scalar-index.ts'
export { createTableTag } from './operations/create-table-tag.ts'
export { createTableVersion } from './operations/create-table-version.ts'
export { declareTable } from './operations/declare-table.ts'
export { deleteFromTable } from './operations/delete-from-table.ts'
export { deleteTableBranch } from './operations/delete-table-branch.ts'
export { deleteTableTag } from './operations/delete-table-tag.ts'
export { deregisterTable } from './operations/deregister-table.ts'
export { describeNamespace } from './operations/describe-namespace.ts'
export { describeTable } from './operations/describe-table.ts'
export { describeTableIndexStats } from './operations/describe-table-index-stats.ts'
export { describeTableVersion } from './operations/describe-table-version.ts'
export { describeTransaction } from './operations/describe-transaction.ts'
export { dropNamespace } from './operations/drop-namespace.ts'
export { dropTable } from './operations/drop-table.ts'
export { dropTableIndex } from './operations/drop-table-index.ts'
export { explainTableQueryPlan } from './operations/explain-table-query-plan.ts'
export type { AuthorizeHook } from './operations/framework/authorize.ts'
export type { Operation, OperationOptions, Progress } from './operations/framework/operation.ts'
export { getTableStats } from './operations/get-table-stats.ts'
export { getTableTagVersion } from './operations/get-table-tag-version.ts'
export { type OperationName, operations } from './operations/index.ts'
export { insertIntoTable } from './operations/insert-into-table.ts'
export { listAllTables } from './operations/list-all-tables.ts'
export { listNamespaces } from './operations/list-namespaces.ts'
export { listTableBranches } from './operations/list-table-branches.ts'
export { listTableIndices } from './operations/list-table-indices.ts'
export { listTableTags } from './operations/list-table-tags.ts'
export { listTableVersions } from './operations/list-table-versions.ts'
export { listTables } from './operations/list-tables.ts'
export { listTransactions } from './operations/list-transactions.ts'
export { mergeInsertIntoTable } from './operations/merge-insert-into-table.ts'
export { namespaceExists } from './operations/namespace-exists.ts'
export { optimizeTable } from './operations/optimize-table.ts'
export { queryTable } from './operations/query-table.ts'
export { registerTable } from './operations/register-table.ts'
export { renameTable } from './operations/rename-table.ts'
export { restoreTable } from './operations/restore-table.ts'
export { rollbackTransaction } from './operations/rollback-transaction.ts'
export { tableExists } from './operations/table-exists.ts'
export type * from './operations/types/methods.ts'
export { updateFieldMetadata } from './operations/update-field-metadata.ts'
export { updateTable } from './operations/update-table.ts'
export { updateTableSchemaMetadata } from './operations/update-table-schema-metadata.ts'
export { updateTableTag } from './operations/update-table-tag.ts'
export type { BackgroundOptimize } from './rows/background.ts'
export { checkedKey, compareKeys } from './store/key.ts'
export { type Cut, type Span, spanOf } from './store/range.ts'
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
} from './store/store.ts'
