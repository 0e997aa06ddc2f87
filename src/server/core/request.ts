import { invalid } from '../../base/errors.ts'
import {
  checkDelimiter,
  formatIdentifier,
  type Identifier,
  quote,
  sameNames,
} from '../../base/model/identifier.ts'
import { inTransactionHeader } from '../../base/model/transaction-id.ts'
import { fieldsOf, hintFor, isUnsupported, principalKey, transactionNamed } from '../../catalog/index.ts'
import { type OperationName, operations } from '../../catalog/operations/index.ts'
import { decodeSegment } from '../../protocol/path-id.ts'
import { singleValue } from '../../protocol/query.ts'
import { contextOfHeaders, decodePathId, decodeQuery } from '../../protocol/wire.ts'
import type { Principal } from '../auth/principal.ts'
import type { Fields } from '../dialects/dialect.ts'
import type { HttpOptions } from '../options.ts'
import type { Exchange } from './exchange.ts'
import type { Match } from './routing.ts'

/** The content of a request's path and query. It is parsed once, for the hooks and for the operation. */
export interface Addressed {
  /** The identifier in the path; undefined where the path has none. */
  readonly id: Identifier | undefined
  readonly delimiter: string | undefined
  /** The fields in path and query. */
  readonly fields: Fields
  /** Body fields that are also in the query. The values in the body must be equal. */
  readonly repeated: Fields
}

type InQuery = Omit<Addressed, 'id'>

const none: Fields = {}
const noQuery: InQuery = { delimiter: undefined, fields: none, repeated: none }

/** Parses path and query. */
export function readAddress(
  match: Match,
  exchange: Exchange,
  unknownFields: HttpOptions['unknownFields'],
): Addressed {
  const { operation, id, indexName, blob } = match
  const { delimiter, fields, repeated } =
    exchange.query === '' ? noQuery : readQuery(match, exchange, unknownFields)
  const { plusIsSpace } = exchange.dialect!
  const implied = operation === 'listTables' ? [] : undefined
  const named =
    indexName !== undefined
      ? { index_name: decodeSegment(indexName, plusIsSpace) }
      : blob && { column: decodeSegment(blob.column, plusIsSpace), row_ids: [rowIdOf(blob.row)] }
  return {
    id: id === undefined ? implied : decodePathId(id, delimiter, plusIsSpace),
    delimiter,
    fields: named === undefined ? fields : { ...fields, ...named },
    repeated,
  }
}

/** The operation refuses what is not a number. */
function rowIdOf(segment: string): number | string {
  return /^\d+$/.test(segment) ? Number(segment) : segment
}

function readQuery(
  { operation, route }: Match,
  { method, query }: Exchange,
  unknownFields: HttpOptions['unknownFields'],
): InQuery {
  const parameters = new URLSearchParams(query)
  const delimiter = singleValue(parameters, 'delimiter')
  checkDelimiter(delimiter)
  const all = { ...route.query, ...route.queryToo }
  // A GET has no body, so its query may have fields of the body.
  const fields = decodeQuery(method === 'POST' ? route.query : all, parameters)
  const repeated = method === 'POST' ? decodeQuery(route.queryToo, parameters) : none
  checkParameters(operation, parameters, all, unknownFields)
  return { delimiter, fields, repeated }
}

/** Refuses parameters that belong in the body, and unknown ones: the request could mean something else without them. */
function checkParameters(
  operation: OperationName,
  parameters: URLSearchParams,
  kinds: object,
  unknownFields: HttpOptions['unknownFields'],
): void {
  const { definition } = operations[operation]
  const { request, route, ignores } = definition
  // An unsupported operation answers `Unsupported` to any request.
  if (isUnsupported(definition)) return
  for (const name of parameters.keys()) {
    if (name === 'delimiter' || Object.hasOwn(kinds, name) || ignores?.includes(name)) continue
    const inBody = route.body === 'json' && fieldsOf(request).includes(name)
    if (!inBody && !fieldsOf(request).includes(name) && unknownFields === 'ignore') continue
    const instead = inBody
      ? 'Send it in the body, which is a JSON object.'
      : hintFor(name, ['delimiter', ...Object.keys(kinds)], 'parameters')
    throw invalid(`${operation} takes no query parameter ${quote(name.slice(0, 64))}. ${instead}`)
  }
}

