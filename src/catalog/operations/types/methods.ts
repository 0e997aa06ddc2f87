import type { JsonArrowSchema, JsonArrowType, RowsInput, SchemaInput } from '../../../engine/arrow/types.ts'
import type { OperationOptions } from '../framework/operation.ts'

/*
 * What each operation takes and answers with, and the methods of a handle. Derived from the definitions of the
 * operations and from `field-docs.ts` by `npm run derive`.
 */

export type {
  ArrowTable,
  JsonArrowField,
  JsonArrowSchema,
  JsonArrowType,
  RowsInput,
  SchemaInput,
} from '../../../engine/arrow/types.ts'

/** The columns to read, by name or under other names. */
export interface ColumnSelection {
  /** The columns to read, in this order; nested ones by their path, such as `item.price`. */
  readonly column_names?: readonly string[] | null | undefined
  /** The columns to read, as pairs of a name in the answer, and a name, path or expression. */
  readonly column_aliases?: Readonly<Record<string, string>> | null | undefined
}

/** A key to sort by; as text, `delay desc nulls first`. */
export type OrderKey =
  | string
  | {
      /** The column, or the path of a field of a struct. */
      readonly column_name: string
      /** Whether values ascend. Default: true. */
      readonly ascending?: boolean | null | undefined
      /** Whether nulls come first. Default: false. */
      readonly nulls_first?: boolean | null | undefined
    }

/** A vector to search for, or several. */
export type VectorInput =
  | readonly number[]
  | readonly (readonly number[])[]
  | {
      /** One vector. */
      readonly single_vector?: readonly number[] | null | undefined
      /** Several vectors. Each is searched for by itself. */
      readonly multi_vector?: readonly (readonly number[])[] | null | undefined
    }

// The derived part: operations

/** What every request may have. */
export interface RequestFields {
  /** Who asks, as the request says it. The `authorize` hook sees it; it authenticates nobody. */
  readonly identity?:
    | {
        /** The key that the caller claims to have. */
        readonly api_key?: string | null | undefined
        /** The token that the caller claims to have. */
        readonly auth_token?: string | null | undefined
      }
    | null
    | undefined
  /** Entries for the catalog. Over HTTP, an entry `header.NAME` is sent as the header NAME. */
  readonly context?: Readonly<Record<string, string>> | null | undefined
}

/** What every answer may have. */
export interface ResponseFields {
  /** Entries of the catalog. Over HTTP, each header is an entry `header.NAME`. */
  context?: Readonly<Record<string, string>> | undefined
}

/** A version of a table. */
export interface TableVersion {
  /** The number of the version. */
  version: number
  /** The path of the manifest, relative to the location of the table. */
  manifest_path: string
  /** How many bytes the manifest has. */
  manifest_size?: number | undefined
  /** The entity tag of the manifest, as the storage reported it. */
  e_tag?: string | undefined
  /** When the version was made, in milliseconds since 1970. */
  timestamp_millis?: number | undefined
  /** The metadata: pairs of strings. */
  metadata?: Readonly<Record<string, string>> | undefined
}

/** What `createNamespace` takes. */
export interface CreateNamespaceRequest extends RequestFields {
  /** The namespace: its names from the root down, such as `["prod", "eu"]`. `[]` is the root. */
  readonly id: readonly string[]
  /** What to do when it exists: `Create` fails (the default), `ExistOk` leaves it, `Overwrite` drops it with all that is in it and creates it anew. */
  readonly mode?: 'Create' | 'ExistOk' | 'Overwrite' | (string & {}) | null | undefined
  /** Properties to keep: pairs of strings. */
  readonly properties?: Readonly<Record<string, string>> | null | undefined
}

/** What `createNamespace` answers with. */
export interface CreateNamespaceResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** The properties: pairs of strings. */
  properties?: Readonly<Record<string, string>> | undefined
}

/** What `listNamespaces` takes. */
export interface ListNamespacesRequest extends RequestFields {
  /** The namespace: its names from the root down, such as `["prod", "eu"]`. `[]` is the root. */
  readonly id: readonly string[]
  /** The `page_token` of the page before. Absent, the listing starts from its beginning. */
  readonly page_token?: string | null | undefined
  /** The most items of this page. Default: 1,000; more than 10,000 count as 10,000. */
  readonly limit?: number | null | undefined
  /** The name after which a listing without `page_token` begins. Not part of the protocol. */
  readonly start_after?: string | null | undefined
}

/** What `listNamespaces` answers with. */
export interface ListNamespacesResponse extends ResponseFields {
  /** The names of the namespaces of this page. */
  namespaces: string[]
  /** What to give as `page_token` for the next page. Absent on the last page. */
  page_token?: string | undefined
}

/** What `describeNamespace` takes. */
export interface DescribeNamespaceRequest extends RequestFields {
  /** The namespace: its names from the root down, such as `["prod", "eu"]`. `[]` is the root. */
  readonly id: readonly string[]
}

/** What `describeNamespace` answers with. */
export interface DescribeNamespaceResponse extends ResponseFields {
  /** The properties: pairs of strings. */
  properties: Readonly<Record<string, string>>
}

/** What `dropNamespace` takes. */
export interface DropNamespaceRequest extends RequestFields {
  /** The namespace: its names from the root down, such as `["prod", "eu"]`. `[]` is the root. */
  readonly id: readonly string[]
  /** What to do when it does not exist: `Fail` (the default) or `Skip`. */
  readonly mode?: 'Fail' | 'Skip' | (string & {}) | null | undefined
  /** What to do when it is not empty: `Restrict` fails (the default), `Cascade` drops all that is in it. */
  readonly behavior?: 'Restrict' | 'Cascade' | (string & {}) | null | undefined
}

/** What `dropNamespace` answers with. */
export interface DropNamespaceResponse extends ResponseFields {
  /** The properties: pairs of strings. */
  properties?: Readonly<Record<string, string>> | undefined
  /** The id of the transaction that made the change, in a list. */
  transaction_id?: string[] | undefined
}

/** What `namespaceExists` takes. */
export interface NamespaceExistsRequest extends RequestFields {
  /** The namespace: its names from the root down, such as `["prod", "eu"]`. `[]` is the root. */
  readonly id: readonly string[]
}

/** What `namespaceExists` answers with. */
export interface NamespaceExistsResponse extends ResponseFields {}

/** What `createTable` takes. */
export interface CreateTableRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** What to do when it exists: `Create` fails (the default), `ExistOk` leaves it, `Overwrite` creates it anew. */
  readonly mode?: 'Create' | 'ExistOk' | 'Overwrite' | (string & {}) | null | undefined
  /** Properties to keep: pairs of strings. */
  readonly properties?: Readonly<Record<string, string>> | null | undefined
  /** Options for the storage: pairs of strings. Taken for other implementations; not used here. */
  readonly storage_options?: Readonly<Record<string, string>> | null | undefined
  /** The rows: Arrow IPC bytes (stream or file), an Arrow table, or a list of objects. */
  readonly data: RowsInput
  /** The columns of row objects: an Arrow schema, its JSON form, or Arrow IPC bytes that have it. Default: those of the table, or inferred from the rows. */
  readonly schema?: SchemaInput | null | undefined
}

/** What `createTable` answers with. */
export interface CreateTableResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** The URL where the content lies. */
  location: string
  /** The version that has the change. */
  version: number
  /** The properties: pairs of strings. */
  properties: Readonly<Record<string, string>>
  /** Credentials and options for the location, where they were asked for. */
  storage_options?: Readonly<Record<string, string>> | undefined
}

/** What `cloneTable` takes. */
export interface CloneTableRequest extends RequestFields {
  /** The new table: its names from the root down, such as `["dev", "flights"]`. */
  readonly id: readonly string[]
  /** The table to clone: its names from the root down. Give it, or `source_location`. */
  readonly source?: readonly string[] | null | undefined
  /** Where the table to clone lies, as `describeTable` answers it, in place of `source`. */
  readonly source_location?: string | null | undefined
  /** The version to clone. Default: the latest. */
  readonly source_version?: number | null | undefined
  /** The tag of the version to clone, in place of `source_version`. */
  readonly source_tag?: string | null | undefined
  /** The branch that has the version to clone. Default: the main branch. */
  readonly source_branch?: string | null | undefined
  /** Whether the new table shares the files of the version. `false` copies them. Default: true. */
  readonly is_shallow?: boolean | null | undefined
  /** Properties of the new table: pairs of strings. Default: those of the table that is cloned. */
  readonly properties?: Readonly<Record<string, string>> | null | undefined
}

/** What `cloneTable` answers with. */
export interface CloneTableResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** The URL where the content lies. */
  location: string
  /** The version that has the change. */
  version: number
  /** The properties: pairs of strings. */
  properties: Readonly<Record<string, string>>
}

/** What `declareTable` takes. */
export interface DeclareTableRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The URL where the content lies or will lie. Default: the catalog chooses one. */
  readonly location?: string | null | undefined
  /** Whether to answer with credentials for the location, as `storage_options`. Default: false. */
  readonly vend_credentials?: boolean | null | undefined
  /** Properties to keep: pairs of strings. */
  readonly properties?: Readonly<Record<string, string>> | null | undefined
}

/** What `declareTable` answers with. */
export interface DeclareTableResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** The URL where the content lies. */
  location: string
  /** Credentials and options for the location, where they were asked for. */
  storage_options?: Readonly<Record<string, string>> | undefined
  /** The properties: pairs of strings. */
  properties: Readonly<Record<string, string>> | null
  /** Whether clients of Lance are to keep its versions through the catalog. */
  managed_versioning?: boolean | undefined
}

/** What `registerTable` takes. */
export interface RegisterTableRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The URL where the content lies. */
  readonly location: string
  /** What to do when it exists: `Create` fails (the default), `Overwrite` deregisters the table that is there. */
  readonly mode?: 'Create' | 'Overwrite' | (string & {}) | null | undefined
  /** Properties to keep: pairs of strings. */
  readonly properties?: Readonly<Record<string, string>> | null | undefined
}

/** What `registerTable` answers with. */
export interface RegisterTableResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** The URL where the content lies. */
  location: string
  /** The properties: pairs of strings. */
  properties: Readonly<Record<string, string>>
}

/** What `describeTable` takes. */
export interface DescribeTableRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The version to describe. Default: the latest. */
  readonly version?: number | null | undefined
  /** The tag of the version to describe, in place of `version`. */
  readonly tag?: string | null | undefined
  /** The branch to describe. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** Whether to answer with `table_uri`. Default: false. */
  readonly with_table_uri?: boolean | null | undefined
  /** Whether to answer with version, schema, statistics and metadata, too. Default: false. */
  readonly load_detailed_metadata?: boolean | null | undefined
  /** Whether to answer with `is_only_declared`. Default: false. */
  readonly check_declared?: boolean | null | undefined
  /** Whether to answer with credentials for the location, as `storage_options`. Default: false. */
  readonly vend_credentials?: boolean | null | undefined
}

