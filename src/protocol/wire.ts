import { invalid } from '../base/errors.ts'
import { quote } from '../base/model/identifier.ts'

export type { Method, Route } from '../catalog/index.ts'

import type { Route } from '../catalog/index.ts'
import { type OperationName, operations } from '../catalog/operations/index.ts'

export { decodePathId, encodePathId } from './path-id.ts'
export { decodeQuery, encodeQuery, type QueryKind } from './query.ts'

/** Content types of Arrow IPC data, and of bytes without a declared format. */
export const arrowStreamType = 'application/vnd.apache.arrow.stream'
export const arrowFileType = 'application/vnd.apache.arrow.file'
export const bytesType = 'application/octet-stream'
export const jsonType = 'application/json'

/** The response header for the `transaction_id` of an error, and of a response whose body has no field for it. */
export const transactionHeader = 'x-tabularium-transaction-id'

/** The header with the request id. The server generates an id for a request without one. Each response has it. */
export const requestIdHeader = 'x-request-id'

/** Marks a request that another server over the same catalog forwarded. */
export const passedOnHeader = 'x-tabularium-passed-on'

/** Names the server in its answer to a forwarded request. The sender checks that the right server answered. */
export const serverHeader = 'x-tabularium-server'

/** The HTTP route of each operation. */
export const wire = Object.fromEntries(
  Object.values(operations).map(({ definition }) => [definition.name, definition.route]),
) as { readonly [Name in OperationName]: Route }

/** The key prefix of context entries that are sent as headers. */
export const headerPrefix = 'header.'

type Context = Readonly<Record<string, string>>

/** Headers of the connection, of the body, and between servers. Only the sender of a message may set them. */
const transportHeaders = new Set([
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
  'accept-encoding',
  passedOnHeader,
  serverHeader,
])

/** Other headers that a server keeps out of contexts: credentials, and headers that do not describe the caller. */
const privateHeaders = new Set([
  'authorization',
  'proxy-authorization',
  'proxy-authenticate',
  'www-authenticate',
  'x-api-key',
  'cookie',
  'set-cookie',
  'accept',
  'date',
])

const isReserved = (name: string) => transportHeaders.has(name) || privateHeaders.has(name)

const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * The headers of a context: its entries whose key begins with `header.`, without that prefix, in lower case. Entries
 * that cannot be a header, and headers of the connection or with credentials, are left out.
 */
export function headersOfContext(context: Context | undefined): Record<string, string> {
  const headers = new Map<string, string>()
  for (const [key, value] of Object.entries(context ?? {})) {
    if (!key.startsWith(headerPrefix)) continue
    const name = key.slice(headerPrefix.length).toLowerCase()
    if (isReserved(name) || !headerName.test(name) || !headerValue.test(value)) continue
    headers.set(name, value)
  }
  return Object.fromEntries(headers)
}

/**
 * The headers of a request's context, for a client. Each entry `header.NAME` is sent unchanged, also credentials and
 * cookies. None is left out: `InvalidInput` names an entry that cannot be sent.
 */
export function headersToSend(context: Context | undefined): Record<string, string> {
  const headers = new Map<string, string>()
  for (const [key, value] of Object.entries(context ?? {})) {
    if (!key.startsWith(headerPrefix)) continue
    const name = key.slice(headerPrefix.length).toLowerCase()
    const problem = headers.has(name) ? 'another entry has the same name' : problemOf(name, value)
    if (problem !== undefined)
      throw invalid(`context: the entry ${quote(key)} cannot be sent as a header: ${problem}.`)
    headers.set(name, value)
  }
  return Object.fromEntries(headers)
}

/** Names that Node's `fetch` drops or overwrites. */
const fetchHeaders = new Set(['__proto__', 'sec-fetch-mode'])

/** Why a client cannot send a header unchanged. Undefined when it can. */
function problemOf(name: string, value: unknown): string | undefined {
  if (!headerName.test(name)) return "its name may hold letters, digits and !#$%&'*+-.^_`|~ only"
  if (fetchHeaders.has(name)) return 'fetch would lose it, or put its own in its place'
  if (transportHeaders.has(name))
    return 'it belongs to the connection, to the body or to servers, and the client sets it where it is needed'
  if (typeof value !== 'string') return `its value must be a text, and is a ${typeof value}`
  if (!headerValue.test(value))
    return 'its value may hold no line breaks, no control characters and nothing beyond Latin-1'
  return /^[\t ]|[\t ]$/.test(value) ? 'its value may not begin or end with a space or tab' : undefined
}

/**
 * The context entries of headers, one for each header. The key is `header.` and the header's name in lower case.
 * Headers of the connection, of the body and with credentials are left out.
 */
export function contextOfHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Record<string, string> | undefined {
  let context: Record<string, string> | undefined
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || isReserved(name)) continue
    context ??= {}
    context[headerPrefix + name] = typeof value === 'string' ? value : value.join(', ')
  }
  return context
}
