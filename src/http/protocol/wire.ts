import type { Route } from '../../operations/framework/route.ts'
import { type OperationName, operations } from '../../operations/index.ts'

export type { Method, Route } from '../../operations/framework/route.ts'
export { checkDelimiter, decodePathId, encodePathId } from './path-id.ts'
export { decodeQuery, encodeQuery, type QueryKind } from './query.ts'

/** Content types of Arrow IPC data, and of bytes that do not say what they are. */
export const arrowStreamType = 'application/vnd.apache.arrow.stream'
export const arrowFileType = 'application/vnd.apache.arrow.file'
export const bytesType = 'application/octet-stream'
export const jsonType = 'application/json'

/** The response header that carries `transaction_id` of an error, and where a bare body has no room for it. */
export const transactionHeader = 'x-tabularium-transaction-id'

/** The header that names a request: taken from the request, made up otherwise, and always in the response. */
export const requestIdHeader = 'x-request-id'

/** The header of a request that another server over the same catalog passed on. */
export const passedOnHeader = 'x-tabularium-passed-on'

/** The header of the answer to such a request. It tells that the right server gave it. */
export const serverHeader = 'x-tabularium-server'

/** How each operation of the record travels. */
export const wire = Object.fromEntries(
  Object.values(operations).map(({ definition }) => [definition.name, definition.route]),
) as { readonly [Name in OperationName]: Route }

/** The prefix of the keys of context entries that travel as headers. */
export const headerPrefix = 'header.'

type Context = Readonly<Record<string, string>>

/** Headers of the connection, of the body and with credentials. They never belong to a context. */
const reserved = new Set([
  'authorization',
  'proxy-authorization',
  'proxy-authenticate',
  'www-authenticate',
  'x-api-key',
  'cookie',
  'set-cookie',
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'host',
  'content-length',
  'content-type',
  'content-encoding',
  'accept',
  'accept-encoding',
  'date',
  passedOnHeader,
  serverHeader,
])

const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * The headers of a context: its entries whose key begins with `header.`, without that prefix, in small letters.
 * Entries that cannot be a header, and headers of the connection or with credentials, are left out.
 */
export function headersOfContext(context: Context | undefined): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [key, value] of Object.entries(context ?? {})) {
    if (!key.startsWith(headerPrefix)) continue
    const name = key.slice(headerPrefix.length).toLowerCase()
    if (reserved.has(name) || !headerName.test(name) || !headerValue.test(value)) continue
    headers[name] = value
  }
  return headers
}

/**
 * The context entries of headers, one for each header. The key is `header.` and the name of the header in small
 * letters. Headers of the connection, of the body and with credentials are left out.
 */
export function contextOfHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Record<string, string> | undefined {
  let context: Record<string, string> | undefined
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || reserved.has(name)) continue
    context ??= {}
    context[headerPrefix + name] = typeof value === 'string' ? value : value.join(', ')
  }
  return context
}