/** What `describeTable` answers with. */
export interface DescribeTableResponse extends ResponseFields {
  /** The name of the table. */
  table?: string | undefined
  /** The names of its namespace from the root down. */
  namespace?: string[] | undefined
  /** The version that is described. */
  version?: number | undefined
  /** The URL where the content lies. */
  location: string
  /** The URI of the table, where it was asked for. */
  table_uri?: string | undefined
  /** The columns, in the JSON form of Arrow schemas. */
  schema?: JsonArrowSchema | undefined
  /** Credentials and options for the location, where they were asked for. */
  storage_options?: Readonly<Record<string, string>> | undefined
  /** Statistics of the version. */
  stats?:
    | {
        /** How many rows are deleted, and still in the files. */
        num_deleted_rows: number
        /** How many fragments the rows lie in. */
        num_fragments: number
      }
    | undefined
  /** The metadata of the schema: pairs of strings. */
  metadata?: Readonly<Record<string, string>> | undefined
  /** The properties: pairs of strings. */
  properties: Readonly<Record<string, string>>
  /** Whether clients of Lance are to keep its versions through the catalog. */
  managed_versioning?: boolean | undefined
  /** Whether the table has no rows yet, where that was asked for. */
  is_only_declared?: boolean | null | undefined
}

/** What `tableExists` takes. */
export interface TableExistsRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The version to work on. Default: the latest. */
  readonly version?: number | null | undefined
  /** The tag of the version to work on, in place of `version`. */
  readonly tag?: string | null | undefined
}

/** What `tableExists` answers with. */
export interface TableExistsResponse extends ResponseFields {}

/** What `listTables` takes. */
export interface ListTablesRequest extends RequestFields {
  /** The namespace: its names from the root down, such as `["prod", "eu"]`. `[]` is the root. */
  readonly id: readonly string[]
  /** The `page_token` of the page before. Absent, the listing starts from its beginning. */
  readonly page_token?: string | null | undefined
  /** The most items of this page. Default: 1,000; more than 10,000 count as 10,000. */
  readonly limit?: number | null | undefined
  /** Whether tables that are only declared are listed. Default: true. */
  readonly include_declared?: boolean | null | undefined
  /** The text between the names of identifiers in the answer: 1 to 8 characters. Default: `$`. */
  readonly delimiter?: string | null | undefined
  /** Whether tables in the namespaces below are listed, too. Default: true. Not part of the protocol. */
  readonly recursive?: boolean | null | undefined
  /** The name after which a listing without `page_token` begins. Not part of the protocol. */
  readonly start_after?: string | null | undefined
}

/** What `listTables` answers with. */
export interface ListTablesResponse extends ResponseFields {
  /** The tables of this page, each as its names joined by the delimiter. */
  tables: string[]
  /** What to give as `page_token` for the next page. Absent on the last page. */
  page_token?: string | undefined
}

/** What `listAllTables` takes. */
export interface ListAllTablesRequest extends RequestFields {
  /** The `page_token` of the page before. Absent, the listing starts from its beginning. */
  readonly page_token?: string | null | undefined
  /** The most items of this page. Default: 1,000; more than 10,000 count as 10,000. */
  readonly limit?: number | null | undefined
  /** Whether tables that are only declared are listed. Default: true. */
  readonly include_declared?: boolean | null | undefined
  /** The text between the names of identifiers in the answer: 1 to 8 characters. Default: `$`. */
  readonly delimiter?: string | null | undefined
}

/** What `listAllTables` answers with. */
export interface ListAllTablesResponse extends ResponseFields {
  /** The tables of this page, each as its names joined by the delimiter. */
  tables: string[]
  /** What to give as `page_token` for the next page. Absent on the last page. */
  page_token?: string | undefined
}

/** What `renameTable` takes. */
export interface RenameTableRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The new name of the table. */
  readonly new_table_name: string
  /** The namespace to move to; `[]` is the root. Default: the table stays in its namespace. */
  readonly new_namespace_id?: readonly string[] | null | undefined
}

/** What `renameTable` answers with. */
export interface RenameTableResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
}

/** What `restoreTable` takes. */
export interface RestoreTableRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The version whose rows come back. Give it, or a `tag`. */
  readonly version?: number | null | undefined
  /** The tag of the version whose rows come back, in place of `version`. */
  readonly tag?: string | null | undefined
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
}

/** What `restoreTable` answers with. */
export interface RestoreTableResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
}

/** What `deregisterTable` takes. */
export interface DeregisterTableRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
}

/** What `deregisterTable` answers with. */
export interface DeregisterTableResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** The names of the table from the root down. */
  id: string[]
  /** The URL where the content lies. */
  location: string
  /** The properties: pairs of strings. */
  properties: Readonly<Record<string, string>> | null
}

/** What `dropTable` takes. */
export interface DropTableRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
}

/** What `dropTable` answers with. */
export interface DropTableResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** The names of the table from the root down. */
  id: string[]
  /** The URL where the content lies. */
  location: string
  /** The properties: pairs of strings. */
  properties: Readonly<Record<string, string>>
}

/** What `insertIntoTable` takes. */
export interface InsertIntoTableRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** `Append` adds the rows (the default). `Overwrite` replaces all rows, and the columns, too. */
  readonly mode?: 'Append' | 'Overwrite' | (string & {}) | null | undefined
  /** The rows: Arrow IPC bytes (stream or file), an Arrow table, or a list of objects. */
  readonly data: RowsInput
  /** The columns of row objects: an Arrow schema, its JSON form, or Arrow IPC bytes that have it. Default: those of the table, or inferred from the rows. */
  readonly schema?: SchemaInput | null | undefined
}

/** What `insertIntoTable` answers with. */
export interface InsertIntoTableResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** How many rows were inserted. */
  num_inserted_rows: number
  /** The version that has the change. */
  version: number
}

/** What `deleteFromTable` takes. */
export interface DeleteFromTableRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** An SQL predicate, such as `delay > 60`. */
  readonly predicate: string
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
}

/** What `deleteFromTable` answers with. */
export interface DeleteFromTableResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** The version that has the change. */
  version: number
  /** How many rows were deleted. */
  num_deleted_rows?: number | undefined
}

/** What `updateTable` takes. */
export interface UpdateTableRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** Pairs of a column and an SQL expression for its new value, such as `["delay", "delay + 5"]`. Each sees the row as it was. */
  readonly updates: readonly (readonly [string, string])[]
  /** An SQL predicate, such as `delay > 60`. */
  readonly predicate?: string | null | undefined
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
}

/** What `updateTable` answers with. */
export interface UpdateTableResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** How many rows were updated. */
  updated_rows: number
  /** The version that has the change. */
  version: number
}

/** What `mergeInsertIntoTable` takes. */
export interface MergeInsertIntoTableRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** The columns that rows are matched by: a name or field path, or a list of them. */
  readonly on: string | readonly string[]
  /** Whether rows of the table that match get the values of the rows that are sent. Default: false. */
  readonly when_matched_update_all?: boolean | null | undefined
  /** A condition for that, with columns as `source.x` and `target.x`. Default: all that match. */
  readonly when_matched_update_all_filt?: string | null | undefined
  /** Whether rows of the table that match are deleted instead. Default: false. */
  readonly when_matched_delete?: boolean | null | undefined
  /** Whether rows that match none of the table are inserted. Default: false. */
  readonly when_not_matched_insert_all?: boolean | null | undefined
  /** Whether rows of the table that match none of those sent are deleted. Default: false. */
  readonly when_not_matched_by_source_delete?: boolean | null | undefined
  /** An SQL predicate for that, on the columns of the table. Default: all that match none. */
  readonly when_not_matched_by_source_delete_filt?: string | null | undefined
  /** How long it may take, such as `30s` or `2m`. Then nothing changes. Default: no limit. */
  readonly timeout?: string | null | undefined
  /** Taken for other implementations; rows are found by a hash of their keys. */
  readonly use_index?: boolean | null | undefined
  /** The rows: Arrow IPC bytes (stream or file), an Arrow table, or a list of objects. */
  readonly data: RowsInput
  /** The columns of row objects: an Arrow schema, its JSON form, or Arrow IPC bytes that have it. Default: those of the table, or inferred from the rows. */
  readonly schema?: SchemaInput | null | undefined
}

/** What `mergeInsertIntoTable` answers with. */
export interface MergeInsertIntoTableResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** How many rows were inserted. */
  num_inserted_rows?: number | undefined
  /** How many rows were updated. */
  num_updated_rows?: number | undefined
  /** How many rows were deleted. */
  num_deleted_rows?: number | undefined
  /** The version that has the change. */
  version?: number | undefined
}

/** What `countTableRows` takes. */
export interface CountTableRowsRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The version to work on. Default: the latest. */
  readonly version?: number | null | undefined
  /** The tag of the version to work on, in place of `version`. */
  readonly tag?: string | null | undefined
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** An SQL predicate, such as `delay > 60`. Default: all rows are counted. */
  readonly predicate?: string | null | undefined
}

/** What `countTableRows` answers with. */
export interface CountTableRowsResponse extends ResponseFields {
  /** How many rows there are. */
  count: number
}

/** What `queryTable` takes. */
export interface QueryTableRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The columns to read: a list of names and paths, or an object with `column_names` or `column_aliases`. Default: all. */
  readonly columns?: readonly string[] | ColumnSelection | null | undefined
  /** An SQL predicate, such as `delay > 60`: only the rows that it holds for. Default: all rows. */
  readonly filter?: string | null | undefined
  /** The most rows to read. Default: all. */
  readonly limit?: number | null | undefined
  /** Another name of `limit`. */
  readonly k?: number | null | undefined
  /** How many rows to pass over first. Default: none. */
  readonly offset?: number | null | undefined
  /** The version to work on. Default: the latest. */
  readonly version?: number | null | undefined
  /** The tag of the version to work on, in place of `version`. */
  readonly tag?: string | null | undefined
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** The vector to search for, or several; the nearest rows come first, with their `_distance`. */
  readonly vector?: VectorInput | null | undefined
  /** The column of vectors to search. Default: the only one that fits the vector. */
  readonly vector_column?: string | null | undefined
  /** How distances are measured: `l2`, `cosine`, `dot` or `hamming`. Default: `l2`, and `hamming` for uint8. */
  readonly distance_type?: string | null | undefined
  /** Only rows at this distance or farther. */
  readonly lower_bound?: number | null | undefined
  /** Only rows nearer than this. */
  readonly upper_bound?: number | null | undefined
  /** Whether the search is among the rows that match `filter`; otherwise the rows found are filtered. Default: true. */
  readonly prefilter?: boolean | null | undefined
  /** Not supported: searching in texts. */
  readonly full_text_query?: unknown | null | undefined
  /** Keys to sort by, the first one first: `{ column_name, ascending, nulls_first }`, or text such as `delay desc`. Default: the order of inserting. */
  readonly order_by?: readonly OrderKey[] | null | undefined
  /** Whether to answer with `_rowid`, too, which names rows. Default: false. */
  readonly with_row_id?: boolean | null | undefined
}

