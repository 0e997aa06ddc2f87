import type { IncomingHttpHeaders } from 'node:http'
import { type ErrorCode, unsupported } from '../../base/errors.ts'
import { limits } from '../../base/model/fields.ts'
import type { ClientRules, UnreadableColumn } from '../../catalog/index.ts'
import type { OperationName } from '../../catalog/operations/index.ts'
import type { ErrorStatus } from '../../protocol/status.ts'
import type { Dialect, Fields, RequestRules } from './dialect.ts'

/*
 * All deviations of LanceDB's clients (0.39) from the protocol. The remote client, by `connect('db://…', …)` with
 * `hostOverride`, has many, and its headers identify it. The namespace client, by `connectNamespace('rest', …)`, has
 * few, and nothing identifies it. A server for that client needs `listing: 'children'`.
 */

/** By what the answers to opening and creating a table say here, the client chooses how to use that table. */
const versionHeader = 'phalanx-version'

export const lancedbDialect: Dialect = {
  name: 'lancedb',
  // The client does not encode identifiers in the path.
  plusIsSpace: false,
  // From 0.2.0 on, the client sends several vectors in one query, not one query for each. From 0.3.0 on it sends all
  // clauses of full-text queries, and from 0.4.0 on it inserts in several parts.
  headers: { [versionHeader]: '0.3.0' },
  listing: 'children',
  blobVersion: 'x-lancedb-version',
  rules: rulesOfRequest,
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
  unserved(path) {
    if (!/\/multipart_write\/\w+\/?$/.test(path)) return undefined
    return unsupported(
      'A table with blobs takes no rows in several parts, and the client sends more than a million rows so.',
      'Add at most a million rows at once.',
    )
  },
}

/** The dialect of the namespace client. A server with `listing: 'children'` uses it for all clients. */
export const namespaceDialect: Dialect = {
  name: 'namespace',
  plusIsSpace: true,
  // The client opens a table without asking for its columns. Whoever asks is told.
  readsLance: ({ load_detailed_metadata }) => !load_detailed_metadata,
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

/** The distance has another name. */
function indexRequest({ metric_type, ...request }: Fields): Fields {
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

/*
 * LanceDB's remote client decodes the columns of a table from their type names, and knows fewer names than Arrow has
 * types. An equivalent known type replaces an unknown one in descriptions and results. Columns of other types are
 * refused at creation, as LanceDB does for its own tables.
 */

type Field = Parameters<ClientRules['plain']>[0]
type FieldType = Field['type']

const texts = ['string', 'large_string', 'binary', 'large_binary']
const numbers = ['int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64']
const floats = ['halffloat', 'float', 'double']

/** Types that the client knows, by full name. */
const known: ReadonlySet<string> = new Set([
  ...['null', 'bool', ...numbers, ...floats, ...texts],
  ...['date32:day', 'date64:ms', 'fixed_size_binary'],
  ...['list', 'large_list', 'fixed_size_list', 'struct'],
])

/** Known types whose names have parameters. */
const knownWithParameters: ReadonlySet<string> = new Set([
  'time32',
  'time64',
  'timestamp',
  'duration',
  'decimal',
  'dict',
])

/** Types with an equivalent that the client knows. */
const plainNames: ReadonlyMap<string, string> = new Map([
  ['string_view', 'string'],
  ['binary_view', 'binary'],
  ['list_view', 'list'],
  ['large_list_view', 'large_list'],
])

/** Advice for types that the client does not know, by the start of their names. */
const instead: ReadonlyMap<string, readonly [called: string, instead: string]> = new Map([
  ['map', ['a map', 'a list of structs with the fields "key" and "value"']],
  ['interval', ['an interval', 'a duration, or a struct of integers']],
  ['sparse_union', ['a union', 'a struct with a field for each kind of value']],
  ['dense_union', ['a union', 'a struct with a field for each kind of value']],
  ['run_end_encoded', ['run-end encoded', 'the values as they are, or a dictionary']],
  ['dictionary', ['a dictionary of nested values', 'the values as they are']],
])

/** The value types of dictionaries that the client knows: those without parameters. */
const dictionaryValues: ReadonlySet<string> = new Set([...numbers, ...floats, ...texts, 'bool', 'null'])

/** The extension type of blobs of Lance. */
const blobs = 'lance.blob.v2'

/**
 * Blobs of a table of Lance are read by requests of their own, which the client sends to servers of 0.5.0 or newer. Only the
 * answers about such tables say that, since the client then inserts more than a million rows in several parts.
 */
function rulesOfRequest(): RequestRules {
  let hasBlobs = false
  return {
    comparesColumns: true,
    plain(field) {
      hasBlobs ||= holdsBlob(field)
      return plain(field)
    },
    unreadable(fields, isOfLance) {
      for (const field of fields) {
        const found = faultOf(field, field.name, isOfLance)
        if (found !== undefined) return found
      }
      hasBlobs ||= fields.some(holdsBlob)
      return undefined
    },
    headers: () => (hasBlobs ? { [versionHeader]: '0.5.0' } : undefined),
  }
}

function isBlob(field: Field): boolean {
  return field.metadata?.['ARROW:extension:name'] === blobs
}

function holdsBlob(field: Field): boolean {
  return isBlob(field) || (field.type.fields?.some(holdsBlob) ?? false)
}

function plain(field: Field): Field {
  const type = plainType(field.type)
  return type === field.type ? field : { ...field, type }
}

function plainType(type: FieldType): FieldType {
  const { type: name, fields } = type
  const plainName = plainNames.get(name) ?? withKnownParameters(name)
  const plainFields = fields?.map(plain)
  const isSame = plainName === name && (fields ?? []).every((field, i) => field === plainFields![i])
  return isSame ? type : { ...type, type: plainName, ...(plainFields && { fields: plainFields }) }
}

/** Widens decimals of 32 and 64 bits. Removes the colon of time zone offsets, because the client splits at it. */
function withKnownParameters(name: string): string {
  return name
    .replace(/^decimal:(?:32|64):/, 'decimal:128:')
    .replace(/^(timestamp:\w+:[+-]\d\d):(\d\d)$/, '$1$2')
}

function faultOf(field: Field, path: string, isOfLance: boolean): UnreadableColumn | undefined {
  if (isBlob(field) && !isOfLance)
    return { path, fault: cannotRead('a blob', ' outside of tables of Lance'), instead: 'large_binary' }
  const { type, fields } = plainType(field.type)
  const [kind = type, ...parameters] = type.split(':')
  if (kind === 'timestamp' && parameters.length !== 2) {
    const fault = cannotRead(`a timestamp in the zone ${parameters.slice(1).join(':')}`)
    return { path, fault, instead: 'a zone such as UTC, Europe/Berlin or +0530' }
  }
  if (kind === 'dict' && !(parameters.length === 3 && dictionaryValues.has(parameters[0]!))) {
    const fault = cannotRead(`a dictionary whose values are ${parameters.slice(0, -2).join(':')}`)
    return { path, fault, instead: 'the values as they are, or a dictionary of strings or numbers' }
  }
  if (!known.has(type) && !knownWithParameters.has(kind)) {
    const [called, other] = instead.get(kind) ?? [`of type ${type}`, 'another type']
    return { path, fault: cannotRead(called), instead: other }
  }
  for (const child of fields ?? []) {
    const found = faultOf(child, `${path}.${child.name}`, isOfLance)
    if (found !== undefined) return found
  }
  return undefined
}

function cannotRead(called: string, where = ''): string {
  return `is ${called}, which LanceDB's clients cannot read${where}`
}
