/*
 * The documentation of the fields of requests and responses. Editors, the OpenAPI document and the help of commands
 * show it. It is a file of its own, so that callers of operations do not load the texts.
 *
 * A key is the name of a field, whichever operation has it. `renameTable.id` is for one operation only, and wins.
 * Fields of objects inside are named in the same way, by their own name.
 */

type Docs = Readonly<Record<string, string>>

const indexSearch = 'How to search an index, for other implementations: it changes nothing.'
const textParameter = 'A parameter of a full-text index of a table of Lance, as LanceDB names it.'
const tuning =
  'How much of an index of vectors a search looks at, in a table of Lance. Other tables compare every vector.'
const indexParameter = 'A parameter of the index, which is recorded and changes no answer.'
const indexName = 'The name of the index. Default: that of the column, and `_idx`.'

const requests: Docs = {
  id: 'The table: its names from the root down, such as `["prod", "flights"]`.',
  'id:namespace': 'The namespace: its names from the root down, such as `["prod", "eu"]`. `[]` is the root.',
  'id:transaction': 'The transaction: its `transaction_id`, alone or after the names of its table.',
  context: 'Entries for the catalog. Over HTTP, an entry `header.NAME` is sent as the header NAME.',
  identity: 'Who asks, as the request says it. The `authorize` hook sees it; it authenticates nobody.',
  api_key: 'The key that the caller claims to have.',
  auth_token: 'The token that the caller claims to have.',
  branch: 'The branch to work on. Default: the main branch.',
  version: 'The version to work on. Default: the latest.',
  tag: 'The tag of the version to work on, in place of `version`.',
  at: 'A time, such as `2026-11-01T00:00:00Z` or a `Date`, in place of `version`: the newest version that was made until then.',
  predicate: 'An SQL predicate, such as `delay > 60`.',
  filter: 'An SQL predicate, such as `delay > 60`: only the rows that it holds for. Default: all rows.',
  properties: 'Properties to keep: pairs of strings.',
  metadata: 'Metadata to keep: pairs of strings.',
  storage_options:
    'Options for the storage: pairs of strings. Taken for other implementations; not used here.',
  vend_credentials:
    'Whether to answer with credentials for the location, as `storage_options`. Default: false.',
  location: 'The URL where the content lies.',
  data: 'The rows: Arrow IPC bytes (stream or file), an Arrow table, or a list of objects.',
  schema:
    'The columns of row objects: an Arrow schema, its JSON form, or Arrow IPC bytes that have it. Default: those of the table, or inferred from the rows.',
  limit: 'The most items of this page. Default: 1,000; more than 10,000 count as 10,000.',
  page_token: 'The `page_token` of the page before. Absent, the listing starts from its beginning.',
  start_after: 'The name after which a listing without `page_token` begins. Not part of the protocol.',
  include_declared: 'Whether tables that are only declared are listed. Default: true.',
  delimiter: 'The text between the names of identifiers in the answer: 1 to 8 characters. Default: `$`.',
  recursive:
    'Whether tables in the namespaces below are listed, too. Default: true. Not part of the protocol.',

  'createNamespace.mode':
    'What to do when it exists: `Create` fails (the default), `ExistOk` leaves it, `Overwrite` drops it with all that is in it and creates it anew.',
  'dropNamespace.mode': 'What to do when it does not exist: `Fail` (the default) or `Skip`.',
  behavior:
    'What to do when it is not empty: `Restrict` fails (the default), `Cascade` drops all that is in it.',
  'createTable.mode':
    'What to do when it exists: `Create` fails (the default), `ExistOk` leaves it, `Overwrite` creates it anew.',
  'registerTable.mode':
    'What to do when it exists: `Create` fails (the default), `Overwrite` deregisters the table that is there.',
  'insertIntoTable.mode':
    '`Append` adds the rows (the default). `Overwrite` replaces all rows, and the columns, too.',
  'declareTable.location': 'The URL where the content lies or will lie. Default: the catalog chooses one.',
  'describeTable.version': 'The version to describe. Default: the latest.',
  'describeTable.tag': 'The tag of the version to describe, in place of `version`.',
  'describeTable.branch': 'The branch to describe. Default: the main branch.',
  with_table_uri: 'Whether to answer with `table_uri`. Default: false.',
  load_detailed_metadata:
    'Whether to answer with version, schema, statistics and metadata, too. Default: false.',
  check_declared: 'Whether to answer with `is_only_declared`. Default: false.',
  'cloneTable.id': 'The new table: its names from the root down, such as `["dev", "flights"]`.',
  'cloneTable.properties':
    'Properties of the new table: pairs of strings. Default: those of the table that is cloned.',
  'cloneTable.source': 'The table to clone: its names from the root down. Give it, or `source_location`.',
  source_location: 'Where the table to clone lies, as `describeTable` answers it, in place of `source`.',
  source_version: 'The version to clone. Default: the latest.',
  source_tag: 'The tag of the version to clone, in place of `source_version`.',
  source_at: 'A time, in place of `source_version`: the newest version that was made until then.',
  source_branch: 'The branch that has the version to clone. Default: the main branch.',
  is_shallow: 'Whether the new table shares the files of the version. `false` copies them. Default: true.',
  purge: 'Whether the table is removed for good at once, where dropped tables are held. Default: false.',
  table_id:
    'The internal id of the dropped table, as `listDroppedTables` answers it. Default: the one dropped last.',
  'purgeTable.table_id':
    'The internal id of the dropped table, as `listDroppedTables` answers it. Default: all that had the name.',
  'undropTable.id': 'The table as it was called: its names from the root down.',
  'purgeTable.id': 'The table as it was called: its names from the root down.',
  'undropTable.new_table_name': 'Another name for the table. Default: the one that it had.',
  'undropTable.new_namespace_id':
    'Another namespace for the table; `[]` is the root. Default: the one that it was in.',
  new_table_name: 'The new name of the table.',
  new_namespace_id: 'The namespace to move to; `[]` is the root. Default: the table stays in its namespace.',
  'restoreTable.version': 'The version whose rows come back. Give it, a `tag`, or `at`.',
  'restoreTable.tag': 'The tag of the version whose rows come back, in place of `version`.',
  'countTableRows.predicate': 'An SQL predicate, such as `delay > 60`. Default: all rows are counted.',
  columns:
    'The columns to read: a list of names and paths, or an object with `column_names` or `column_aliases`. Default: all.',
  column_names: 'The columns to read, in this order; nested ones by their path, such as `item.price`.',
  column_aliases: 'The columns to read, as pairs of a new name and the name or path in the table.',
  'queryTable.limit': 'The most rows to read. Default: all.',
  k: 'Another name of `limit`.',
  offset: 'How many rows to pass over first. Default: none.',
  full_text_query:
    'Words to search for, by a full-text index of a table of Lance: a text, `{ query, columns }`, or clauses such as `{ query: { phrase: { column, terms } } }`.',
  nprobes: tuning,
  minimum_nprobes: tuning,
  maximum_nprobes: tuning,
  refine_factor: tuning,
  ef: tuning,
  bypass_vector_index: 'Whether every vector is compared, also where a table of Lance has an index of them.',
  fast_search: 'Whether rows that no index of a table of Lance covers are left out.',
  order_by:
    'Keys to sort by, the first one first: `{ column_name, ascending, nulls_first }`, or text such as `delay desc`. Default: the order of inserting.',
  from: 'The version to compare with: a number, a tag, a branch, `latest`, a time, or a number or time on a branch, such as `dev@3`.',
  to: 'The version whose changes are told, named as `from` is. Default: the latest.',
  'tableChanges.on':
    'The columns whose values tell rows apart: a name, or a list of them. Default: no row is known to be updated.',
  'tableChanges.columns': 'The columns to compare, and to answer. Default: all of the later version.',
  'tableChanges.limit': 'The most rows to read. Default: all.',
  with_row_id: 'Whether to answer with `_rowid`, too, which names rows. Default: false.',
  target_rows: 'The most rows of a merged fragment. Default: 1,048,576.',
  target_bytes: 'About the most bytes of a merged fragment. Default: 128 MiB.',
  min_deleted_share: 'Fragments with this share of deleted rows, 0 to 1, are written anew. Default: 0.1.',
  'listTableVersions.at':
    'A time, such as `2026-11-01T00:00:00Z` or a `Date`: versions that were made later are left out.',
  descending: 'Whether the latest version comes first. Default: false.',
  'createTableVersion.version': 'The number of the new version: the latest and one.',
  'batchCreateTableVersions.version': 'The number of the new version: the latest and one.',
  manifest_path: 'The path of the manifest, relative to the location of the table.',
  manifest_size: 'How many bytes the manifest has.',
  e_tag: 'The entity tag of the manifest, as the storage reported it.',
  naming_scheme: 'How manifests of the table are named, as its writer calls it.',
  entries: 'The versions to create; all of them, or none.',
  ranges: 'The ranges of versions to delete.',
  start_version: 'The first version of the range.',
  end_version: 'The version after the range. −1: all through the latest.',
  'createTableTag.tag': 'The name of the new tag.',
  'createTableTag.version': 'The version that the tag names. Give it, or `at`.',
  'createTableTag.branch': 'The branch that has the version. Default: the main branch.',
  'updateTableTag.tag': 'The name of the tag.',
  'updateTableTag.version': 'The version that the tag names from now on. Give it, or `at`.',
  'updateTableTag.branch': 'The branch that has the version. Default: the main branch.',
  'deleteTableTag.tag': 'The name of the tag.',
  'getTableTagVersion.tag': 'The name of the tag.',
  'createTableBranch.name': 'The name of the new branch.',
  'deleteTableBranch.name': 'The name of the branch.',
  from_branch: 'The branch to start from. Default: the main branch.',
  from_at: 'A time, in place of `from_version`: the newest version that was made until then.',
  from_version: 'The version to start from. Default: the latest.',
  isolation:
    'What the commit compares: `Serializable`, all that was read (the default), or `ReadCommitted`, what changes looked at.',
  retry_of:
    'The id of a transaction that ended without a commit, and that this one does again. After lost races, it takes turns.',
  idle_timeout_seconds: 'The transaction expires after so many seconds without a request. Default: 60.',
  failure: 'Why the transaction is given up, for its record.',
  failure_code: 'The error code of the failure, such as `InvalidInput`.',
  actions: 'What to change; all of it, or nothing.',
  setStatusAction: 'Sets the status: `Canceled` stops the transaction.',
  setPropertyAction: 'Sets a property.',
  unsetPropertyAction: 'Removes a property.',
  status: 'The new status.',
  key: 'The name of the property.',
  value: 'The value of the property.',
  'listTransactions.status': 'Only transactions with one of these statuses. Default: all.',
  since_millis:
    'Only transactions that began at this time or later, in milliseconds since 1970. Default: all that are recorded.',
  'listTransactions.limit':
    'The most transactions of this page. Default: 1,000; more than 10,000 count as 10,000.',
  with_transactions:
    'Whether each version comes with the transaction that made it, and its operation. Default: false. Not part of the protocol.',
  'alterTransaction.mode':
    'What to do when the property is there: `Overwrite` (the default), `Fail` or `Skip`.',
  operations: 'The operations to commit, in order. Each is an object with one of the members.',
  declare_table: 'Declares a table, as `declareTable` does.',
  create_table_version: 'Creates a version, as `createTableVersion` does.',
  delete_table_versions: 'Deletes versions, as `batchDeleteTableVersions` does.',
  deregister_table: 'Deregisters a table, as `deregisterTable` does.',

  'updateTable.updates':
    'Pairs of a column and an SQL expression for its new value, such as `["delay", "delay + 5"]`. Each sees the row as it was.',
  on: 'The columns that rows are matched by: a name or field path, or a list of them.',
  when_matched_update_all:
    'Whether rows of the table that match get the values of the rows that are sent. Default: false.',
  when_matched_update_all_filt:
    'A condition for that, with columns as `source.x` and `target.x`. Default: all that match.',
  when_matched_delete: 'Whether rows of the table that match are deleted instead. Default: false.',
  when_not_matched_insert_all: 'Whether rows that match none of the table are inserted. Default: false.',
  when_not_matched_by_source_delete:
    'Whether rows of the table that match none of those sent are deleted. Default: false.',
  when_not_matched_by_source_delete_filt:
    'An SQL predicate for that, on the columns of the table. Default: all that match none.',
  timeout: 'How long it may take, such as `30s` or `2m`. Then nothing changes. Default: no limit.',
  use_index: 'Taken for other implementations; rows are found by an index of their keys, or by a hash.',

  vector: 'The vector to search for, or several; the nearest rows come first, with their `_distance`.',
  vector_column: 'The column of vectors to search. Default: the only one that fits the vector.',
  distance_type:
    'How distances are measured: `l2`, `cosine`, `dot` or `hamming`. Default: `l2`, and `hamming` for uint8.',
  lower_bound: 'Only rows at this distance or farther.',
  upper_bound: 'Only rows nearer than this.',
  prefilter:
    'Whether the search is among the rows that match `filter`; otherwise the rows found are filtered. Default: true.',
  query: 'The fields of a query, as for `queryTable`.',
  verbose: 'Taken for other implementations; a plan has all its steps.',
  approx_mode: indexSearch,
  search_effort: indexSearch,
  use_lsm: indexSearch,
  use_rte: indexSearch,

  new_columns: 'The columns to add, in this order.',
  'alterTableAddColumns.name': 'The name of the new column.',
  'alterTableAddColumns.schema':
    'An Arrow schema, its JSON form, or Arrow IPC bytes that have it: its columns are added, null in all rows.',
  expression:
    'An SQL expression over the columns that are there, such as `delay > 60`. Absent: the column is null at first.',
  data_type: 'The type, as JSON such as `{ type: "int64" }`, or its name.',
  'alterTableAddColumns.nullable': 'Whether the column may be null. Default: true.',
  computed: 'Refused: columns that a backfill computes.',
  virtual_column: 'Refused: columns that functions of users compute.',
  alterations: 'What to change, all at once. Paths are those before the change.',
  'alterTableAlterColumns.path': 'The column, or the path of a field of a struct.',
  rename: 'The new name. Default: the name stays.',
  nullable: 'Whether it may be null. Default: as it is.',
  'alterTableDropColumns.columns': 'The columns to drop, or paths of fields of structs.',
  updates: 'The properties to set: pairs of strings. The others stay.',
  removals: 'The names of properties to remove.',
  'updateFieldMetadata.updates': 'The changes, each for one field.',
  'updateFieldMetadata.path': 'The column, or the path of a field within one.',
  'updateFieldMetadata.metadata': 'Pairs to set. A value of null takes the key away.',
  'updateFieldMetadata.replace': 'Whether the pairs replace all that the field has. Default: false.',

  'fetchTableBlobs.column': 'The column of blobs, or the path of a field of a struct.',
  row_ids: 'The ids of rows, as `with_row_id` of a query answers them.',
  column: 'The column to index, or the path of a field of a struct.',
  index_type: 'The type of the index, such as `BTREE` or `IVF_PQ`.',
  index_name: 'The name of the index.',
  'createTableIndex.name': indexName,
  'createTableScalarIndex.name': indexName,
  replace: 'Whether an index of that name on the same column is replaced. Default: true.',
  num_partitions: indexParameter,
  num_sub_vectors: indexParameter,
  num_bits: indexParameter,
  sample_rate: indexParameter,
  max_iterations: indexParameter,
  target_partition_size: indexParameter,
  m: indexParameter,
  ef_construction: indexParameter,
  with_position: textParameter,
  base_tokenizer: textParameter,
  language: textParameter,
  max_token_length: textParameter,
  lower_case: textParameter,
  stem: textParameter,
  remove_stop_words: textParameter,
  custom_stop_words: textParameter,
  ascii_folding: textParameter,
  min_ngram_length: textParameter,
  max_ngram_length: textParameter,
  prefix_only: textParameter,
  block_size: textParameter,
}