/** What `queryTable` answers with. */
export interface QueryTableResponse extends ResponseFields {
  /** The rows, as an Arrow IPC file. */
  data: Uint8Array
}

/** What `explainTableQueryPlan` takes. */
export interface ExplainTableQueryPlanRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** The fields of a query, as for `queryTable`. */
  readonly query: {
    /** The columns to read: a list of names and paths, or an object with `column_names` or `column_aliases`. Default: all. */
    readonly columns?: readonly string[] | ColumnSelection | null | undefined
    /** An SQL predicate, such as `delay > 60`: only the rows that it holds for. Default: all rows. */
    readonly filter?: string | null | undefined
    /** The most items of this page. Default: 1,000; more than 10,000 count as 10,000. */
    readonly limit?: number | null | undefined
    /** Another name of `limit`. */
    readonly k?: number | null | undefined
    /** How many rows to pass over first. Default: none. */
    readonly offset?: number | null | undefined
    /** The version to work on. Default: the latest. */
    readonly version?: number | null | undefined
    /** The tag of the version to work on, in place of `version`. */
    readonly tag?: string | null | undefined
    /** The branch to work on. Default: the main branch. */
    readonly branch?: string | null | undefined
    /** The vector to search for, or several; the nearest rows come first, with their `_distance`. */
    readonly vector?: VectorInput | null | undefined
    /** The column of vectors to search. Default: the only one that fits the vector. */
    readonly vector_column?: string | null | undefined
    /** How distances are measured: `l2`, `cosine`, `dot` or `hamming`. Default: `l2`, and `hamming` for uint8. */
    readonly distance_type?: string | null | undefined
    /** Only rows at this distance or farther. */
    readonly lower_bound?: number | null | undefined
    /** Only rows nearer than this. */
    readonly upper_bound?: number | null | undefined
    /** Whether the search is among the rows that match `filter`; otherwise the rows found are filtered. Default: true. */
    readonly prefilter?: boolean | null | undefined
    /** Not supported: searching in texts. */
    readonly full_text_query?: unknown | null | undefined
    /** Keys to sort by, the first one first: `{ column_name, ascending, nulls_first }`, or text such as `delay desc`. Default: the order of inserting. */
    readonly order_by?: readonly OrderKey[] | null | undefined
    /** Whether to answer with `_rowid`, too, which names rows. Default: false. */
    readonly with_row_id?: boolean | null | undefined
    /** The table: its names from the root down, such as `["prod", "flights"]`. */
    readonly id?: unknown | null | undefined
    /** How to search an index. Searches compare every vector, so it changes nothing. */
    readonly approx_mode?: unknown | null | undefined
    /** How to search an index. Searches compare every vector, so it changes nothing. */
    readonly bypass_vector_index?: unknown | null | undefined
    /** How to search an index. Searches compare every vector, so it changes nothing. */
    readonly ef?: unknown | null | undefined
    /** How to search an index. Searches compare every vector, so it changes nothing. */
    readonly fast_search?: unknown | null | undefined
    /** How to search an index. Searches compare every vector, so it changes nothing. */
    readonly maximum_nprobes?: unknown | null | undefined
    /** How to search an index. Searches compare every vector, so it changes nothing. */
    readonly minimum_nprobes?: unknown | null | undefined
    /** How to search an index. Searches compare every vector, so it changes nothing. */
    readonly nprobes?: unknown | null | undefined
    /** How to search an index. Searches compare every vector, so it changes nothing. */
    readonly refine_factor?: unknown | null | undefined
    /** How to search an index. Searches compare every vector, so it changes nothing. */
    readonly search_effort?: unknown | null | undefined
    /** How to search an index. Searches compare every vector, so it changes nothing. */
    readonly use_lsm?: unknown | null | undefined
    /** How to search an index. Searches compare every vector, so it changes nothing. */
    readonly use_rte?: unknown | null | undefined
  }
  /** Taken for other implementations; a plan has all its steps. */
  readonly verbose?: boolean | null | undefined
}

/** What `explainTableQueryPlan` answers with. */
export interface ExplainTableQueryPlanResponse extends ResponseFields {
  /** The steps of the query, one a line. The text may change from version to version. */
  plan: string
}

/** What `analyzeTableQueryPlan` takes. */
export interface AnalyzeTableQueryPlanRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The columns to read: a list of names and paths, or an object with `column_names` or `column_aliases`. Default: all. */
  readonly columns?: readonly string[] | ColumnSelection | null | undefined
  /** An SQL predicate, such as `delay > 60`: only the rows that it holds for. Default: all rows. */
  readonly filter?: string | null | undefined
  /** The most items of this page. Default: 1,000; more than 10,000 count as 10,000. */
  readonly limit?: number | null | undefined
  /** Another name of `limit`. */
  readonly k?: number | null | undefined
  /** How many rows to pass over first. Default: none. */
  readonly offset?: number | null | undefined
  /** The version to work on. Default: the latest. */
  readonly version?: number | null | undefined
  /** The tag of the version to work on, in place of `version`. */
  readonly tag?: string | null | undefined
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** The vector to search for, or several; the nearest rows come first, with their `_distance`. */
  readonly vector?: VectorInput | null | undefined
  /** The column of vectors to search. Default: the only one that fits the vector. */
  readonly vector_column?: string | null | undefined
  /** How distances are measured: `l2`, `cosine`, `dot` or `hamming`. Default: `l2`, and `hamming` for uint8. */
  readonly distance_type?: string | null | undefined
  /** Only rows at this distance or farther. */
  readonly lower_bound?: number | null | undefined
  /** Only rows nearer than this. */
  readonly upper_bound?: number | null | undefined
  /** Whether the search is among the rows that match `filter`; otherwise the rows found are filtered. Default: true. */
  readonly prefilter?: boolean | null | undefined
  /** Not supported: searching in texts. */
  readonly full_text_query?: unknown | null | undefined
  /** Keys to sort by, the first one first: `{ column_name, ascending, nulls_first }`, or text such as `delay desc`. Default: the order of inserting. */
  readonly order_by?: readonly OrderKey[] | null | undefined
  /** Whether to answer with `_rowid`, too, which names rows. Default: false. */
  readonly with_row_id?: boolean | null | undefined
}

/** What `analyzeTableQueryPlan` answers with. */
export interface AnalyzeTableQueryPlanResponse extends ResponseFields {
  /** The steps of the query with their rows and times. The text may change from version to version. */
  analysis: string
}

/** What `getTableStats` takes. */
export interface GetTableStatsRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The version to work on. Default: the latest. */
  readonly version?: number | null | undefined
  /** The tag of the version to work on, in place of `version`. */
  readonly tag?: string | null | undefined
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
}

/** What `getTableStats` answers with. */
export interface GetTableStatsResponse extends ResponseFields {
  /** The bytes of the fragments, without manifests and deletions. */
  total_bytes: number
  /** The rows of the version. */
  num_rows: number
  /** How many indexes there are. */
  num_indices: number
  /** How many fragments there are, and how many rows they have. */
  fragment_stats: {
    /** How many fragments the rows lie in. */
    num_fragments: number
    /** How many of them have fewer than 100,000 rows. */
    num_small_fragments: number
    /** How many rows fragments have. */
    lengths: {
      /** The fewest. */
      min: number
      /** The most. */
      max: number
      /** The mean, rounded down. */
      mean: number
      /** A quarter of the fragments have at most so many. */
      p25: number
      /** Half of the fragments have at most so many. */
      p50: number
      /** Three quarters of the fragments have at most so many. */
      p75: number
      /** All but one in a hundred have at most so many. */
      p99: number
    }
  }
}

/** What `updateTableSchemaMetadata` takes. */
export interface UpdateTableSchemaMetadataRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** Metadata to keep: pairs of strings. */
  readonly metadata: Readonly<Record<string, string>>
}

/** What `updateTableSchemaMetadata` answers with. */
export interface UpdateTableSchemaMetadataResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** The metadata: pairs of strings. */
  metadata: Readonly<Record<string, string>>
}

/** What `alterTableAddColumns` takes. */
export interface AlterTableAddColumnsRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** The columns to add, in this order. */
  readonly new_columns?:
    | readonly {
        /** The name of the new column. */
        readonly name: string
        /** An SQL expression over the columns that are there, such as `delay > 60`. Absent: the column is null at first. */
        readonly expression?: string | null | undefined
        /** The type, as JSON such as `{ type: "int64" }`, or its name. */
        readonly data_type?: JsonArrowType | string | null | undefined
        /** Whether the column may be null. Default: true. */
        readonly nullable?: boolean | null | undefined
        /** Metadata to keep: pairs of strings. */
        readonly metadata?: Readonly<Record<string, string>> | null | undefined
        /** Refused: columns that a backfill computes. */
        readonly computed?: string | null | undefined
        /** Refused: columns that functions of users compute. */
        readonly virtual_column?: Readonly<Record<string, unknown>> | null | undefined
      }[]
    | null
    | undefined
  /** An Arrow schema, its JSON form, or Arrow IPC bytes that have it: its columns are added, null in all rows. */
  readonly schema?: SchemaInput | null | undefined
}

/** What `alterTableAddColumns` answers with. */
export interface AlterTableAddColumnsResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** The version that has the change. */
  version: number
}

/** What `alterTableAlterColumns` takes. */
export interface AlterTableAlterColumnsRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** What to change, all at once. Paths are those before the change. */
  readonly alterations: readonly {
    /** The column, or the path of a field of a struct. */
    readonly path: string
    /** The new name. Default: the name stays. */
    readonly rename?: string | null | undefined
    /** The type, as JSON such as `{ type: "int64" }`, or its name. */
    readonly data_type?: JsonArrowType | string | null | undefined
    /** Whether it may be null. Default: as it is. */
    readonly nullable?: boolean | null | undefined
  }[]
}

/** What `alterTableAlterColumns` answers with. */
export interface AlterTableAlterColumnsResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** The version that has the change. */
  version: number
}

/** What `alterTableDropColumns` takes. */
export interface AlterTableDropColumnsRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** The columns to drop, or paths of fields of structs. */
  readonly columns: readonly string[]
}

/** What `alterTableDropColumns` answers with. */
export interface AlterTableDropColumnsResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** The version that has the change. */
  version: number
}

/** What `updateFieldMetadata` takes. */
export interface UpdateFieldMetadataRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** The changes, each for one field. */
  readonly updates: readonly {
    /** The column, or the path of a field within one. */
    readonly path: string
    /** Pairs to set. A value of null takes the key away. */
    readonly metadata: Readonly<Record<string, string | null>>
    /** Whether the pairs replace all that the field has. Default: false. */
    readonly replace?: boolean | null | undefined
  }[]
}

