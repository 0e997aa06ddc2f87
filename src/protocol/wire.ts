import { invalid } from '../base/errors.ts'
import { quote } from '../base/model/identifier.ts'
import type { Route } from '../catalog/operations/framework/route.ts'
import { type OperationName, operations } from '../catalog/operations/index.ts'

export type { Method, Route } from '../catalog/operations/framework/route.ts'
export { decodePathId, encodePathId } from './path-id.ts'
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

/** Headers of the connection, of the body, and between servers. Who sends a message sets them, and nobody else. */
const framing = new Set([
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

/** What a server keeps out of contexts, besides: credentials, and what says nothing about the caller. */
const unshared = new Set([
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

const isReserved = (name: string) => framing.has(name) || unshared.has(name)

const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * The headers of a context: its entries whose key begins with `header.`, without that prefix, in small letters.
 * Entries that cannot be a header, and headers of the connection or with credentials, are left out.
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
 * The headers of a request's context, for a client. Each entry `header.NAME` is sent as it is given, credentials and
 * cookies too. `InvalidInput` names an entry that cannot be, so none is left out.
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

/** What Node's `fetch` takes for something else, and what it sets itself whatever it is given. */
const ofFetch = new Set(['__proto__', 'sec-fetch-mode'])

/** Why a client cannot send a header exactly as it is given. */
function problemOf(name: string, value: unknown): string | undefined {
  if (!headerName.test(name)) return "its name may hold letters, digits and !#$%&'*+-.^_`|~ only"
  if (ofFetch.has(name)) return 'fetch would lose it, or put its own in its place'
  if (framing.has(name))
    return 'it belongs to the connection, to the body or to servers, and the client sets it where it is needed'
  if (typeof value !== 'string') return `its value must be a text, and is a ${typeof value}`
  if (!headerValue.test(value))
    return 'its value may hold no line breaks, no control characters and nothing beyond Latin-1'
  return /^[\t ]|[\t ]$/.test(value) ? 'its value may not begin or end with a space or tab' : undefined
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
    if (value === undefined || isReserved(name)) continue
    context ??= {}
    context[headerPrefix + name] = typeof value === 'string' ? value : value.join(', ')
  }
  return context
}
