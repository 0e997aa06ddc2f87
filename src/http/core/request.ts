import type { IncomingHttpHeaders } from 'node:http'
import { invalid } from '../../errors.ts'
import { formatIdentifier, type Identifier } from '../../model/identifier.ts'
import type { OperationName } from '../../operations/index.ts'
import type { Principal } from '../auth/auth.ts'
import type { Dialect, Fields } from '../dialects/dialect.ts'
import { decodeSegment } from '../protocol/path-id.ts'
import { single } from '../protocol/query.ts'
import { checkDelimiter, contextOfHeaders, decodePathId, decodeQuery } from '../protocol/wire.ts'
import type { Match } from './routing.ts'

/** What path and query of a request say. It is read once, for the hooks and for the operation. */
export interface Addressed {
  /** The identifier in the path; undefined where the path has none. */
  readonly id: Identifier | undefined
  readonly delimiter: string | undefined
  /** The fields that came in path and query. */
  readonly fields: Fields
}

const noQuery = new URLSearchParams()

/** Reads path and query. */
export function readAddress(
  { operation, route, id, indexName }: Match,
  query: string,
  dialect: Dialect,
): Addressed {
  const implied = operation === 'listTables' ? [] : undefined
  const parameters = query === '' ? noQuery : new URLSearchParams(query)
  const given = query === '' ? undefined : single(parameters, 'delimiter')
  const delimiter = checkDelimiter(given)
  const fields = query === '' ? {} : decodeQuery({ ...route.query, ...route.queryToo }, parameters)
  if (indexName !== undefined) fields.index_name = decodeSegment(indexName, dialect.plusIsSpace)
  return {
    id: id === undefined ? implied : decodePathId(id, delimiter, dialect.plusIsSpace),
    delimiter: given,
    fields,
  }
}

/** The context entry that names the caller to the hooks of the catalog. A request cannot set this entry. */
const principalKey = 'principal'

/** The operation's request: the fields of path, query and body, and the context of body and headers. */
export function buildRequest(
  { operation, route }: Match,
  address: Addressed,
  body: unknown,
  headers: IncomingHttpHeaders,
  principal: Principal | undefined,
): Fields {
  const request: Record<string, unknown> = { ...bodyFields(route.body, body), ...address.fields }
  const merged = mergeContext(request.context, contextOfHeaders(headers), principal)
  if (merged !== undefined) request.context = merged
  if (address.id !== undefined) request.id = joinId(operation, address.id, request.id)
  if (address.delimiter !== undefined) request.delimiter = address.delimiter
  return request
}

function bodyFields(kind: Match['route']['body'], body: unknown): Fields {
  if (kind === 'arrow') return { data: body }
  if (kind === 'metadata') return { metadata: body }
  if (body === undefined || body === null) return {}
  if (typeof body !== 'object' || Array.isArray(body)) throw invalid('The body must be a JSON object.')
  return body as Fields
}

function mergeContext(
  given: unknown,
  context: Record<string, string> | undefined,
  principal: Principal | undefined,
): unknown {
  if (given === undefined || given === null) {
    if (principal === undefined) return context
    return { ...context, [principalKey]: principal.name }
  }
  // The operation refuses anything but a map.
  if (typeof given !== 'object' || Array.isArray(given)) return given
  const { [principalKey]: _, ...entries } = given as Fields
  return { ...entries, ...context, ...(principal ? { [principalKey]: principal.name } : {}) }
}

/** The identifier of path and body. Where both have one, the two must be the same. */
function joinId(operation: OperationName, path: Identifier, body: unknown): unknown {
  if (body === undefined || body === null) return path
  // The operation refuses anything but an identifier.
  if (!isStrings(body)) return body
  if (same(path, body)) return path
  if (operation === 'describeTransaction' || operation === 'alterTransaction') {
    const joined = joinTransactionId(path, body)
    if (joined) return joined
  }
  throw invalid(
    `The body's id ${formatIdentifier(body)} is not that of the path, ${formatIdentifier(path)}. Send the same in both, or leave the body's out.`,
  )
}

/** The path may have the transaction id alone, when the body has the identifier of the table, with or without that id. */
function joinTransactionId(path: Identifier, body: Identifier): Identifier | undefined {
  if (path.length !== 1) return undefined
  return body.at(-1) === path[0] ? body : [...body, path[0]!]
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function same(a: Identifier, b: Identifier): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i])
}