/** What `updateFieldMetadata` answers with. */
export interface UpdateFieldMetadataResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** The version that has the change. */
  version: number
  /** The metadata of each changed field, by its path. */
  fields?: Record<string, Readonly<Record<string, string>>> | undefined
}

/** What `optimizeTable` takes. */
export interface OptimizeTableRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** The most rows of a merged fragment. Default: 1,048,576. */
  readonly target_rows?: number | null | undefined
  /** About the most bytes of a merged fragment. Default: 128 MiB. */
  readonly target_bytes?: number | null | undefined
  /** Fragments with this share of deleted rows, 0 to 1, are written anew. Default: 0.1. */
  readonly min_deleted_share?: number | null | undefined
}

/** What `optimizeTable` answers with. */
export interface OptimizeTableResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** Whether there was something to do. */
  optimized: boolean
  /** The version that has the merged fragments; the latest one when there was nothing to do. */
  version: number
  /** How many rows the table has. */
  rows: number
  /** How many rows were written anew. */
  rewritten_rows: number
  /** How many fragments the table had. */
  fragments_before: number
  /** How many fragments the table has now. */
  fragments_after: number
  /** How many bytes the fragments had. */
  bytes_before: number
  /** How many bytes the fragments have now. */
  bytes_after: number
}

/** What `createTableIndex` takes. */
export interface CreateTableIndexRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** The column to index, or the path of a field of a struct. */
  readonly column: string
  /** The type of the index, such as `BTREE` or `IVF_PQ`. */
  readonly index_type: string
  /** The name of the index. Default: that of the column, and `_idx`. */
  readonly name?: string | null | undefined
  /** Whether an index of that name on the same column is replaced. Default: true. */
  readonly replace?: boolean | null | undefined
  /** How distances are measured: `l2`, `cosine`, `dot` or `hamming`. Default: `l2`, and `hamming` for uint8. */
  readonly distance_type?: string | null | undefined
  /** A parameter of the index, which is recorded and changes no answer. */
  readonly num_partitions?: number | null | undefined
  /** A parameter of the index, which is recorded and changes no answer. */
  readonly num_sub_vectors?: number | null | undefined
  /** A parameter of the index, which is recorded and changes no answer. */
  readonly num_bits?: number | null | undefined
  /** A parameter of the index, which is recorded and changes no answer. */
  readonly sample_rate?: number | null | undefined
  /** A parameter of the index, which is recorded and changes no answer. */
  readonly max_iterations?: number | null | undefined
  /** A parameter of the index, which is recorded and changes no answer. */
  readonly target_partition_size?: number | null | undefined
  /** A parameter of the index, which is recorded and changes no answer. */
  readonly m?: number | null | undefined
  /** A parameter of the index, which is recorded and changes no answer. */
  readonly ef_construction?: number | null | undefined
}

/** What `createTableIndex` answers with. */
export interface CreateTableIndexResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
}

/** What `createTableScalarIndex` takes. */
export interface CreateTableScalarIndexRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** The column to index, or the path of a field of a struct. */
  readonly column: string
  /** The type of the index, such as `BTREE` or `IVF_PQ`. */
  readonly index_type: string
  /** The name of the index. Default: that of the column, and `_idx`. */
  readonly name?: string | null | undefined
  /** Whether an index of that name on the same column is replaced. Default: true. */
  readonly replace?: boolean | null | undefined
  /** How distances are measured: `l2`, `cosine`, `dot` or `hamming`. Default: `l2`, and `hamming` for uint8. */
  readonly distance_type?: string | null | undefined
  /** A parameter of the index, which is recorded and changes no answer. */
  readonly num_partitions?: number | null | undefined
  /** A parameter of the index, which is recorded and changes no answer. */
  readonly num_sub_vectors?: number | null | undefined
  /** A parameter of the index, which is recorded and changes no answer. */
  readonly num_bits?: number | null | undefined
  /** A parameter of the index, which is recorded and changes no answer. */
  readonly sample_rate?: number | null | undefined
  /** A parameter of the index, which is recorded and changes no answer. */
  readonly max_iterations?: number | null | undefined
  /** A parameter of the index, which is recorded and changes no answer. */
  readonly target_partition_size?: number | null | undefined
  /** A parameter of the index, which is recorded and changes no answer. */
  readonly m?: number | null | undefined
  /** A parameter of the index, which is recorded and changes no answer. */
  readonly ef_construction?: number | null | undefined
}

/** What `createTableScalarIndex` answers with. */
export interface CreateTableScalarIndexResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
}

/** What `listTableIndices` takes. */
export interface ListTableIndicesRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The version to work on. Default: the latest. */
  readonly version?: number | null | undefined
  /** The tag of the version to work on, in place of `version`. */
  readonly tag?: string | null | undefined
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** The `page_token` of the page before. Absent, the listing starts from its beginning. */
  readonly page_token?: string | null | undefined
  /** The most items of this page. Default: 1,000; more than 10,000 count as 10,000. */
  readonly limit?: number | null | undefined
}

/** What `listTableIndices` answers with. */
export interface ListTableIndicesResponse extends ResponseFields {
  /** The indexes, by name. */
  indexes: {
    /** The name of the index. */
    index_name: string
    /** An id that no other index has. */
    index_uuid: string
    /** The column that the index is on. */
    columns: string[]
    /** The status of the transaction. */
    status: string
    /** The type of the index. */
    index_type: string
    /** How many rows the index covers: all of them, since answers are exact and complete. */
    num_indexed_rows: number
    /** How many rows are still to be added to it: none. */
    num_unindexed_rows: number
    /** The bytes that the index takes: none, since it is a record. */
    size_bytes: number
    /** The files of the index: none, since it is a record. */
    num_segments: number
    /** When it was created, as ISO 8601. */
    created_at: string
    /** Its parameters, as JSON. */
    index_details: string
  }[]
  /** What to give as `page_token` for the next page. Absent on the last page. */
  page_token?: string | null | undefined
}

/** What `describeTableIndexStats` takes. */
export interface DescribeTableIndexStatsRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The name of the index. */
  readonly index_name: string
  /** The version to work on. Default: the latest. */
  readonly version?: number | null | undefined
  /** The tag of the version to work on, in place of `version`. */
  readonly tag?: string | null | undefined
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
}

/** What `describeTableIndexStats` answers with. */
export interface DescribeTableIndexStatsResponse extends ResponseFields {
  /** How the index measures distances, for an index on vectors. */
  distance_type?: string | null | undefined
  /** The type of the index. */
  index_type: string
  /** How many rows the index covers: all of them, since answers are exact and complete. */
  num_indexed_rows: number
  /** How many rows are still to be added to it: none. */
  num_unindexed_rows: number
  /** How many indexes there are. */
  num_indices: number
}

/** What `dropTableIndex` takes. */
export interface DropTableIndexRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The name of the index. */
  readonly index_name: string
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
}

/** What `dropTableIndex` answers with. */
export interface DropTableIndexResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
}

/** What `listTableVersions` takes. */
export interface ListTableVersionsRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** The `page_token` of the page before. Absent, the listing starts from its beginning. */
  readonly page_token?: string | null | undefined
  /** The most items of this page. Default: 1,000; more than 10,000 count as 10,000. */
  readonly limit?: number | null | undefined
  /** Whether the latest version comes first. Default: false. */
  readonly descending?: boolean | null | undefined
  /** Whether each version comes with the transaction that made it, and its operation. Default: false. Not part of the protocol. */
  readonly with_transactions?: boolean | null | undefined
}

/** What `listTableVersions` answers with. */
export interface ListTableVersionsResponse extends ResponseFields {
  /** The versions. */
  versions: {
    /** The number of the version. */
    version: number
    /** The path of the manifest, relative to the location of the table. */
    manifest_path: string
    /** How many bytes the manifest has. */
    manifest_size?: number | undefined
    /** The entity tag of the manifest, as the storage reported it. */
    e_tag?: string | undefined
    /** When the version was made, in milliseconds since 1970. */
    timestamp_millis?: number | undefined
    /** The metadata: pairs of strings. */
    metadata?: Readonly<Record<string, string>> | undefined
    /** The id of the transaction that made the version, where that was asked for and the catalog made it. */
    transaction_id?: string | undefined
    /** What made the version, such as `InsertIntoTable`, where that was asked for and is still recorded. */
    operation?: string | undefined
  }[]
  /** What to give as `page_token` for the next page. Absent on the last page. */
  page_token?: string | undefined
}

/** What `describeTableVersion` takes. */
export interface DescribeTableVersionRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The version to work on. Default: the latest. */
  readonly version?: number | null | undefined
  /** The tag of the version to work on, in place of `version`. */
  readonly tag?: string | null | undefined
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
}

/** What `describeTableVersion` answers with. */
export interface DescribeTableVersionResponse extends ResponseFields {
  /** The version. */
  version: TableVersion
}

/** What `createTableVersion` takes. */
export interface CreateTableVersionRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The number of the new version: the latest and one. */
  readonly version: number
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** The path of the manifest, relative to the location of the table. */
  readonly manifest_path: string
  /** How many bytes the manifest has. */
  readonly manifest_size?: number | null | undefined
  /** The entity tag of the manifest, as the storage reported it. */
  readonly e_tag?: string | null | undefined
  /** Metadata to keep: pairs of strings. */
  readonly metadata?: Readonly<Record<string, string>> | null | undefined
  /** How manifests of the table are named, as its writer calls it. */
  readonly naming_scheme?: string | null | undefined
}

/** What `createTableVersion` answers with. */
export interface CreateTableVersionResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** The version that was created. */
  version: TableVersion
}

/** What `batchCreateTableVersions` takes. */
export interface BatchCreateTableVersionsRequest extends RequestFields {
  /** The versions to create; all of them, or none. */
  readonly entries: readonly {
    /** The table: its names from the root down, such as `["prod", "flights"]`. */
    readonly id: readonly string[]
    /** The number of the new version: the latest and one. */
    readonly version: number
    /** The branch to work on. Default: the main branch. */
    readonly branch?: string | null | undefined
    /** The path of the manifest, relative to the location of the table. */
    readonly manifest_path: string
    /** How many bytes the manifest has. */
    readonly manifest_size?: number | null | undefined
    /** The entity tag of the manifest, as the storage reported it. */
    readonly e_tag?: string | null | undefined
    /** Metadata to keep: pairs of strings. */
    readonly metadata?: Readonly<Record<string, string>> | null | undefined
    /** How manifests of the table are named, as its writer calls it. */
    readonly naming_scheme?: string | null | undefined
  }[]
}

/** What `batchCreateTableVersions` answers with. */
export interface BatchCreateTableVersionsResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** The versions. */
  versions: TableVersion[]
}

