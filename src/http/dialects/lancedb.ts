import type { IncomingHttpHeaders } from 'node:http'
import type { ErrorCode } from '../../errors.ts'
import { limits } from '../../model/fields.ts'
import type { OperationName } from '../../operations/index.ts'
import type { ErrorStatus } from '../protocol/status.ts'
import type { Dialect, Fields } from './dialect.ts'

/*
 * Where the clients of LanceDB (0.39) depart from the protocol. All of it is here. The remote one,
 * `connect('db://…', { hostOverride })`, departs often and is known by its headers. The other,
 * `connectNamespace('rest', …)`, departs little and cannot be told from anybody else: a server made for it is
 * set to list children.
 */

/** Whether the headers are those of LanceDB's remote client: it always sends some that begin like this. */
export function isLanceDb(headers: IncomingHttpHeaders): boolean {
  for (const name in headers) if (name.startsWith('x-lancedb-')) return true
  return false
}

export const lancedbDialect: Dialect = {
  name: 'lancedb',
  // It writes identifiers into the path as they are.
  plusIsSpace: false,
  listing: 'children',
  // It asks for all tables where it means those of the root.
  operation: (operation) => (operation === 'listAllTables' ? 'listTables' : operation),
  request: (operation, request) => requests[operation]?.(request) ?? request,
  response: (operation, response) => responses[operation]?.(response) ?? response,
  status: statusOf,
  // It takes every 404 below a table for the table itself.
  unknownRoute: 406,
}

/** What the namespace client wants, and what a server set to list children gives to everybody. */
export const namespaceDialect: Dialect = {
  name: 'namespace',
  plusIsSpace: true,
  listing: 'children',
  request: (operation, request) => namespaceRequests[operation]?.(request) ?? request,
}

type Rewrite<T> = { readonly [Name in OperationName]?: (fields: Fields) => T }

const namespaceRequests: Rewrite<Fields> = {
  // By version and columns it knows that a name is taken; without them it writes rows of its own there.
  describeTable: (request) => ({
    ...request,
    load_detailed_metadata: request.load_detailed_metadata ?? true,
  }),
  listTables: wholeListing,
}

const requests: Rewrite<Fields> = {
  createNamespace: unquoteWords,
  dropNamespace: unquoteWords,
  createTable: unquoteWords,
  insertIntoTable: unquoteWords,
  registerTable: unquoteWords,
  // It opens a table by describing it, and needs to know its version and columns.
  describeTable: (request) => ({ ...request, load_detailed_metadata: true }),
  renameTable: ({ new_namespace, ...request }) =>
    new_namespace === undefined ? request : { new_namespace_id: new_namespace, ...request },
  // Of these it reads one page, and shows nobody the token.
  listTables: wholeListing,
  listTableVersions: wholeListing,
  listTableTags: wholeListing,
  listTableBranches: wholeListing,
  queryTable: (request) =>
    isPlainMap(request.columns) ? { ...request, columns: aliased(request.columns) } : request,
}

const responses: Rewrite<unknown> = {
  listTableTags: ({ tags }) => tags,
  updateTable: (response) => ({ rows_updated: response.updated_rows, ...response }),
}

/** The largest page there is. */
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

/** Columns come as a list, or as a map of new names to expressions. */
function aliased(columns: Fields): Fields {
  return 'column_names' in columns || 'column_aliases' in columns ? columns : { column_aliases: columns }
}

function isPlainMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * It tries again on 409, so that what will not change must not be one, and takes every 404 on a table for the
 * table itself.
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
  'TableIndexNotFound',
  'TableColumnNotFound',
  'TransactionNotFound',
])

function statusOf(code: ErrorCode, operation: OperationName): ErrorStatus | undefined {
  // Here it asks for a table at a version, and says itself which one there is not.
  if (code === 'TableVersionNotFound') return operation === 'describeTable' ? 404 : 400
  return badRequests.has(code) ? 400 : undefined
}
