import { invalid } from '../base/errors.ts'
import { type Identifier, quote } from '../base/model/identifier.ts'
import type { Catalog } from '../catalog/handle/handle.ts'
import { insideHeader } from '../catalog/operations/framework/inside.ts'
import type { OperationOptions } from '../catalog/operations/framework/operation.ts'
import { type OperationName, operations } from '../catalog/operations/index.ts'
import {
  encodePathId,
  encodeQuery,
  headerPrefix,
  headersToSend,
  jsonType,
  type Route,
  wire,
} from '../protocol/wire.ts'
import { asSent } from './as-sent.ts'
import { arrowBody } from './rows.ts'

/** A request without the server's address and credentials. */
export interface Outgoing {
  readonly route: Route
  readonly method: string
  /** Path and query string. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | string | undefined
}

type Fields = Readonly<Record<string, unknown>>

/**
 * Makes the HTTP request of an operation from the checked request and its route. `transaction` is the transaction that
 * it belongs to. `options` are those of the request for the column types of row objects.
 */
export async function requestOf(
  catalog: Catalog,
  operation: OperationName,
  checked: Fields,
  options: OperationOptions,
  transaction: string | undefined,
): Promise<Outgoing> {
  const route = wire[operation]
  const request = asSent(operations[operation].definition.request, checked) as Fields
  const context = request.context as Readonly<Record<string, string>> | undefined
  const query = encodeQuery(route.query, request)
  const { body, headers } = await bodyOf(catalog, operation, route, request, options)
  return {
    route,
    method: route.methods[0],
    target: `${pathOf(route.path, request)}${query.length > 0 ? `?${new URLSearchParams(query)}` : ''}`,
    headers: {
      ...headersToSend(context),
      ...headers,
      ...(transaction !== undefined && { [insideHeader]: transaction }),
    },
    body,
  }
}

async function bodyOf(
  catalog: Catalog,
  operation: OperationName,
  route: Route,
  request: Fields,
  options: OperationOptions,
): Promise<{ body: Outgoing['body']; headers: Record<string, string> }> {
  switch (route.body) {
    case 'none':
      return { body: undefined, headers: {} }
    case 'arrow': {
      const { bytes, type } = await arrowBody(catalog, operation, request, options)
      return { body: bytes, headers: { 'content-type': type } }
    }
    case 'metadata':
      return { body: JSON.stringify(request.metadata), headers: { 'content-type': jsonType } }
    case 'json': {
      const fields = jsonFields(route, request.schema === undefined ? request : await withJsonSchema(request))
      return { body: JSON.stringify(fields), headers: { 'content-type': jsonType } }
    }
  }
}

/** The request with its Arrow schema in the JSON form of the protocol. */
async function withJsonSchema(request: Fields): Promise<Fields> {
  const { toJsonSchema, toSchema } = await import('../engine/arrow/index.ts')
  return { ...request, schema: toJsonSchema(toSchema(request.schema as Parameters<typeof toSchema>[0])) }
}

/**
 * The fields of a JSON body: all that are not in the query or in headers. The identifier is also in the path, where `$`
 * always joins its names, because no name contains it.
 */
function jsonFields(route: Route, { delimiter, context, ...request }: Fields): Fields {
  const fields: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(request)) {
    if (!Object.hasOwn(route.query, name)) fields[name] = value
  }
  const entries = Object.entries(context ?? {}).filter(([key]) => !key.startsWith(headerPrefix))
  if (entries.length > 0) fields.context = Object.fromEntries(entries)
  return fields
}

function pathOf(path: string, request: Fields): string {
  return path.replace(/\{(\w+)\}/g, (_, field: string) => {
    const value = request[field]
    const names = Array.isArray(value) ? (value as Identifier) : typeof value === 'string' ? [value] : []
    const segment = encodePathId(names)
    if (/^(%2E){1,2}$/i.test(segment)) {
      throw invalid(
        `The identifier ${quote(names.join())} cannot be sent in a URL, where it would be a step in the path. Rename it on the server's own machine.`,
      )
    }
    return segment
  })
}