/** What `batchDeleteTableVersions` takes. */
export interface BatchDeleteTableVersionsRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The branch to work on. Default: the main branch. */
  readonly branch?: string | null | undefined
  /** The ranges of versions to delete. */
  readonly ranges: readonly {
    /** The first version of the range. */
    readonly start_version: number
    /** The version after the range. −1: all through the latest. */
    readonly end_version: number
  }[]
}

/** What `batchDeleteTableVersions` answers with. */
export interface BatchDeleteTableVersionsResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** How many versions were deleted. */
  deleted_count: number
}

/** What `createTableTag` takes. */
export interface CreateTableTagRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The name of the new tag. */
  readonly tag: string
  /** The version that the tag names. */
  readonly version: number
  /** The branch that has the version. Default: the main branch. */
  readonly branch?: string | null | undefined
}

/** What `createTableTag` answers with. */
export interface CreateTableTagResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
}

/** What `updateTableTag` takes. */
export interface UpdateTableTagRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The name of the tag. */
  readonly tag: string
  /** The version that the tag names from now on. */
  readonly version: number
  /** The branch that has the version. Default: the main branch. */
  readonly branch?: string | null | undefined
}

/** What `updateTableTag` answers with. */
export interface UpdateTableTagResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
}

/** What `getTableTagVersion` takes. */
export interface GetTableTagVersionRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The name of the tag. */
  readonly tag: string
}

/** What `getTableTagVersion` answers with. */
export interface GetTableTagVersionResponse extends ResponseFields {
  /** The version that the tag names. */
  version: number
  /** The branch that has the version. Absent for the main branch. */
  branch?: string | undefined
}

/** What `listTableTags` takes. */
export interface ListTableTagsRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The `page_token` of the page before. Absent, the listing starts from its beginning. */
  readonly page_token?: string | null | undefined
  /** The most items of this page. Default: 1,000; more than 10,000 count as 10,000. */
  readonly limit?: number | null | undefined
}

/** What `listTableTags` answers with. */
export interface ListTableTagsResponse extends ResponseFields {
  /** The tags of this page, by name. */
  tags: Record<
    string,
    {
      /** The branch that has the version. Absent for the main branch. */
      branch?: string | undefined
      /** The version that the tag names. */
      version: number
      /** How many bytes the manifest of the version has. */
      manifestSize: number
    }
  >
  /** What to give as `page_token` for the next page. Absent on the last page. */
  page_token?: string | undefined
}

/** What `deleteTableTag` takes. */
export interface DeleteTableTagRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The name of the tag. */
  readonly tag: string
}

/** What `deleteTableTag` answers with. */
export interface DeleteTableTagResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
}

/** What `createTableBranch` takes. */
export interface CreateTableBranchRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The name of the new branch. */
  readonly name: string
  /** The branch to start from. Default: the main branch. */
  readonly from_branch?: string | null | undefined
  /** The version to start from. Default: the latest. */
  readonly from_version?: number | null | undefined
}

/** What `createTableBranch` answers with. */
export interface CreateTableBranchResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
}

/** What `listTableBranches` takes. */
export interface ListTableBranchesRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The `page_token` of the page before. Absent, the listing starts from its beginning. */
  readonly page_token?: string | null | undefined
  /** The most items of this page. Default: 1,000; more than 10,000 count as 10,000. */
  readonly limit?: number | null | undefined
}

/** What `listTableBranches` answers with. */
export interface ListTableBranchesResponse extends ResponseFields {
  /** The branches of this page, by name. */
  branches: Record<
    string,
    {
      /** The branch that it began from. Absent for the main branch. */
      parentBranch?: string | undefined
      /** The version that it began with. */
      parentVersion: number
      /** When it was created, in seconds since 1970. */
      createAt: number
      /** How many bytes the manifest of the version has. */
      manifestSize: number
    }
  >
  /** What to give as `page_token` for the next page. Absent on the last page. */
  page_token?: string | undefined
}

/** What `deleteTableBranch` takes. */
export interface DeleteTableBranchRequest extends RequestFields {
  /** The table: its names from the root down, such as `["prod", "flights"]`. */
  readonly id: readonly string[]
  /** The name of the branch. */
  readonly name?: string | null | undefined
}

/** What `deleteTableBranch` answers with. */
export interface DeleteTableBranchResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
}

/** What `beginTransaction` takes. */
export interface BeginTransactionRequest extends RequestFields {
  /** Properties to keep: pairs of strings. */
  readonly properties?: Readonly<Record<string, string>> | null | undefined
  /** What the commit compares: `Serializable`, all that was read (the default), or `ReadCommitted`, what changes looked at. */
  readonly isolation?: 'Serializable' | 'ReadCommitted' | (string & {}) | null | undefined
  /** The id of a transaction that ended without a commit, and that this one does again. After lost races, it takes turns. */
  readonly retry_of?: string | null | undefined
  /** The transaction expires after so many seconds without a request. Default: 60. */
  readonly idle_timeout_seconds?: number | null | undefined
}

/** What `beginTransaction` answers with. */
export interface BeginTransactionResponse extends ResponseFields {
  /** The id of the transaction, for the option `transaction` of operations. */
  transaction_id: string
  /** The status of the transaction. */
  status: 'Running'
  /** The transaction expires after so many seconds without a request. */
  idle_timeout_seconds: number
}

/** What `commitTransaction` takes. */
export interface CommitTransactionRequest extends RequestFields {
  /** The transaction: its `transaction_id`, alone or after the names of its table. */
  readonly id: readonly string[]
}

/** What `commitTransaction` answers with. */
export interface CommitTransactionResponse extends ResponseFields {
  /** The id of the transaction. */
  transaction_id: string
  /** The status of the transaction. */
  status: 'Succeeded'
  /** The properties: pairs of strings. */
  properties: Readonly<Record<string, string>>
}

/** What `rollbackTransaction` takes. */
export interface RollbackTransactionRequest extends RequestFields {
  /** The transaction: its `transaction_id`, alone or after the names of its table. */
  readonly id: readonly string[]
  /** Why the transaction is given up, for its record. */
  readonly failure?: string | null | undefined
  /** The error code of the failure, such as `InvalidInput`. */
  readonly failure_code?:
    | 'Unsupported'
    | 'NamespaceNotFound'
    | 'NamespaceAlreadyExists'
    | 'NamespaceNotEmpty'
    | 'TableNotFound'
    | 'TableAlreadyExists'
    | 'TableIndexNotFound'
    | 'TableIndexAlreadyExists'
    | 'TableTagNotFound'
    | 'TableTagAlreadyExists'
    | 'TransactionNotFound'
    | 'TableVersionNotFound'
    | 'TableColumnNotFound'
    | 'InvalidInput'
    | 'ConcurrentModification'
    | 'PermissionDenied'
    | 'Unauthenticated'
    | 'ServiceUnavailable'
    | 'Internal'
    | 'InvalidTableState'
    | 'TableSchemaValidationError'
    | 'Throttling'
    | 'TableBranchNotFound'
    | 'TableBranchAlreadyExists'
    | (string & {})
    | null
    | undefined
}

/** What `rollbackTransaction` answers with. */
export interface RollbackTransactionResponse extends ResponseFields {
  /** The status of the transaction. */
  status: 'Queued' | 'Running' | 'Succeeded' | 'Failed' | 'Canceled'
  /** The properties: pairs of strings. */
  properties: Readonly<Record<string, string>>
}

/** What `describeTransaction` takes. */
export interface DescribeTransactionRequest extends RequestFields {
  /** The transaction: its `transaction_id`, alone or after the names of its table. */
  readonly id: readonly string[]
}

/** What `describeTransaction` answers with. */
export interface DescribeTransactionResponse extends ResponseFields {
  /** The status of the transaction. */
  status: 'Queued' | 'Running' | 'Succeeded' | 'Failed' | 'Canceled'
  /** The properties: pairs of strings. */
  properties: Readonly<Record<string, string>>
}

/** What `listTransactions` takes. */
export interface ListTransactionsRequest extends RequestFields {
  /** Only transactions with one of these statuses. Default: all. */
  readonly status?:
    | readonly ('Queued' | 'Running' | 'Succeeded' | 'Failed' | 'Canceled' | (string & {}))[]
    | null
    | undefined
  /** Only transactions that began at this time or later, in milliseconds since 1970. Default: all that are recorded. */
  readonly since_millis?: number | null | undefined
  /** The `page_token` of the page before. Absent, the listing starts from its beginning. */
  readonly page_token?: string | null | undefined
  /** The most transactions of this page. Default: 1,000; more than 10,000 count as 10,000. */
  readonly limit?: number | null | undefined
}

/** What `listTransactions` answers with. */
export interface ListTransactionsResponse extends ResponseFields {
  /** The transactions of this page, the newest first. */
  transactions: {
    /** The id of the transaction. */
    transaction_id: string
    /** The status of the transaction. */
    status: 'Queued' | 'Running' | 'Succeeded' | 'Failed' | 'Canceled'
    /** What it does, such as `DeleteFromTable`. */
    operation: string
    /** The names of the table or namespace that it changes, as they were. Empty where it changes several. */
    subject: string[]
    /** When it began, as ISO 8601. */
    created_at: string
    /** When it ended, as ISO 8601. Absent while it is under way. */
    finished_at?: string | undefined
    /** Why it failed, where it did. */
    failure?: string | undefined
    /** The error code of the failure. */
    failure_code?: string | undefined
    /** The properties that callers set: pairs of strings. */
    properties: Readonly<Record<string, string>>
  }[]
  /** What to give as `page_token` for the next page. Absent on the last page. */
  page_token?: string | undefined
}

/** What `alterTransaction` takes. */
export interface AlterTransactionRequest extends RequestFields {
  /** The transaction: its `transaction_id`, alone or after the names of its table. */
  readonly id: readonly string[]
  /** What to change; all of it, or nothing. */
  readonly actions: readonly {
    /** Sets the status: `Canceled` stops the transaction. */
    readonly setStatusAction?:
      | {
          /** The new status. */
          readonly status: 'Queued' | 'Running' | 'Succeeded' | 'Failed' | 'Canceled' | (string & {})
        }
      | null
      | undefined
    /** Sets a property. */
    readonly setPropertyAction?:
      | {
          /** The name of the property. */
          readonly key: string
          /** The value of the property. */
          readonly value: string
          /** What to do when the property is there: `Overwrite` (the default), `Fail` or `Skip`. */
          readonly mode?: 'Overwrite' | 'Fail' | 'Skip' | (string & {}) | null | undefined
        }
      | null
      | undefined
    /** Removes a property. */
    readonly unsetPropertyAction?:
      | {
          /** The name of the property. */
          readonly key: string
          /** What to do when the property is there: `Overwrite` (the default), `Fail` or `Skip`. */
          readonly mode?: 'Skip' | 'Fail' | (string & {}) | null | undefined
        }
      | null
      | undefined
  }[]
}

