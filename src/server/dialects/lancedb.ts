import type { IncomingHttpHeaders } from 'node:http'
import type { ErrorCode } from '../../base/errors.ts'
import { limits } from '../../base/model/fields.ts'
import type { OperationName } from '../../catalog/operations/index.ts'
import type { ErrorStatus } from '../../protocol/status.ts'
import type { Dialect, Fields } from './dialect.ts'
import { lancedbRules } from './lancedb-types.ts'

/*
 * All deviations of LanceDB's clients (0.39) from the protocol. The remote client, by `connect('db://…', …)` with
 * `hostOverride`, has many, and its headers identify it. The namespace client, by `connectNamespace('rest', …)`, has
 * few, and nothing identifies it. A server for that client needs `listing: 'children'`.
 */

/**
 * Whether the headers are those of LanceDB's remote client, which sends its database name to every server except
 * LanceDB's own. Its other headers do not identify it: the namespace client also sends `x-lancedb-min-timestamp`, and
 * any client may have an API key.
 */
export function isLanceDb(headers: IncomingHttpHeaders): boolean {
  return headers['x-lancedb-database'] !== undefined
}

/** Whether the headers are those of the namespace client after a write. They request answers not older than that. */
export function asksForFreshAnswers(headers: IncomingHttpHeaders): boolean {
  return headers['x-lancedb-min-timestamp'] !== undefined || headers['x-lancedb-min-version'] !== undefined
}

export const lancedbDialect: Dialect = {
  name: 'lancedb',
  // The client does not encode identifiers in the path.
  plusIsSpace: false,
  // From this version on, the client sends several vectors in one query, not one query for each. From 0.3.0 on it sends
  // more fields of full-text queries, and from 0.4.0 on it inserts in several parts.
  headers: { 'phalanx-version': '0.2.0' },
  listing: 'children',
  rules: lancedbRules,
  // The client requests all tables when it means those of the root.
  operation: (operation) => (operation === 'listAllTables' ? 'listTables' : operation),
  // Columns of nulls arrive as a stream with their schema and no rows.
  arrowField: (operation) => (operation === 'alterTableAddColumns' ? 'schema' : undefined),
  request: (operation, request, headers) =>
    operation === 'mergeInsertIntoTable'
      ? withTimeout(request, headers)
      : (requests[operation]?.(request) ?? request),
  response: (operation, response) => responses[operation]?.(response) ?? response,
  status: statusOf,
  // The client takes every 404 below a table as a missing table.
  unknownRoute: 406,
}

/** The dialect of the namespace client. A server with `listing: 'children'` uses it for all clients. */
export const namespaceDialect: Dialect = {
  name: 'namespace',
  plusIsSpace: true,
  listing: 'children',
  request: (operation, request) => namespaceRequests[operation]?.(request) ?? request,
}

type Rewrite<T> = { readonly [Name in OperationName]?: (fields: Fields) => T }

const namespaceRequests: Rewrite<Fields> = {
  // Without version and columns the client takes the name as unused, and writes its own rows there.
  describeTable: (request) => ({
    ...request,
    load_detailed_metadata: request.load_detailed_metadata ?? true,
    ...vending(request),
  }),
  declareTable: (request) => ({ ...request, ...vending(request) }),
  listTables: largestPage,
}

/** The client uses vended credentials, but does not request them when it opens or creates a table. */
function vending({ vend_credentials }: Fields): Fields {
  return { vend_credentials: vend_credentials ?? true }
}

const requests: Rewrite<Fields> = {
  createNamespace: unquoteWords,
  dropNamespace: unquoteWords,
  createTable: unquoteWords,
  insertIntoTable: unquoteWords,
  registerTable: unquoteWords,
  // The client opens a table by `describeTable`, and needs its version and columns.
  describeTable: (request) => ({ ...request, load_detailed_metadata: true }),
  renameTable: ({ new_namespace, ...request }) =>
    new_namespace === undefined ? request : { new_namespace_id: new_namespace, ...request },
  // The client reads one page of these listings, and does not return the page token to its caller.
  listTables: largestPage,
  listTableVersions: largestPage,
  listTableTags: largestPage,
  listTableBranches: largestPage,
  createTableIndex: indexRequest,
  queryTable: withAliases,
  analyzeTableQueryPlan: withAliases,
  explainTableQueryPlan: ({ query, ...request }) => ({
    ...request,
    query: isPlainMap(query) ? withAliases(query) : query,
  }),
}

