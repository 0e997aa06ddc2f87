import type { IncomingHttpHeaders } from 'node:http'
import type { ErrorCode } from '../../base/errors.ts'
import { limits } from '../../base/model/fields.ts'
import type { OperationName } from '../../catalog/operations/index.ts'
import type { ErrorStatus } from '../../protocol/status.ts'
import type { Dialect, Fields } from './dialect.ts'
import { lancedbRules } from './lancedb-types.ts'

/*
 * All that LanceDB's clients (0.39) do differently from the protocol. The remote client,
 * `connect('db://…', { hostOverride })`, differs often, and its headers tell it from others. The namespace client,
 * `connectNamespace('rest', …)`, differs little, and nothing tells it from others. A server for that client must
 * be set to list children.
 */

/**
 * Whether the headers are those of LanceDB's remote client, which names its database to every server but LanceDB's
 * own. Its other headers do not tell: the namespace client asks with `x-lancedb-min-timestamp` for answers no older
 * than its writes, as all answers here are, and any client may have a key.
 */
export function isLanceDb(headers: IncomingHttpHeaders): boolean {
  return headers['x-lancedb-database'] !== undefined
}

/** Whether the namespace client sends the headers: after it wrote, it asks for answers no older than its writes. */
export function asksForFreshAnswers(headers: IncomingHttpHeaders): boolean {
  return headers['x-lancedb-min-timestamp'] !== undefined || headers['x-lancedb-min-version'] !== undefined
}

export const lancedbDialect: Dialect = {
  name: 'lancedb',
  // The client writes identifiers into the path as they are.
  plusIsSpace: false,
  // The client sends several vectors in one query from this version on, and before that each in a query of its own.
  // From 0.3.0 on it sends more of full-text queries, and from 0.4.0 on it inserts in several parts.
  headers: { 'phalanx-version': '0.2.0' },
  listing: 'children',
  rules: lancedbRules,
  // The client asks for all tables where it means those of the root.
  operation: (operation) => (operation === 'listAllTables' ? 'listTables' : operation),
  // Columns of nulls come as a stream that has their schema and no rows.
  arrowField: (operation) => (operation === 'alterTableAddColumns' ? 'schema' : undefined),
  request: (operation, request, headers) =>
    operation === 'mergeInsertIntoTable'
      ? withTimeout(request, headers)
      : (requests[operation]?.(request) ?? request),
  response: (operation, response) => responses[operation]?.(response) ?? response,
  status: statusOf,
  // The client thinks that every 404 below a table means the table itself.
  unknownRoute: 406,
}

/** The dialect of the namespace client. A server that is set to list children uses it for all clients. */
export const namespaceDialect: Dialect = {
  name: 'namespace',
  plusIsSpace: true,
  listing: 'children',
  request: (operation, request) => namespaceRequests[operation]?.(request) ?? request,
}

type Rewrite<T> = { readonly [Name in OperationName]?: (fields: Fields) => T }

const namespaceRequests: Rewrite<Fields> = {
  // Without version and columns the client takes the name for free, and writes rows of its own there.
  describeTable: (request) => ({
    ...request,
    load_detailed_metadata: request.load_detailed_metadata ?? true,
    ...vending(request),
  }),
  declareTable: (request) => ({ ...request, ...vending(request) }),
  listTables: wholeListing,
}

/** The client uses credentials that it gets, and does not ask for them when it opens a table or makes one. */
function vending({ vend_credentials }: Fields): Fields {
  return { vend_credentials: vend_credentials ?? true }
}

const requests: Rewrite<Fields> = {
  createNamespace: unquoteWords,
  dropNamespace: unquoteWords,
  createTable: unquoteWords,
  insertIntoTable: unquoteWords,
  registerTable: unquoteWords,
  // The client opens a table by describing it, and needs its version and columns.
  describeTable: (request) => ({ ...request, load_detailed_metadata: true }),
  renameTable: ({ new_namespace, ...request }) =>
    new_namespace === undefined ? request : { new_namespace_id: new_namespace, ...request },
  // The client reads one page of these listings, and does not hand on the token.
  listTables: wholeListing,
  listTableVersions: wholeListing,
  listTableTags: wholeListing,
  listTableBranches: wholeListing,
  createTableIndex: indexed,
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
    versions: (versions as readonly Fields[]).map(dated),
  }),
  listTableTags: ({ tags }) => tags,
  mergeInsertIntoTable: (response) => ({
    num_attempts: 1,
    num_rows: Number(response.num_inserted_rows) + Number(response.num_updated_rows),
    ...response,
  }),
  updateTable: (response) => ({ rows_updated: response.updated_rows, ...response }),
}

/** Clients before 0.37 read this time, and no milliseconds. */
function dated(version: Fields): Fields {
  const { timestamp_millis: millis } = version
  return millis === undefined ? version : { ...version, timestamp: new Date(Number(millis)).toISOString() }
}

/** The request for the largest page. */
function wholeListing(request: Fields): Fields {
  return { ...request, limit: request.limit ?? limits.page }
}

/** `mode` and `behavior` come with quotation marks inside the string: `"\"Create\""`. */
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

/** The distance has another name. A full-text index has many parameters, and is refused for what it is. */
function indexed({ metric_type, ...request }: Fields): Fields {
  const { id, branch, column, index_type } = request
  if (index_type === 'FTS') return { id, branch, column, index_type }
  return metric_type === undefined ? request : { distance_type: metric_type, ...request }
}

/** The timeout of a merge comes as a header. That of a query comes so, too, and the client ends such a query itself. */
function withTimeout(request: Fields, headers: IncomingHttpHeaders): Fields {
  const millis = headers['x-request-timeout-ms']
  return millis === undefined ? request : { timeout: `${millis}ms`, ...request }
}

function withAliases(query: Fields): Fields {
  return query.columns === undefined ? query : { ...query, columns: aliased(query.columns) }
}

/** Columns come as a list, or as a map of new names to expressions. Clients of 2025 send pairs of both instead. */
function aliased(columns: unknown): unknown {
  if (Array.isArray(columns) && columns.length > 0 && columns.every(isPair)) {
    const aliases = Object.fromEntries(columns)
    // A name that is there twice would lose one of its expressions.
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
 * Errors that answer 400 to this client. It sends a request again on 409, which does not help where nothing will
 * change. It thinks that every 404 on a table means the table itself, but for an index that it
 * describes or drops.
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

/** What the client makes an error of its own of, because it knows which branch it asked for. */
const ofBranches: { readonly [Name in OperationName]?: { readonly [Code in ErrorCode]?: ErrorStatus } } = {
  // It sends this request once.
  createTableBranch: { TableBranchAlreadyExists: 409, TableBranchNotFound: 404, TableVersionNotFound: 404 },
  deleteTableBranch: { TableBranchNotFound: 404 },
}

function statusOf(code: ErrorCode, operation: OperationName): ErrorStatus | undefined {
  const ofBranch = ofBranches[operation]?.[code]
  if (ofBranch !== undefined) return ofBranch
  // The client asks for a table at a version here, and names the missing version itself.
  if (code === 'TableVersionNotFound') return operation === 'describeTable' ? 404 : 400
  return badRequests.has(code) ? 400 : undefined
}