/** The operation's request: the fields of path, query and body, and the context entries of body and headers. */
export function buildRequest(
  match: Match,
  address: Addressed,
  body: unknown,
  { headers, principal, dialect }: Exchange,
): Fields {
  const { operation } = match
  const { falseIsUnset = false } = dialect!
  const request: Record<string, unknown> = { ...bodyFields(match, body) }
  for (const name in address.fields) addParameter(request, name, address.fields[name], falseIsUnset)
  for (const name in address.repeated) requireSame(request, name, address.repeated[name])
  // Checked here, because the header would overwrite the context entry.
  if (headers[inTransactionHeader] !== undefined && request.context != null)
    transactionNamed(request, { transaction: headers[inTransactionHeader] as string })
  const merged = mergeContext(request.context, contextOfHeaders(headers), principal)
  if (merged !== undefined) request.context = merged
  if (address.id !== undefined) request.id = joinId(operation, address.id, request.id)
  // Other operations do not need it after the path was parsed.
  if (
    address.delimiter !== undefined &&
    fieldsOf(operations[operation].definition.request).includes('delimiter')
  )
    request.delimiter = address.delimiter
  return request
}

/** Adds a field of the query. If the body has it too, both values must be equal. */
function addParameter(
  request: Record<string, unknown>,
  name: string,
  value: unknown,
  falseIsUnset: boolean,
): void {
  const inBody = request[name] ?? undefined
  if (inBody === undefined || (falseIsUnset && inBody === false)) request[name] = value
  else requireSame(request, name, value)
}

function requireSame(request: Fields, name: string, value: unknown): void {
  const inBody = request[name] ?? undefined
  if (inBody === value || JSON.stringify(inBody) === JSON.stringify(value)) return
  throw invalid(
    inBody === undefined
      ? `${name} is in the query, and its place is the body. Send it there.`
      : `${name} is ${quoted(value)} in the query and ${quoted(inBody)} in the body. Send the same in both, or leave it out of the query.`,
  )
}

function quoted(value: unknown): string {
  return quote(typeof value === 'string' ? value : JSON.stringify(value))
}

function bodyFields({ operation, route: { body: kind } }: Match, body: unknown): Fields {
  if (kind === 'arrow') return { data: body }
  if (kind === 'metadata') return { metadata: body }
  // Lance's own client sends null for an empty request. Operations that change something still require an object.
  if (body === undefined || (body === null && !operations[operation].definition.changes)) return {}
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalid(
      `The body must be a JSON object, such as {}; it is ${body === null ? 'null' : Array.isArray(body) ? 'an array' : `a ${typeof body}`}.`,
    )
  }
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

/**
 * The identifier of path and body. If both have one, they must be equal. An empty one in the body counts as absent,
 * because generated clients send an empty list for an unset field. For a transaction, the body may have the identifier
 * of its table before the id in the path.
 */
function joinId(operation: OperationName, path: Identifier, body: unknown): unknown {
  if (body === undefined || body === null) return path
  // The operation refuses anything but an identifier.
  if (!isStrings(body)) return body
  if (body.length === 0 || sameNames(path, body)) return path
  const isTransaction = operation === 'describeTransaction' || operation === 'alterTransaction'
  if (isTransaction && path.length > 0 && sameNames(path, body.slice(-path.length))) return body
  throw invalid(
    `The body's id ${formatIdentifier(body)} is not that of the path, ${formatIdentifier(path)}. Send the same in both, or leave the body's out.`,
  )
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