const responses: Rewrite<unknown> = {
  listTableVersions: ({ versions, ...response }) => ({
    ...response,
    versions: (versions as readonly Fields[]).map(withTimestamp),
  }),
  listTableTags: ({ tags }) => tags,
  mergeInsertIntoTable: (response) => ({
    num_attempts: 1,
    num_rows: Number(response.num_inserted_rows) + Number(response.num_updated_rows),
    ...response,
  }),
  updateTable: (response) => ({ rows_updated: response.updated_rows, ...response }),
}

/** Clients before 0.37 read `timestamp`, and not `timestamp_millis`. */
function withTimestamp(version: Fields): Fields {
  const { timestamp_millis: millis } = version
  return millis === undefined ? version : { ...version, timestamp: new Date(Number(millis)).toISOString() }
}

/** The request with the largest page size. */
function largestPage(request: Fields): Fields {
  return { ...request, limit: request.limit ?? limits.page }
}

/** `mode` and `behavior` arrive with quotation marks inside the string: `"\"Create\""`. */
function unquoteWords(request: Fields): Fields {
  const { mode, behavior } = request
  if (!isQuoted(mode) && !isQuoted(behavior)) return request
  return {
    ...request,
    ...(isQuoted(mode) ? { mode: mode.slice(1, -1) } : {}),
    ...(isQuoted(behavior) ? { behavior: behavior.slice(1, -1) } : {}),
  }
}

function isQuoted(word: unknown): word is string {
  return typeof word === 'string' && word.length >= 2 && word.startsWith('"') && word.endsWith('"')
}

/** The distance has another name. Parameters of a full-text index are removed, so that its type is refused. */
function indexRequest({ metric_type, ...request }: Fields): Fields {
  const { id, branch, column, index_type } = request
  if (index_type === 'FTS') return { id, branch, column, index_type }
  return metric_type === undefined ? request : { distance_type: metric_type, ...request }
}

/** The timeout of a merge is in a header. That of a query is, too, but the client cancels such a query itself. */
function withTimeout(request: Fields, headers: IncomingHttpHeaders): Fields {
  const millis = headers['x-request-timeout-ms']
  return millis === undefined ? request : { timeout: `${millis}ms`, ...request }
}

function withAliases(query: Fields): Fields {
  return query.columns === undefined ? query : { ...query, columns: aliased(query.columns) }
}

/** Columns are a list, or a map from new names to expressions. Clients of 2025 send name-expression pairs instead. */
function aliased(columns: unknown): unknown {
  if (Array.isArray(columns) && columns.length > 0 && columns.every(isPair)) {
    const aliases = Object.fromEntries(columns)
    // A repeated name would lose one of its expressions.
    return Object.keys(aliases).length === columns.length ? { column_aliases: aliases } : columns
  }
  if (!isPlainMap(columns) || 'column_names' in columns || 'column_aliases' in columns) return columns
  return { column_aliases: columns }
}

function isPair(value: unknown): value is [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((text) => typeof text === 'string')
}

function isPlainMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Errors with status 400 for this client. It retries on 409, which is useless for permanent conflicts. It takes every
 * 404 on a table as a missing table, except for an index that it describes or drops.
 */
const badRequests: ReadonlySet<ErrorCode> = new Set([
  'TableAlreadyExists',
  'NamespaceAlreadyExists',
  'NamespaceNotEmpty',
  'TableTagAlreadyExists',
  'TableBranchAlreadyExists',
  'TableIndexAlreadyExists',
  'InvalidTableState',
  'TableTagNotFound',
  'TableBranchNotFound',
  'TableColumnNotFound',
  'TransactionNotFound',
])

/** Statuses that the client turns into its own errors, because it knows the requested branch. */
const branchErrors: { readonly [Name in OperationName]?: { readonly [Code in ErrorCode]?: ErrorStatus } } = {
  // The client does not retry this request.
  createTableBranch: { TableBranchAlreadyExists: 409, TableBranchNotFound: 404, TableVersionNotFound: 404 },
  deleteTableBranch: { TableBranchNotFound: 404 },
}

function statusOf(code: ErrorCode, operation: OperationName): ErrorStatus | undefined {
  const ofBranch = branchErrors[operation]?.[code]
  if (ofBranch !== undefined) return ofBranch
  // The client requests a table at a version here, and names the missing version itself.
  if (code === 'TableVersionNotFound') return operation === 'describeTable' ? 404 : 400
  return badRequests.has(code) ? 400 : undefined
}
