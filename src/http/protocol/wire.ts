import type { OperationName } from '../../operations/index.ts'

export { contextOfHeaders, headerPrefix, headersOfContext } from './context.ts'
export { checkDelimiter, decodePathId, encodePathId } from './path-id.ts'
export { decodeQuery, encodeQuery, type QueryKind } from './query.ts'

import type { QueryKind } from './query.ts'

export type Method = 'GET' | 'POST'

/**
 * How an operation travels over HTTP. Source of the routes: the service document, sections 4.1 to 4.9, and the
 * Lance Namespace protocol's OpenAPI file for the operations that the document does not list.
 */
export interface Route {
  /** The first one is the protocol's; the others are taken too, because clients disagree. */
  readonly methods: readonly [Method, ...Method[]]
  /** `{id}` stands for the request's `id`, another name in braces for the field of that name. */
  readonly path: string
  /** The fields of the request that travel in the query string, besides `delimiter`, which all take. */
  readonly query: Readonly<Record<string, QueryKind>>
  /** Fields that are read from the query string besides the body, for clients that send a GET. */
  readonly queryToo: Readonly<Record<string, QueryKind>>
  /**
   * What the body of the request is: the JSON object of all fields that are not in path or query; the bare
   * map `metadata`; the Arrow IPC bytes `data`; or nothing at all.
   */
  readonly body: 'json' | 'metadata' | 'arrow' | 'none'
  /** What the body of the response is: its JSON object, the bare `count`, the bare `metadata`, Arrow `data`. */
  readonly answer: 'json' | 'count' | 'metadata' | 'arrow'
  /** Whether it reads or writes rows, and so may take long. */
  readonly rows: boolean
}

/** Content types of Arrow IPC data, and of bytes that do not say what they are. */
export const arrowStreamType = 'application/vnd.apache.arrow.stream'
export const arrowFileType = 'application/vnd.apache.arrow.file'
export const bytesType = 'application/octet-stream'
export const jsonType = 'application/json'

/** The response header that carries `transaction_id` where the body is bare and has no room for it. */
export const transactionHeader = 'x-tabularium-transaction-id'

/** The header that names a request: taken from the request, made up otherwise, and always in the response. */
export const requestIdHeader = 'x-request-id'

function post(path: string, more: Partial<Route> = {}): Route {
  return {
    methods: ['POST'],
    path,
    query: {},
    queryToo: {},
    body: 'json',
    answer: 'json',
    rows: false,
    ...more,
  }
}

function get(path: string, query: Route['query']): Route {
  return { ...post(path), methods: ['GET'], query, body: 'none' }
}

const page = { page_token: 'text', limit: 'integer' } as const
const listing = { ...page, include_declared: 'boolean' } as const

