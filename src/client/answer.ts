import { CatalogError } from '../errors.ts'
import { contextOfHeaders, type Route, transactionHeader } from '../http/protocol/wire.ts'
import { joinIdentifier } from '../listing/paging.ts'
import { defaultDelimiter } from '../model/identifier.ts'
import type { Received } from './send.ts'

/**
 * The result of an operation, from a successful response. A bare body becomes the value of its field, and response
 * headers become entries of `context`.
 */
export function answerOf(route: Route, { headers, body }: Received): Record<string, unknown> {
  const fromHeaders = contextOfHeaders(Object.fromEntries(headers))
  if (route.answer === 'arrow') return withContext({ data: body }, fromHeaders)
  const json = parse(body)
  if (route.answer === 'count') {
    if (!Number.isSafeInteger(json)) throw unexpected('a row count')
    return withContext({ count: json }, fromHeaders)
  }
  if (!isObject(json)) throw unexpected('a JSON object')
  if (route.answer === 'json') {
    const { context, ...fields } = json
    return withContext(fields, { ...fromHeaders, ...(isObject(context) ? context : {}) })
  }
  const transaction_id = headers.get(transactionHeader)
  return withContext({ metadata: json, ...(transaction_id === null ? {} : { transaction_id }) }, fromHeaders)
}

function withContext(
  answer: Record<string, unknown>,
  context: Readonly<Record<string, unknown>> | undefined,
): Record<string, unknown> {
  return context && Object.keys(context).length > 0 ? { ...answer, context } : answer
}

/** Parses a body. An empty one is an empty object, since some servers send none. */
function parse(body: Uint8Array): unknown {
  if (body.length === 0) return {}
  try {
    return JSON.parse(new TextDecoder().decode(body))
  } catch (cause) {
    throw unexpected('JSON', { cause })
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function unexpected(wanted: string, options?: { cause: unknown }): CatalogError {
  return new CatalogError(
    'Internal',
    `The server answered with something that is not ${wanted}. Check that the URL is that of a catalog.`,
    options,
  )
}

/**
 * Joins the identifiers of a listing with the requested delimiter. On the wire they are joined by `$`, which no name
 * contains, because other delimiters may be special in a URL. Fails like a local catalog when a name contains the
 * delimiter.
 */
export function rejoin(answer: Record<string, unknown>, delimiter: string): Record<string, unknown> {
  if (delimiter === defaultDelimiter || !Array.isArray(answer.tables)) return answer
  const tables = answer.tables.map((table) =>
    joinIdentifier(String(table).split(defaultDelimiter), delimiter),
  )
  return { ...answer, tables }
}