const responses: Docs = {
  lsm_write_spec:
    'How writers that gather rows in memory share them out. Null where none is set up, as in all of our own tables.',
  sharding: 'Which shard takes a row.',
  'getLsmWriteSpec.mode':
    'Whether all rows go to one shard, or to shards by the hash or by the value of a column.',
  'getLsmWriteSpec.column': 'The column that tells the shard of a row.',
  num_buckets: 'How many shards there are, where a hash tells the shard.',
  maintained_indexes: 'The names of the indexes that these writers keep up to date.',
  writer_config_defaults: 'The settings of these writers: pairs of strings.',
  context: 'Entries of the catalog. Over HTTP, each header is an entry `header.NAME`.',
  transaction_id: 'The id of the transaction that made the change; `describeTransaction` describes it.',
  page_token: 'What to give as `page_token` for the next page. Absent on the last page.',
  properties: 'The properties: pairs of strings.',
  missing: 'The names to remove that were not there.',
  metadata: 'The metadata: pairs of strings.',
  namespaces: 'The names of the namespaces of this page.',
  tables: 'The tables of this page, each as its names joined by the delimiter.',
  dropped: 'The dropped tables of this page.',
  'listDroppedTables.id': 'The names that the table had, from the root down.',
  'undropTable.id': 'The names that the table has now, from the root down.',
  table_id: 'The internal id of the table, which distinguishes dropped tables of one name.',
  dropped_at: 'When the table was dropped, as ISO 8601.',
  retained_until: 'Until when the table is held, as ISO 8601.',
  purged: 'How many dropped tables were removed for good.',
  location: 'The URL where the content lies.',
  storage_options: 'Credentials and options for the location, where they were asked for.',
  version: 'The version that has the change.',
  id: 'The names of the table from the root down.',
  table: 'The name of the table.',
  namespace: 'The names of its namespace from the root down.',
  table_uri: 'The URI of the table, where it was asked for.',
  'describeTable.version': 'The version that is described.',
  'describeTable.schema': 'The columns, in the JSON form of Arrow schemas.',
  'describeTable.metadata': 'The metadata of the schema: pairs of strings.',
  stats: 'Statistics of the version.',
  num_deleted_rows: 'How many rows were deleted.',
  'describeTable.num_deleted_rows': 'How many rows are deleted, and still in the files.',
  retention: 'The rule by which old versions go, if there is one: that of the table, or else of the catalog.',
  'describeTable.versions': 'How many of the newest versions of each branch stay.',
  age: 'How long a version stays after it was replaced, in milliseconds.',
  num_fragments: 'How many fragments the rows lie in.',
  managed_versioning: 'Whether clients of Lance are to keep its versions through the catalog.',
  is_only_declared: 'Whether the table has no rows yet, where that was asked for.',
  num_inserted_rows: 'How many rows were inserted.',
  count: 'How many rows there are.',
  data: 'The rows, as an Arrow IPC file.',
  optimized: 'Whether there was something to do.',
  'optimizeTable.version':
    'The version that has the merged fragments; the latest one when there was nothing to do.',
  rows: 'How many rows the table has.',
  rewritten_rows: 'How many rows were written anew.',
  fragments_before: 'How many fragments the table had.',
  fragments_after: 'How many fragments the table has now.',
  bytes_before: 'How many bytes the fragments had.',
  bytes_after: 'How many bytes the fragments have now.',
  repaired_index_files: 'How many files of indexes were missing or damaged, and were replaced.',
  versions: 'The versions.',
  'listTableVersions.version': 'The number of the version.',
  'describeTableVersion.version': 'The version.',
  'createTableVersion.version': 'The version that was created.',
  'batchCreateTableVersions.version': 'The number of the version.',
  manifest_path: 'The path of the manifest, relative to the location of the table.',
  manifest_size: 'How many bytes the manifest has.',
  e_tag: 'The entity tag of the manifest, as the storage reported it.',
  timestamp_millis: 'When the version was made, in milliseconds since 1970.',
  deleted_count: 'How many versions were deleted.',
  'getTableTagVersion.version': 'The version that the tag names.',
  'getTableTagVersion.branch': 'The branch that has the version. Absent for the main branch.',
  tags: 'The tags of this page, by name.',
  'listTableTags.branch': 'The branch that has the version. Absent for the main branch.',
  'listTableTags.version': 'The version that the tag names.',
  manifestSize: 'How many bytes the manifest of the version has.',
  branches: 'The branches of this page, by name.',
  parentBranch: 'The branch that it began from. Absent for the main branch.',
  parentVersion: 'The version that it began with.',
  createAt: 'When it was created, in seconds since 1970.',
  'beginTransaction.transaction_id': 'The id of the transaction, for the option `transaction` of operations.',
  'commitTransaction.transaction_id': 'The id of the transaction.',
  'dropNamespace.transaction_id': 'The id of the transaction that made the change, in a list.',
  idle_timeout_seconds: 'The transaction expires after so many seconds without a request.',
  status: 'The status of the transaction.',
  transactions: 'The transactions of this page, the newest first.',
  'listTransactions.transaction_id': 'The id of the transaction.',
  'listTransactions.operation': 'What it does, such as `DeleteFromTable`.',
  'listTransactions.subject':
    'The names of the table or namespace that it changes, as they were. Empty where it changes several.',
  'listTransactions.created_at': 'When it began, as ISO 8601.',
  'listTransactions.properties': 'The properties that callers set: pairs of strings.',
  'listTransactions.changes':
    'What it changed, as the feed tells it: the first five changes that the caller may see.',
  'listTransactions.num_changes':
    'How many changes the caller may see. Absent, as `changes` is, where they do not fit the record of the transaction.',
  'listTransactions.kind': 'Whether it changed a namespace or a table.',
  'listTransactions.effect': 'What became of it: `created`, `replaced`, `changed`, `moved` or `removed`.',
  'listTransactions.to': 'The names where it lies now, if it was moved.',
  'listTransactions.branch': 'The branch of these versions. Absent for the main branch.',
  'listTransactions.first': 'The first of the new versions.',
  'listTransactions.last': 'The last of the new versions.',
  finished_at: 'When it ended, as ISO 8601. Absent while it is under way.',
  failure: 'Why it failed, where it did.',
  failure_code: 'The error code of the failure.',
  'listTableVersions.transaction_id':
    'The id of the transaction that made the version, where that was asked for and the catalog made it.',
  'listTableVersions.operation':
    'What made the version, such as `InsertIntoTable`, where that was asked for and is still recorded.',
  results: 'The answers in the order of the operations, each under the member that its operation had.',
  declare_table: 'The answer of `declareTable`.',
  create_table_version: 'The answer of `createTableVersion`.',
  delete_table_versions: 'The answer of `batchDeleteTableVersions`.',
  deregister_table: 'The answer of `deregisterTable`.',

  updated_rows: 'How many rows were updated.',
  num_updated_rows: 'How many rows were updated.',
  plan: 'The steps of the query, one a line. The text may change from version to version.',
  analysis: 'The steps of the query with their rows and times. The text may change from version to version.',
  total_bytes: 'The bytes of the fragments, without manifests, deletions and indexes.',
  'getTableStats.num_rows': 'The rows of the version.',
  num_indices: 'How many indexes there are.',
  fragment_stats: 'How many fragments there are, and how many rows they have.',
  num_small_fragments: 'How many of them have fewer than 100,000 rows.',
  lengths: 'How many rows fragments have.',
  'getTableStats.min': 'The fewest.',
  'getTableStats.max': 'The most.',
  mean: 'The mean, rounded down.',
  p25: 'A quarter of the fragments have at most so many.',
  p50: 'Half of the fragments have at most so many.',
  p75: 'Three quarters of the fragments have at most so many.',
  p99: 'All but one in a hundred have at most so many.',
  fields: 'The metadata of each changed field, by its path.',
  indexes: 'The indexes, by name.',
  index_name: 'The name of the index.',
  index_uuid: 'An id that no other index has.',
  'listTableIndices.columns': 'The column that the index is on.',
  index_type: 'The type of the index.',
  'describeTableIndexStats.distance_type': 'How the index measures distances, for an index on vectors.',
  num_indexed_rows: 'How many rows are in fragments that have the index, or that are too small to need it.',
  num_unindexed_rows: 'How many rows are scanned instead, until the table is optimized.',
  size_bytes: 'The bytes that the index takes: none if it is a record only.',
  num_segments: 'The files of the index: none if it is a record only.',
  created_at: 'When it was created, as ISO 8601.',
  index_details: 'Its parameters, as JSON.',
  index_version: 'The version of the files of an index that Lance made.',
  type_url: 'The type of what describes an index that Lance made, precisely.',
}

/** What an operation has that its fields' texts depend on. */
interface Described {
  readonly name: string
  readonly command?: { readonly id?: string | undefined } | undefined
}

/** What a field of an operation's request, or of an object in it, is for. */
export function requestDoc({ name, command }: Described, field: string): string | undefined {
  const kind = field === 'id' && command?.id !== undefined ? `id:${command.id}` : field
  return requests[`${name}.${field}`] ?? requests[kind] ?? requests[field]
}

/** What a field of an operation's response, or of an object in it, holds. */
export function responseDoc({ name }: Described, field: string): string | undefined {
  return responses[`${name}.${field}`] ?? responses[field]
}
