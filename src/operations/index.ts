import { alterTransaction } from './alter-transaction.ts'
import { batchCommitTables } from './batch-commit-tables.ts'
import { batchCreateTableVersions } from './batch-create-table-versions.ts'
import { batchDeleteTableVersions } from './batch-delete-table-versions.ts'
import { beginTransaction } from './begin-transaction.ts'
import { commitTransaction } from './commit-transaction.ts'
import { countTableRows } from './count-table-rows.ts'
import { createNamespace } from './create-namespace.ts'
import { createTable } from './create-table.ts'
import { createTableBranch } from './create-table-branch.ts'
import { createTableTag } from './create-table-tag.ts'
import { createTableVersion } from './create-table-version.ts'
import { declareTable } from './declare-table.ts'
import { deleteFromTable } from './delete-from-table.ts'
import { deleteTableBranch } from './delete-table-branch.ts'
import { deleteTableTag } from './delete-table-tag.ts'
import { deregisterTable } from './deregister-table.ts'
import { describeNamespace } from './describe-namespace.ts'
import { describeTable } from './describe-table.ts'
import { describeTableVersion } from './describe-table-version.ts'
import { describeTransaction } from './describe-transaction.ts'
import { dropNamespace } from './drop-namespace.ts'
import { dropTable } from './drop-table.ts'
import { getTableTagVersion } from './get-table-tag-version.ts'
import { insertIntoTable } from './insert-into-table.ts'
import { listAllTables } from './list-all-tables.ts'
import { listNamespaces } from './list-namespaces.ts'
import { listTableBranches } from './list-table-branches.ts'
import { listTableTags } from './list-table-tags.ts'
import { listTableVersions } from './list-table-versions.ts'
import { listTables } from './list-tables.ts'
import { namespaceExists } from './namespace-exists.ts'
import { optimizeTable } from './optimize-table.ts'
import { queryTable } from './query-table.ts'
import { registerTable } from './register-table.ts'
import { renameTable } from './rename-table.ts'
import { restoreTable } from './restore-table.ts'
import { rollbackTransaction } from './rollback-transaction.ts'
import { tableExists } from './table-exists.ts'
import {
  alterTableAddColumns,
  alterTableAlterColumns,
  alterTableBackfillColumns,
  alterTableDropColumns,
  analyzeTableQueryPlan,
  createMaterializedView,
  createTableIndex,
  createTableScalarIndex,
  describeTableIndexStats,
  dropTableIndex,
  explainTableQueryPlan,
  getTableStats,
  listTableIndices,
  mergeInsertIntoTable,
  refreshMaterializedView,
  updateFieldMetadata,
  updateTable,
} from './unsupported.ts'
import { updateTableSchemaMetadata } from './update-table-schema-metadata.ts'
import { updateTableTag } from './update-table-tag.ts'

/**
 * All operations by name. Everything that offers operations (the handle, and what carries them elsewhere)
 * walks this record, so that a new one is added here and nowhere else.
 */
export const operations = {
  createNamespace,
  listNamespaces,
  describeNamespace,
  dropNamespace,
  namespaceExists,
  createTable,
  declareTable,
  registerTable,
  describeTable,
  tableExists,
  listTables,
  listAllTables,
  renameTable,
  restoreTable,
  deregisterTable,
  dropTable,
  insertIntoTable,
  deleteFromTable,
  countTableRows,
  queryTable,
  updateTableSchemaMetadata,
  optimizeTable,
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
  alterTransaction,
  batchCommitTables,
  mergeInsertIntoTable,
  updateTable,
  alterTableAddColumns,
  alterTableAlterColumns,
  alterTableDropColumns,
  alterTableBackfillColumns,
  updateFieldMetadata,
  getTableStats,
  explainTableQueryPlan,
  analyzeTableQueryPlan,
  createTableIndex,
  createTableScalarIndex,
  listTableIndices,
  describeTableIndexStats,
  dropTableIndex,
  createMaterializedView,
  refreshMaterializedView,
} as const

export type OperationName = keyof typeof operations