/** How each operation of the record travels. */
export const wire: { readonly [Name in OperationName]: Route } = {
  createNamespace: post('/v1/namespace/{id}/create'),
  listNamespaces: get('/v1/namespace/{id}/list', page),
  describeNamespace: post('/v1/namespace/{id}/describe'),
  dropNamespace: post('/v1/namespace/{id}/drop'),
  namespaceExists: post('/v1/namespace/{id}/exists'),
  listTables: get('/v1/namespace/{id}/table/list', listing),
  listAllTables: get('/v1/table', listing),

  createTable: post('/v1/table/{id}/create', {
    body: 'arrow',
    query: { mode: 'text', properties: 'map', storage_options: 'map' },
    rows: true,
  }),
  declareTable: post('/v1/table/{id}/declare'),
  registerTable: post('/v1/table/{id}/register'),
  describeTable: post('/v1/table/{id}/describe', {
    query: { with_table_uri: 'boolean', load_detailed_metadata: 'boolean', check_declared: 'boolean' },
  }),
  tableExists: post('/v1/table/{id}/exists'),
  renameTable: post('/v1/table/{id}/rename'),
  deregisterTable: post('/v1/table/{id}/deregister'),
  dropTable: post('/v1/table/{id}/drop', { body: 'none' }),
  restoreTable: post('/v1/table/{id}/restore', { rows: true }),

  insertIntoTable: post('/v1/table/{id}/insert', {
    body: 'arrow',
    query: { branch: 'text', mode: 'text' },
    rows: true,
  }),
  deleteFromTable: post('/v1/table/{id}/delete', { rows: true }),
  countTableRows: post('/v1/table/{id}/count_rows', {
    methods: ['POST', 'GET'],
    queryToo: { version: 'integer', branch: 'text', predicate: 'text' },
    answer: 'count',
    rows: true,
  }),
  queryTable: post('/v1/table/{id}/query', { answer: 'arrow', rows: true }),
  updateTableSchemaMetadata: post('/v1/table/{id}/schema_metadata/update', {
    body: 'metadata',
    query: { branch: 'text' },
    answer: 'metadata',
    rows: true,
  }),

  // Not the protocol's: what it has no operation for.
  optimizeTable: post('/v1/table/{id}/optimize', { rows: true }),

  listTableVersions: post('/v1/table/{id}/version/list', {
    methods: ['POST', 'GET'],
    body: 'none',
    query: { branch: 'text', ...page, descending: 'boolean' },
  }),
  describeTableVersion: post('/v1/table/{id}/version/describe'),
  createTableVersion: post('/v1/table/{id}/version/create'),
  batchDeleteTableVersions: post('/v1/table/{id}/version/delete'),
  batchCreateTableVersions: post('/v1/table/version/batch-create'),
  batchCommitTables: post('/v1/table/batch-commit'),

  createTableTag: post('/v1/table/{id}/tags/create'),
  updateTableTag: post('/v1/table/{id}/tags/update'),
  getTableTagVersion: post('/v1/table/{id}/tags/version'),
  listTableTags: post('/v1/table/{id}/tags/list', { methods: ['POST', 'GET'], body: 'none', query: page }),
  deleteTableTag: post('/v1/table/{id}/tags/delete'),

  createTableBranch: post('/v1/table/{id}/branches/create'),
  listTableBranches: post('/v1/table/{id}/branches/list', {
    methods: ['POST', 'GET'],
    body: 'none',
    query: page,
  }),
  deleteTableBranch: post('/v1/table/{id}/branches/delete'),

  describeTransaction: post('/v1/transaction/{id}/describe'),
  alterTransaction: post('/v1/transaction/{id}/alter'),

  mergeInsertIntoTable: post('/v1/table/{id}/merge_insert', {
    body: 'arrow',
    query: {
      branch: 'text',
      on: 'text',
      when_matched_update_all: 'boolean',
      when_matched_update_all_filt: 'text',
      when_not_matched_insert_all: 'boolean',
      when_not_matched_by_source_delete: 'boolean',
      when_not_matched_by_source_delete_filt: 'text',
      timeout: 'text',
      use_index: 'boolean',
    },
    rows: true,
  }),
  updateTable: post('/v1/table/{id}/update', { rows: true }),
  alterTableAddColumns: post('/v1/table/{id}/add_columns', { rows: true }),
  alterTableAlterColumns: post('/v1/table/{id}/alter_columns'),
  alterTableDropColumns: post('/v1/table/{id}/drop_columns'),
  alterTableBackfillColumns: post('/v1/table/{id}/backfill_column'),
  updateFieldMetadata: post('/v1/table/{id}/update_field_metadata'),
  getTableStats: post('/v1/table/{id}/stats', { methods: ['POST', 'GET'] }),
  explainTableQueryPlan: post('/v1/table/{id}/explain_plan'),
  analyzeTableQueryPlan: post('/v1/table/{id}/analyze_plan'),
  createTableIndex: post('/v1/table/{id}/create_index'),
  createTableScalarIndex: post('/v1/table/{id}/create_scalar_index'),
  listTableIndices: post('/v1/table/{id}/index/list', { methods: ['POST', 'GET'] }),
  describeTableIndexStats: post('/v1/table/{id}/index/{index_name}/stats', { methods: ['POST', 'GET'] }),
  dropTableIndex: post('/v1/table/{id}/index/{index_name}/drop', { body: 'none', query: { branch: 'text' } }),
  createMaterializedView: post('/v1/materialized_view/{id}/create'),
  refreshMaterializedView: post('/v1/materialized_view/{id}/refresh'),
}