/** What `alterTransaction` answers with. */
export interface AlterTransactionResponse extends ResponseFields {
  /** The status of the transaction. */
  status: 'Queued' | 'Running' | 'Succeeded' | 'Failed' | 'Canceled'
  /** The properties: pairs of strings. */
  properties: Readonly<Record<string, string>>
}

/** What `batchCommitTables` takes. */
export interface BatchCommitTablesRequest extends RequestFields {
  /** The operations to commit, in order. Each is an object with one of the members. */
  readonly operations: readonly {
    /** Declares a table, as `declareTable` does. */
    readonly declare_table?: DeclareTableRequest | null | undefined
    /** Creates a version, as `createTableVersion` does. */
    readonly create_table_version?: CreateTableVersionRequest | null | undefined
    /** Deletes versions, as `batchDeleteTableVersions` does. */
    readonly delete_table_versions?: BatchDeleteTableVersionsRequest | null | undefined
    /** Deregisters a table, as `deregisterTable` does. */
    readonly deregister_table?: DeregisterTableRequest | null | undefined
  }[]
}

/** What `batchCommitTables` answers with. */
export interface BatchCommitTablesResponse extends ResponseFields {
  /** The id of the transaction that made the change; `describeTransaction` describes it. */
  transaction_id?: string | undefined
  /** The answers in the order of the operations, each under the member that its operation had. */
  results: {
    /** The answer of `declareTable`. */
    declare_table?: DeclareTableResponse | undefined
    /** The answer of `createTableVersion`. */
    create_table_version?: CreateTableVersionResponse | undefined
    /** The answer of `batchDeleteTableVersions`. */
    delete_table_versions?: BatchDeleteTableVersionsResponse | undefined
    /** The answer of `deregisterTable`. */
    deregister_table?: DeregisterTableResponse | undefined
  }[]
}

/** What `alterTableBackfillColumns` takes. */
export interface AlterTableBackfillColumnsRequest extends RequestFields {
  readonly [field: string]: unknown
}

/** What `alterTableBackfillColumns` answers with. */
export interface AlterTableBackfillColumnsResponse extends ResponseFields {}

/** What `createMaterializedView` takes. */
export interface CreateMaterializedViewRequest extends RequestFields {
  readonly [field: string]: unknown
}

/** What `createMaterializedView` answers with. */
export interface CreateMaterializedViewResponse extends ResponseFields {}

/** What `refreshMaterializedView` takes. */
export interface RefreshMaterializedViewRequest extends RequestFields {
  readonly [field: string]: unknown
}

/** What `refreshMaterializedView` answers with. */
export interface RefreshMaterializedViewResponse extends ResponseFields {}

/** Every operation as a method: `catalog.renameTable(request)` is `renameTable(catalog, request)`. */
export interface OperationMethods {
  /**
   * Creates a namespace in one that exists, and answers with its properties. `mode` says what happens when the
   * namespace exists already. `Create` (the default) fails, and `ExistOk` leaves the namespace as it is. `Overwrite`
   * drops the namespace with all its content and creates it again.
   *
   * ```ts
   * await catalog.createNamespace({ id: ['prod'], properties: { owner: 'flights team' } })
   * ```
   */
  readonly createNamespace: (
    request: CreateNamespaceRequest,
    options?: OperationOptions,
  ) => Promise<CreateNamespaceResponse>

  /**
   * Lists the names of the namespaces directly in a namespace, in order of their UTF-8 bytes, a page at a
   * time. Pass `page_token` back until an answer has no token.
   */
  readonly listNamespaces: (
    request: ListNamespacesRequest,
    options?: OperationOptions,
  ) => Promise<ListNamespacesResponse>

  /** Answers with a namespace's properties; those of the root are always empty. */
  readonly describeNamespace: (
    request: DescribeNamespaceRequest,
    options?: OperationOptions,
  ) => Promise<DescribeNamespaceResponse>

  /**
   * Drops a namespace and answers with the properties it had. `behavior` says what happens when the namespace is not
   * empty. `Restrict` (the default) fails; `Cascade` drops everything in the namespace in one atomic step, the tables'
   * content included. `mode` says what happens when the namespace does not exist: `Fail` (the default) or `Skip`.
   */
  readonly dropNamespace: (
    request: DropNamespaceRequest,
    options?: OperationOptions,
  ) => Promise<DropNamespaceResponse>

  /** Resolves when the namespace exists, and fails with `NamespaceNotFound` when it does not. */
  readonly namespaceExists: (
    request: NamespaceExistsRequest,
    options?: OperationOptions,
  ) => Promise<NamespaceExistsResponse>

  /**
   * Creates a table with rows, as version 1. `data` is an Arrow IPC stream or file, an Arrow table, or an array
   * of row objects. A `schema` says the columns of row objects; without one they are inferred. `mode` says what happens
   * when a table has that name already. `Create` (the default) fails, `ExistOk` leaves that table as it is, and
   * `Overwrite` drops it and creates it again. A declared table is created where it was declared.
   *
   * ```ts
   * await catalog.createTable({ id: ['prod', 'flights'], data: [{ origin: 'SFO', delay: 12 }] })
   * ```
   */
  readonly createTable: (
    request: CreateTableRequest,
    options?: OperationOptions,
  ) => Promise<CreateTableResponse>

  /**
   * Creates a table with the rows and columns of another one, as version 1. `source` names that table, or
   * `source_location` says where it lies. It clones the version that is the latest when the call begins, or the one that
   * `source_version` or `source_tag` names. The clone shares the files of that version, so it takes no time and no room.
   * From then on, each of the two changes without the other, and may be dropped. With `is_shallow: false`, the clone gets
   * copies of the files.
   *
   * ```ts
   * await catalog.cloneTable({ id: ['dev', 'flights'], source: ['prod', 'flights'] })
   * ```
   */
  readonly cloneTable: (request: CloneTableRequest, options?: OperationOptions) => Promise<CloneTableResponse>

  /**
   * Reserves a table's name and location; it has no rows or versions yet. Without `location` the catalog
   * chooses one under its own root. Rows inserted into it later, or a version created by a client that wrote at
   * the location itself, make it a created table.
   *
   * ```ts
   * const { location } = await catalog.declareTable({ id: ['prod', 'flights'] })
   * ```
   */
  readonly declareTable: (
    request: DeclareTableRequest,
    options?: OperationOptions,
  ) => Promise<DeclareTableResponse>

  /**
   * Gives a name to content that lies at `location`. Where a table was deregistered, its rows, versions, tags and
   * branches are back. Content of another engine can be listed, described, renamed and tagged like any other. `mode` says
   * what happens when a table has that name already: `Create` (the default) fails, `Overwrite` deregisters that table.
   */
  readonly registerTable: (
    request: RegisterTableRequest,
    options?: OperationOptions,
  ) => Promise<RegisterTableResponse>

  /**
   * Describes a table: its location and its properties. With `load_detailed_metadata` also its version, schema
   * (in JSON form), statistics and schema metadata. Those are of the latest version, or of the one that `version`, `tag`
   * or `branch` picks. A table that is declared only has no version and no schema. Of a table that another engine
   * wrote, the catalog knows the version: the latest record, or where there are no records, the latest of Lance's files.
   *
   * ```ts
   * const { schema, version } = await catalog.describeTable({ id: ['prod', 'flights'], load_detailed_metadata: true })
   * ```
   */
  readonly describeTable: (
    request: DescribeTableRequest,
    options?: OperationOptions,
  ) => Promise<DescribeTableResponse>

  /** Resolves when the table (and the version, if `version` or `tag` names one) exists, and fails when it does not. */
  readonly tableExists: (
    request: TableExistsRequest,
    options?: OperationOptions,
  ) => Promise<TableExistsResponse>

  /**
   * Lists the tables in a namespace and in all namespaces below it, a page at a time. The answers hold full identifiers
   * in string form, in order of their names' UTF-8 bytes. A table that exists during the whole walk comes exactly once,
   * whatever changes around it. The walk ends with the page that has no `page_token`. With `recursive` false, only the
   * tables directly in the namespace are listed.
   *
   * ```ts
   * const { tables } = await catalog.listTables({ id: ['prod'] })   // ['prod$flights', 'prod$eu$trains']
   * ```
   */
  readonly listTables: (request: ListTablesRequest, options?: OperationOptions) => Promise<ListTablesResponse>

  /** Lists all tables of the catalog: `listTables` on the root. */
  readonly listAllTables: (
    request: ListAllTablesRequest,
    options?: OperationOptions,
  ) => Promise<ListAllTablesResponse>

  /**
   * Renames a table, and moves it when `new_namespace_id` is given (`[]` is the root; absent or null, the table
   * stays in its namespace). One atomic step: location, versions, tags and branches stay as they are. Where a namespace
   * was given, `context.renamed_to` of the answer is the identifier that the table has now, as some clients write `[]`
   * for a namespace that was not set.
   *
   * ```ts
   * await catalog.renameTable({ id: ['prod', 'flights'], new_table_name: 'flights_2024', new_namespace_id: ['archive'] })
   * ```
   */
  readonly renameTable: (
    request: RenameTableRequest,
    options?: OperationOptions,
  ) => Promise<RenameTableResponse>

  /** Makes a table what it was at an earlier version, as a new version; all versions between stay. `tag` may name the
   * version; the branch is then that of the tag.
   */
  readonly restoreTable: (
    request: RestoreTableRequest,
    options?: OperationOptions,
  ) => Promise<RestoreTableResponse>

  /**
   * Takes a table out of its namespace and answers with where its content lies. The content stays: registering
   * the location, in this catalog or another, brings back rows, versions, tags and branches.
   *
   * ```ts
   * const { location } = await catalog.deregisterTable({ id: ['prod', 'flights'] })
   * await other.registerTable({ id: ['archive', 'flights'], location })
   * ```
   */
  readonly deregisterTable: (
    request: DeregisterTableRequest,
    options?: OperationOptions,
  ) => Promise<DeregisterTableResponse>

  /**
   * Drops a table: its name, and its content when that lies within the catalog's reach. To keep the content,
   * deregister the table instead.
   */
  readonly dropTable: (request: DropTableRequest, options?: OperationOptions) => Promise<DropTableResponse>

  /**
   * Inserts rows into a table and answers with the version that has them. `data` is an Arrow IPC stream or
   * file, an Arrow table, or an array of row objects. Columns, and fields of structs, are matched by name; those that
   * are left out and may be null become NULL. Values of another type than the column's are cast, and refused where they do
   * not fit. `mode` is `Append` (the default) or `Overwrite`, which replaces all rows
   * and the columns too, while earlier versions stay. Rows inserted into a declared table create it.
   *
   * ```ts
   * const { version } = await catalog.insertIntoTable({ id: ['prod', 'flights'], data: [{ delay: 12 }] })
   * ```
   */
  readonly insertIntoTable: (
    request: InsertIntoTableRequest,
    options?: OperationOptions,
  ) => Promise<InsertIntoTableResponse>

