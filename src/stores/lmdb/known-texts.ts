/**
 * The texts that a compact value names by their number: members of records, and values that many records have. The order
 * is part of the format. So add further texts at the end only, together with a new format of catalogs: older releases
 * cannot read them.
 */
export const knownTexts: readonly string[] = [
  // The most frequent ones come first: their numbers take one byte.
  ...['v', 'id', 'created_at', 'status', 'operation', 'subject', 'subject_id', 'finished_at', 'properties'],
  ...['transaction', 'time', 'changes', 'kind', 'effect', 'Succeeded', 'table', 'namespace', 'created'],
  ...['changed', 'removed', 'moved', 'replaced', 'main', 'latest', 'last', 'versions', 'first'],
  ...['manifest_path', 'manifest_size', 'e_tag', 'timestamp_millis', 'naming_scheme', 'transaction_id'],
  ...['rows', 'bases', 'metadata', 'staging_path', 'request_key', 'location', 'registered', 'dropped'],
  ...['parent', 'name', 'head', 'branch', 'version', 'parent_branch', 'parent_version', 'tags', 'branches'],
  ...['principal', 'request_id', 'parts', 'removed_versions', 'removed_tags', 'removed_branches', 'to'],
  ...['subject_ids', 'lease_until', 'failure', 'at', 'until', 'DeclareTable', 'CreateTable', 'DropTable'],
  ...['InsertIntoTable', 'DeleteFromTable', 'UpdateTable', 'MergeInsertIntoTable', 'CreateNamespace'],
  ...['DropNamespace', 'CreateTableVersion', 'CreateTableTag', 'RegisterTable', 'RenameTable'],
  // The numbers of those from here on take two bytes.
  ...['DeregisterTable', 'UndropTable', 'CloneTable', 'RestoreTable', 'OptimizeTable', 'CreateTableBranch'],
  ...['DeleteTableBranch', 'DeleteTableTag', 'UpdateTableTag', 'UpdateTableProperties'],
  ...['UpdateNamespaceProperties', 'UpdateTableSchemaMetadata', 'UpdateFieldMetadata', 'Transaction'],
  ...['AlterTableAddColumns', 'AlterTableDropColumns', 'AlterTableAlterColumns', 'BatchCommitTables'],
  ...['BatchCreateTableVersions', 'BatchDeleteTableVersions', 'code', 'message', 'session', 'owner'],
  ...['server', 'lost', 'races', 'outlasted', 'url', 'instance', 'machine', 'Queued', 'Running', 'Failed'],
  ...['Canceled', 'spans', 'removing', 'source', 'clone', 'path', 'request', 'answer', 'holder', 'size'],
  ...['deflated', 'origin'],
]
