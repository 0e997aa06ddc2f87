import { alterTableAddColumns } from './alter-table-add-columns.ts'
import { alterTableAlterColumns } from './alter-table-alter-columns.ts'
import { alterTableDropColumns } from './alter-table-drop-columns.ts'
import { alterTransaction } from './alter-transaction.ts'
import { analyzeTableQueryPlan } from './analyze-table-query-plan.ts'
import { batchCommitTables } from './batch-commit-tables.ts'
import { batchCreateTableVersions } from './batch-create-table-versions.ts'
import { batchDeleteTableVersions } from './batch-delete-table-versions.ts'
import { beginTransaction } from './begin-transaction.ts'
import { cloneTable } from './clone-table.ts'
import { commitTransaction } from './commit-transaction.ts'
import { countTableRows } from './count-table-rows.ts'
import { createNamespace } from './create-namespace.ts'
import { createTable } from './create-table.ts'
import { createTableBranch } from './create-table-branch.ts'
import { createTableIndex } from './create-table-index.ts'
import { createTableScalarIndex } from './create-table-scalar-index.ts'
import { createTableTag } from './create-table-tag.ts'
import { createTableVersion } from './create-table-version.ts'
import { declareTable } from './declare-table.ts'
import { deleteFromTable } from './delete-from-table.ts'
import { deleteTableBranch } from './delete-table-branch.ts'
import { deleteTableTag } from './delete-table-tag.ts'
import { deregisterTable } from './deregister-table.ts'
import { describeNamespace } from './describe-namespace.ts'
import { describeTable } from './describe-table.ts'
import { describeTableIndexStats } from './describe-table-index-stats.ts'
import { describeTableVersion } from './describe-table-version.ts'
import { describeTransaction } from './describe-transaction.ts'
import { dropNamespace } from './drop-namespace.ts'
import { dropTable } from './drop-table.ts'
import { dropTableIndex } from './drop-table-index.ts'
import { explainTableQueryPlan } from './explain-table-query-plan.ts'
import { fetchTableBlobs } from './fetch-table-blobs.ts'
import { getLsmWriteSpec } from './get-lsm-write-spec.ts'
import { getTableStats } from './get-table-stats.ts'
import { getTableTagVersion } from './get-table-tag-version.ts'
import { insertIntoTable } from './insert-into-table.ts'
import { listAllTables } from './list-all-tables.ts'
import { listDroppedTables } from './list-dropped-tables.ts'
import { listNamespaces } from './list-namespaces.ts'
import { listTableBranches } from './list-table-branches.ts'
import { listTableIndices } from './list-table-indices.ts'
import { listTableTags } from './list-table-tags.ts'
import { listTableVersions } from './list-table-versions.ts'
import { listTables } from './list-tables.ts'
import { listTransactions } from './list-transactions.ts'
import { mergeInsertIntoTable } from './merge-insert-into-table.ts'
import { namespaceExists } from './namespace-exists.ts'
import { optimizeTable } from './optimize-table.ts'
import { prewarmTableIndex } from './prewarm-table-index.ts'
import { purgeTable } from './purge-table.ts'
import { queryTable } from './query-table.ts'
import { registerTable } from './register-table.ts'
import { renameTable } from './rename-table.ts'
import { restoreTable } from './restore-table.ts'
import { rollbackTransaction } from './rollback-transaction.ts'
import { tableChanges } from './table-changes.ts'
import { tableExists } from './table-exists.ts'
import { undropTable } from './undrop-table.ts'
import { alterTableBackfillColumns, createMaterializedView, refreshMaterializedView } from './unsupported.ts'
import { updateFieldMetadata } from './update-field-metadata.ts'
import { updateNamespaceProperties } from './update-namespace-properties.ts'
import { updateTable } from './update-table.ts'
import { updateTableProperties } from './update-table-properties.ts'
import { updateTableSchemaMetadata } from './update-table-schema-metadata.ts'
import { updateTableTag } from './update-table-tag.ts'

/**
 * All operations by name. Everything that offers operations, such as the handle and transports, walks this record, so
 * that a new one is added here only.
 */
export const operations = {
  createNamespace,
  listNamespaces,
  describeNamespace,
  updateNamespaceProperties,
  dropNamespace,
  namespaceExists,
  createTable,
  cloneTable,
  declareTable,
  registerTable,
  describeTable,
  tableExists,
  listTables,
  listAllTables,
  updateTableProperties,
  renameTable,
  restoreTable,
  deregisterTable,
  dropTable,
  undropTable,
  purgeTable,
  listDroppedTables,
  insertIntoTable,
  deleteFromTable,
  updateTable,
  mergeInsertIntoTable,
  countTableRows,
  queryTable,
  fetchTableBlobs,
  tableChanges,
  explainTableQueryPlan,
  analyzeTableQueryPlan,
  getTableStats,
  updateTableSchemaMetadata,
  alterTableAddColumns,
  alterTableAlterColumns,
  alterTableDropColumns,
  updateFieldMetadata,
  optimizeTable,
  createTableIndex,
  createTableScalarIndex,
  listTableIndices,
  describeTableIndexStats,
  dropTableIndex,
  prewarmTableIndex,
  getLsmWriteSpec,
  listTableVersions,
  describeTableVersion,
  createTableVersion,
  batchCreateTableVersions,
  batchDeleteTableVersions,
  createTableTag,
  updateTableTag,
  getTableTagVersion,
  listTableTags,
  deleteTableTag,
  createTableBranch,
  listTableBranches,
  deleteTableBranch,
  beginTransaction,
  commitTransaction,
  rollbackTransaction,
  describeTransaction,
  listTransactions,
  alterTransaction,
  batchCommitTables,
  alterTableBackfillColumns,
  createMaterializedView,
  refreshMaterializedView,
} as const

export type * from './types/methods.ts'
export {
  alterTableAddColumns,
  alterTableAlterColumns,
  alterTableDropColumns,
  alterTransaction,
  analyzeTableQueryPlan,
  batchCommitTables,
  batchCreateTableVersions,
  batchDeleteTableVersions,
  beginTransaction,
  cloneTable,
  commitTransaction,
  countTableRows,
  createNamespace,
  createTable,
  createTableBranch,
  createTableIndex,
  createTableScalarIndex,
  createTableTag,
  createTableVersion,
  declareTable,
  deleteFromTable,
  deleteTableBranch,
  deleteTableTag,
  deregisterTable,
  describeNamespace,
  describeTable,
  describeTableIndexStats,
  describeTableVersion,
  describeTransaction,
  dropNamespace,
  dropTable,
  dropTableIndex,
  explainTableQueryPlan,
  fetchTableBlobs,
  getLsmWriteSpec,
  getTableStats,
  getTableTagVersion,
  insertIntoTable,
  listAllTables,
  listDroppedTables,
  listNamespaces,
  listTableBranches,
  listTableIndices,
  listTables,
  listTableTags,
  listTableVersions,
  listTransactions,
  mergeInsertIntoTable,
  namespaceExists,
  optimizeTable,
  prewarmTableIndex,
  purgeTable,
  queryTable,
  registerTable,
  renameTable,
  restoreTable,
  rollbackTransaction,
  tableChanges,
  tableExists,
  undropTable,
  updateFieldMetadata,
  updateNamespaceProperties,
  updateTable,
  updateTableProperties,
  updateTableSchemaMetadata,
  updateTableTag,
}

export type OperationName = keyof typeof operations