  /**
   * Deletes the rows that a predicate holds for. Answers with their number and with the version that no longer has
   * them, which is a new one even when nothing matched. Rows that others insert meanwhile are deleted too, where the
   * predicate holds for them.
   *
   * ```ts
   * const { version } = await catalog.deleteFromTable({ id: ['prod', 'flights'], predicate: "delay > 60 AND origin = 'SFO'" })
   * ```
   */
  readonly deleteFromTable: (
    request: DeleteFromTableRequest,
    options?: OperationOptions,
  ) => Promise<DeleteFromTableResponse>

  /**
   * Gives new values to columns of the rows that a predicate holds for, or of all rows. Each update is a column and an SQL
   * expression, which is evaluated on the row as it was. Answers with the number of rows and with the version, which is a
   * new one even when nothing matched. Updated rows come after all others. Rows that others insert or update meanwhile
   * are updated too, as they are then.
   *
   * ```ts
   * const { updated_rows } = await catalog.updateTable({
   *   id: ['prod', 'flights'], updates: [['delay', 'delay + 5'], ['note', "'late'"]], predicate: 'delay > 60',
   * })
   * ```
   */
  readonly updateTable: (
    request: UpdateTableRequest,
    options?: OperationOptions,
  ) => Promise<UpdateTableResponse>

  /**
   * Merges rows into a table. Rows match when they have the same values in the columns `on`: one, or several as a list or
   * with commas between. NULL is the same as nothing. At least one of these says what to do:
   *
   * - `when_matched_update_all` gives the columns of the rows to merge to the rows of the table that match; others keep
   *   their values. `when_matched_update_all_filt` is a condition for it on `source.x` and `target.x`.
   * - `when_matched_delete` deletes those rows instead.
   * - `when_not_matched_insert_all` inserts the rows that match none of the table.
   * - `when_not_matched_by_source_delete` deletes the rows of the table that match none of these, or of them those for
   *   which `when_not_matched_by_source_delete_filt` holds.
   *
   * Several rows that would update one are refused. Answers with the numbers of rows, and with the version, which is a new
   * one even when nothing changed. Rows that others insert meanwhile are looked into, too. A table that is only declared
   * is created with the rows. `timeout`, such as `30s` or `5m`, ends the merge when it takes longer. `use_index` changes
   * nothing, as rows are found without an index.
   *
   * ```ts
   * const { num_updated_rows } = await catalog.mergeInsertIntoTable({
   *   id: ['prod', 'flights'], on: 'number', data: [{ number: 7, delay: 12 }],
   *   when_matched_update_all: true, when_not_matched_insert_all: true,
   * })
   * ```
   */
  readonly mergeInsertIntoTable: (
    request: MergeInsertIntoTableRequest,
    options?: OperationOptions,
  ) => Promise<MergeInsertIntoTableResponse>

  /**
   * Counts the rows of a table: of its latest version or the one that `version` or `tag` names, all rows or those that
   * match a predicate. Without a predicate no row is read.
   *
   * ```ts
   * const { count } = await catalog.countTableRows({ id: ['prod', 'flights'], predicate: 'delay > 60' })
   * ```
   */
  readonly countTableRows: (
    request: CountTableRowsRequest,
    options?: OperationOptions,
  ) => Promise<CountTableRowsResponse>

  /**
   * Reads rows of a table, in the order they were inserted or in that of `order_by`: `data` holds the bytes of an Arrow
   * IPC file. `columns` picks and renames columns, nested ones by their path, and computes others by an SQL expression.
   * `filter` is a predicate. `order_by` has a key or several, the first one first. `limit` and `offset` cut the result;
   * the protocol also calls the limit `k`. With `with_row_id` the column `_rowid` has the id of each row.
   *
   * With `vector` it answers the `k` rows whose vectors are nearest, the nearest first, and their `_distance`. Every
   * vector is compared, so these are exactly the nearest.
   *
   * ```ts
   * const { data } = await catalog.queryTable({
   *   id: ['prod', 'flights'], columns: ['delay', 'distance'], filter: 'delay > 60', limit: 10,
   *   order_by: [{ column_name: 'delay', ascending: false }],
   * })
   * const rows = tableFromIPC(data).toArray()   // with any Arrow library
   *
   * await catalog.queryTable({ id: ['docs'], vector: [0.1, 0.7, 0.2], k: 5, distance_type: 'cosine' })
   * ```
   */
  readonly queryTable: (request: QueryTableRequest, options?: OperationOptions) => Promise<QueryTableResponse>

  /**
   * Explains how a query would be run, without running it: what is scanned, and what statistics of columns leave out. Each
   * line is a step, and works on what the lines below it give.
   */
  readonly explainTableQueryPlan: (
    request: ExplainTableQueryPlanRequest,
    options?: OperationOptions,
  ) => Promise<ExplainTableQueryPlanResponse>

  /** Runs a query and answers with its plan, and the rows and the time of each step. The rows themselves are left out. */
  readonly analyzeTableQueryPlan: (
    request: AnalyzeTableQueryPlanRequest,
    options?: OperationOptions,
  ) => Promise<AnalyzeTableQueryPlanResponse>

  /**
   * Reports the size of a table: bytes, rows, indexes, and how many rows its fragments have. They are those of the latest
   * version, or of the one that `version`, `tag` or `branch` picks; `version` and `tag` are not part of the protocol.
   */
  readonly getTableStats: (
    request: GetTableStatsRequest,
    options?: OperationOptions,
  ) => Promise<GetTableStatsResponse>

  /**
   * Replaces a table's schema metadata as a whole with the given pairs, in a new version, and answers with them.
   *
   * ```ts
   * await catalog.updateTableSchemaMetadata({ id: ['prod', 'flights'], metadata: { source: 'FAA', unit: 'minutes' } })
   * ```
   */
  readonly updateTableSchemaMetadata: (
    request: UpdateTableSchemaMetadataRequest,
    options?: OperationOptions,
  ) => Promise<UpdateTableSchemaMetadataResponse>

  /**
   * Adds columns to a table, behind those it has, and answers with the version that has them. A column gets the values
   * of an SQL `expression` over the columns that were there, or with a `data_type` it is null in all rows. `schema` is an
   * Arrow schema whose columns are all null at first. Expressions are computed once, also for rows that others insert
   * meanwhile; rows inserted later have a value of their own, or null. No other column is written again.
   *
   * ```ts
   * await catalog.alterTableAddColumns({
   *   id: ['prod', 'flights'],
   *   new_columns: [{ name: 'late', expression: 'delay > 60' }, { name: 'note', data_type: { type: 'string' } }],
   * })
   * ```
   */
  readonly alterTableAddColumns: (
    request: AlterTableAddColumnsRequest,
    options?: OperationOptions,
  ) => Promise<AlterTableAddColumnsResponse>

  /**
   * Renames columns, changes their types, or whether they may be null, and answers with the version that has them so.
   * `path` names a column, or a field within structs with dots between the names. All alterations of a request make one
   * version, and all of their paths are those before it. Of another type, a column is written again, and no other column
   * is. A value that the new type cannot hold, or a null in a column that must not be null, is named, and changes nothing.
   *
   * ```ts
   * await catalog.alterTableAlterColumns({
   *   id: ['prod', 'flights'],
   *   alterations: [{ path: 'delay', rename: 'minutes', data_type: { type: 'int16' } }, { path: 'origin', nullable: false }],
   * })
   * ```
   */
  readonly alterTableAlterColumns: (
    request: AlterTableAlterColumnsRequest,
    options?: OperationOptions,
  ) => Promise<AlterTableAlterColumnsResponse>

  /**
   * Drops columns of a table, or fields within structs, and answers with the version that no longer has them. A struct
   * goes with the last of its fields. Nothing is written again: earlier versions, tags and branches still have the
   * columns, and `optimizeTable` leaves out their bytes. The last column of a table stays.
   *
   * ```ts
   * await catalog.alterTableDropColumns({ id: ['prod', 'flights'], columns: ['note', 'address.street'] })
   * ```
   */
  readonly alterTableDropColumns: (
    request: AlterTableDropColumnsRequest,
    options?: OperationOptions,
  ) => Promise<AlterTableDropColumnsResponse>

  /**
   * Changes the metadata of a table's fields, in a new version, and answers with all pairs of each field that was named.
   * Pairs are added to the existing ones, or with `replace` take their place. A null removes a key.
   *
   * ```ts
   * await catalog.updateFieldMetadata({ id: ['prod', 'flights'], updates: [{ path: 'delay', metadata: { unit: 'minutes' } }] })
   * ```
   */
  readonly updateFieldMetadata: (
    request: UpdateFieldMetadataRequest,
    options?: OperationOptions,
  ) => Promise<UpdateFieldMetadataResponse>

  /**
   * Merges a table's small fragments, and rewrites fragments that have many deleted rows. The result is a new version
   * with the same rows in the same order. Where there is nothing to do, no version is made and `optimized` is false.
   * Earlier versions, tags and other branches stay as they are. `catalog.vacuum()` frees the space of fragments that no
   * version needs any more. Rows that others insert meanwhile stay, and rows that others delete stay deleted.
   *
   * A merged fragment has at most `target_rows` rows (default: 1,048,576) and about `target_bytes` bytes (default:
   * 128 MiB), which also bounds the memory that merging takes. A fragment counts as small up to half of that. It is
   * rewritten when the share of its deleted rows is at least `min_deleted_share` (default: 0.1). The numbers in the
   * answer are those of the whole table, except for `rewritten_rows`.
   *
   * ```ts
   * const { fragments_before, fragments_after } = await catalog.optimizeTable({ id: ['prod', 'flights'] })
   * ```
   */
  readonly optimizeTable: (
    request: OptimizeTableRequest,
    options?: OperationOptions,
  ) => Promise<OptimizeTableResponse>

  /**
   * Records an index on a column, in a new version. Queries and searches answer the same with it and without it, and the
   * statistics of the index say that it holds no rows. It is named after its column unless `name` says otherwise, and
   * replaces one of the same name on that column unless `replace` is false.
   *
   * ```ts
   * await catalog.createTableIndex({ id: ['docs'], column: 'embedding', index_type: 'IVF_PQ', distance_type: 'cosine' })
   * ```
   */
  readonly createTableIndex: (
    request: CreateTableIndexRequest,
    options?: OperationOptions,
  ) => Promise<CreateTableIndexResponse>

  /** Records an index of single values or of lists of them, as `createTableIndex` does. */
  readonly createTableScalarIndex: (
    request: CreateTableScalarIndexRequest,
    options?: OperationOptions,
  ) => Promise<CreateTableScalarIndexResponse>

  /**
   * Lists the indexes of a table by name, a page at a time. Each covers all rows: answers are exact and complete,
   * whatever was added since the index was created.
   */
  readonly listTableIndices: (
    request: ListTableIndicesRequest,
    options?: OperationOptions,
  ) => Promise<ListTableIndicesResponse>

  /** Describes an index: its type, and how many rows it covers, which is all of them. */
  readonly describeTableIndexStats: (
    request: DescribeTableIndexStatsRequest,
    options?: OperationOptions,
  ) => Promise<DescribeTableIndexStatsResponse>

  /** Drops an index, in a new version; older versions still have it. */
  readonly dropTableIndex: (
    request: DropTableIndexRequest,
    options?: OperationOptions,
  ) => Promise<DropTableIndexResponse>

  /**
   * Lists the versions of a table's branch, oldest first or, with `descending`, latest first, a page at a time. With
   * `with_transactions` each comes with the transaction that made it, as far as that is recorded.
   */
  readonly listTableVersions: (
    request: ListTableVersionsRequest,
    options?: OperationOptions,
  ) => Promise<ListTableVersionsResponse>

  /** Answers with the record of one version of a table, which `version` or `tag` names. */
  readonly describeTableVersion: (
    request: DescribeTableVersionRequest,
    options?: OperationOptions,
  ) => Promise<DescribeTableVersionResponse>

  /**
   * Records a version that a client wrote at the table's location. The first one may have any number. Each later one must
   * be exactly the latest plus one, so one of two concurrent writers fails with `ConcurrentModification`.
   *
   * A retry is safe where the catalog can distinguish it from another writer: the same record again succeeds and changes
   * nothing when `manifest_path` ends in a name with a UUID, as staged manifests of Lance do, or when both requests had
   * the same header `idempotency-key` or `x-request-id` (in process: the entry `header.idempotency-key` of `context`).
   * Otherwise the same record again is `ConcurrentModification`, since two writers may have chosen the same name.
   *
   * Where the catalog can reach the location, a manifest named `_versions/NAME.manifest-UUID`, as Lance's writers name
   * theirs, gets its final name before the answer. The answer has that name. The first version of a branch of Lance makes
   * the branch.
   */
  readonly createTableVersion: (
    request: CreateTableVersionRequest,
    options?: OperationOptions,
  ) => Promise<CreateTableVersionResponse>

  /**
   * Creates versions of one or many tables in one atomic step: all of them, or none. Manifests of Lance get their final
   * names after that step, in the order of their versions.
   */
  readonly batchCreateTableVersions: (
    request: BatchCreateTableVersionsRequest,
    options?: OperationOptions,
  ) => Promise<BatchCreateTableVersionsResponse>

  /**
   * Deletes ranges of versions of a table, start inclusive, end exclusive, −1 meaning all through the latest;
   * answers with how many there were. A tagged version refuses, and then nothing is deleted. The numbers of
   * deleted versions are never given again.
   *
   * Of a table of Lance, the manifests are removed, too. Its latest version refuses, and so does one that a branch begins
   * with.
   */
  readonly batchDeleteTableVersions: (
    request: BatchDeleteTableVersionsRequest,
    options?: OperationOptions,
  ) => Promise<BatchDeleteTableVersionsResponse>

  /**
   * Creates a tag: a name for one version of a table, which then cannot be deleted. Of a table of Lance, the tag is Lance's
   * own, and Lance's cleanup keeps the version.
   */
  readonly createTableTag: (
    request: CreateTableTagRequest,
    options?: OperationOptions,
  ) => Promise<CreateTableTagResponse>

  /**
   * Moves an existing tag to another version, and to another branch when one is named.
   *
   * ```ts
   * await catalog.updateTableTag({ id: ['prod', 'flights'], tag: 'stable', version: 12 })
   * ```
   */
  readonly updateTableTag: (
    request: UpdateTableTagRequest,
    options?: OperationOptions,
  ) => Promise<UpdateTableTagResponse>

  /** Answers with the version a tag points to, and its branch unless that is the main one. */
  readonly getTableTagVersion: (
    request: GetTableTagVersionRequest,
    options?: OperationOptions,
  ) => Promise<GetTableTagVersionResponse>

  /** Lists a table's tags by name, a page at a time. */
  readonly listTableTags: (
    request: ListTableTagsRequest,
    options?: OperationOptions,
  ) => Promise<ListTableTagsResponse>

  /** Deletes a tag; the version it named stays. */
  readonly deleteTableTag: (
    request: DeleteTableTagRequest,
    options?: OperationOptions,
  ) => Promise<DeleteTableTagResponse>

  /**
   * Creates a branch from a version of another (by default the latest of the main branch). The branch starts
   * with that version under the same number, and later versions count on from there. Later changes of the other branch
   * do not affect the new one. Of a table of Lance, the branch is Lance's own.
   */
  readonly createTableBranch: (
    request: CreateTableBranchRequest,
    options?: OperationOptions,
  ) => Promise<CreateTableBranchResponse>

  /** Lists a table's branches other than the main one by name, a page at a time. */
  readonly listTableBranches: (
    request: ListTableBranchesRequest,
    options?: OperationOptions,
  ) => Promise<ListTableBranchesResponse>

  /** Deletes a branch with its versions. A branch that a tag points to refuses. */
  readonly deleteTableBranch: (
    request: DeleteTableBranchRequest,
    options?: OperationOptions,
  ) => Promise<DeleteTableBranchResponse>

  /**
   * Begins a transaction for operations that follow one by one: each names the `transaction_id` as its option
   * `transaction`, or over HTTP as the header `x-tabularium-transaction`. They see what those before them did. Others do
   * not. `commitTransaction` commits all of it at once, and `rollbackTransaction` gives it up.
   *
   * With the `isolation` `ReadCommitted`, the commit compares only what the changes looked at, and not all that was read.
   *
   * With `retry_of`, it retries another transaction of the caller that ended without a commit. After two lost races, the
   * answer comes once this one has turns at the branches where they were lost, ten seconds later at most. Fails with
   * `ConcurrentModification` when that one is committed, `InvalidInput` when it is still open, and `TransactionNotFound`
   * when it is unknown, or not the caller's.
   *
   * The transaction lives in the process that began it, and belongs to its caller. Other servers over the catalog pass
   * its requests on. When no request comes for `idle_timeout_seconds`, it expires. Prefer `catalog.transaction(…)`, which
   * does the three in one and runs again after a lost race.
   *
   * ```ts
   * const { transaction_id: transaction } = await catalog.beginTransaction({})
   * await catalog.insertIntoTable({ id: ['orders'], data }, { transaction })
   * await catalog.deleteFromTable({ id: ['cart'], predicate: 'user = 7' }, { transaction })
   * await catalog.commitTransaction({ id: [transaction] })
   * ```
   */
  readonly beginTransaction: (
    request: BeginTransactionRequest,
    options?: OperationOptions,
  ) => Promise<BeginTransactionResponse>

  /**
   * Commits a transaction of `beginTransaction`: all that its operations did is there at once and durably, or none of it.
   * Asked again, it answers the same.
   *
   * `ConcurrentModification` when others changed what it read, or when it was canceled: then nothing of it is committed.
   * `TransactionNotFound` when it has expired, or is not the caller's. `InvalidInput` while an operation inside is still
   * running; it stays open then.
   */
  readonly commitTransaction: (
    request: CommitTransactionRequest,
    options?: OperationOptions,
  ) => Promise<CommitTransactionResponse>

  /**
   * Rolls back a transaction of `beginTransaction`: nothing of it is committed, and operations inside that still run are
   * stopped. Its record says Canceled, or Failed with the `failure` of the request. Does nothing to one that has ended
   * without a commit.
   */
  readonly rollbackTransaction: (
    request: RollbackTransactionRequest,
    options?: OperationOptions,
  ) => Promise<RollbackTransactionResponse>

  /**
   * Describes a transaction: its status, and as properties what it did, when, and why it failed if it did. After
   * `Succeeded` the whole change is visible. A final status does not change. A transaction whose process died while it
   * ran is `Failed` once its lease has ended, the time in `lease_until`. Where the catalog cannot be written, nothing can
   * record that: then it stays `Running`.
   *
   * ```ts
   * const { transaction_id } = await catalog.deleteFromTable({ id: ['prod', 'flights'], predicate: 'delay > 60' })
   * const { status } = await catalog.describeTransaction({ id: [transaction_id!] })   // 'Succeeded'
   * ```
   */
  readonly describeTransaction: (
    request: DescribeTransactionRequest,
    options?: OperationOptions,
  ) => Promise<DescribeTransactionResponse>

  /**
   * Lists transactions, the newest first, a page at a time: those under way, and those that ended and are still recorded.
   * `status` asks for some statuses only, and `since_millis` for those that began then or later. A page may be short, or
   * empty, and still have a `page_token`: one request looks at a few thousand records at most.
   *
   * Not part of the protocol. Transactions of `beginTransaction` are listed for the caller who began them, and for
   * callers without a name. With hooks, other transactions are listed for callers who may describe their subjects.
   *
   * ```ts
   * const { transactions } = await catalog.listTransactions({ status: ['Queued', 'Running'] })
   * for (const { transaction_id, operation, subject } of transactions) …
   * ```
   */
  readonly listTransactions: (
    request: ListTransactionsRequest,
    options?: OperationOptions,
  ) => Promise<ListTransactionsResponse>

  /**
   * Changes a transaction: sets its status, sets or unsets properties; all actions, or none. Setting a running
   * transaction to `Canceled` stops its work and makes its commit fail. A finished one keeps its status.
   */
  readonly alterTransaction: (
    request: AlterTransactionRequest,
    options?: OperationOptions,
  ) => Promise<AlterTransactionResponse>

  /**
   * Commits a batch of mixed operations on any number of tables in one atomic step: all of them, or none. They
   * run in order and each sees what those before it did; the first that fails undoes everything, and the error
   * says which it was. Results come in the same order, each under the member its operation had.
   *
   * ```ts
   * await catalog.batchCommitTables({
   *   operations: [
   *     { create_table_version: { id: ['prod', 'orders'], version: 8, manifest_path: '_versions/8.manifest' } },
   *     { create_table_version: { id: ['prod', 'lines'], version: 5, manifest_path: '_versions/5.manifest' } },
   *     { declare_table: { id: ['prod', 'returns'] } },
   *   ],
   * })
   * ```
   */
  readonly batchCommitTables: (
    request: BatchCommitTablesRequest,
    options?: OperationOptions,
  ) => Promise<BatchCommitTablesResponse>

  /** Backfill columns. Not supported. */
  readonly alterTableBackfillColumns: (
    request: AlterTableBackfillColumnsRequest,
    options?: OperationOptions,
  ) => Promise<AlterTableBackfillColumnsResponse>

  /** Create a materialized view. Not supported. */
  readonly createMaterializedView: (
    request: CreateMaterializedViewRequest,
    options?: OperationOptions,
  ) => Promise<CreateMaterializedViewResponse>

  /** Refresh a materialized view. Not supported. */
  readonly refreshMaterializedView: (
    request: RefreshMaterializedViewRequest,
    options?: OperationOptions,
  ) => Promise<RefreshMaterializedViewResponse>
}

// The end of the derived part
