import { CatalogError } from '../base/errors.ts'
import { caseKey } from '../base/model/fields.ts'
import { defaultDelimiter } from '../base/model/identifier.ts'
import type { AnyOperation } from '../catalog/index.ts'
import { joinIdentifier } from '../catalog/index.ts'
import { headerPrefix, transactionHeader } from '../protocol/wire.ts'
import type { Received } from './send.ts'

/**
 * The result of an operation, from a successful response. A bare body becomes the value of its field, and response
 * headers become entries of `context`.
 */
export function answerOf(
  { route, response }: AnyOperation,
  { headers, body, parts }: Received,
): Record<string, unknown> {
  const fromHeaders = contextOf(headers)
  if (route.answer === 'arrow') return withContext({ data: parts ?? body }, fromHeaders)
  const json = parse(body)
  if (route.answer === 'count') {
    if (!Number.isSafeInteger(json)) throw unexpected('a row count')
    return withContext({ count: json }, fromHeaders)
  }
  if (route.answer === 'plan' || route.answer === 'analysis') {
    if (typeof json !== 'string') throw unexpected('a text')
    return withContext({ [route.answer]: json }, fromHeaders)
  }
  if (!isObject(json)) throw unexpected('a JSON object')
  if (route.answer === 'json') {
    const { context, ...fields } = json
    return withContext(normalized(response, fields), {
      ...fromHeaders,
      ...(isObject(context) ? context : {}),
    })
  }
  const transaction_id = headers.get(transactionHeader)
  return withContext({ metadata: json, ...(transaction_id === null ? {} : { transaction_id }) }, fromHeaders)
}

/** One entry for each header. Cookies stay: they are meant for this caller. Headers of the same name are joined. */
function contextOf(headers: Headers): Record<string, string> {
  const context: Record<string, string> = {}
  for (const name of headers.keys()) context[headerPrefix + name] = headers.get(name)!
  return context
}

/**
 * The fields of a response in the form that a local catalog returns. Servers may write enum values in another case or
 * in snake_case, and end a listing with an empty or null `page_token`.
 */
function normalized(
  response: AnyOperation['response'],
  fields: Record<string, unknown>,
): Record<string, unknown> {
  const { page_token, ...rest } = fields
  const { entries = {} } = response as {
    entries?: Readonly<Record<string, { options?: readonly unknown[] }>>
  }
  for (const [name, { options }] of Object.entries(entries)) {
    const given = rest[name]
    if (options === undefined || typeof given !== 'string') continue
    rest[name] = options.find((option) => caseKey(String(option)) === caseKey(given)) ?? given
  }
  return page_token === undefined || page_token === null || page_token === '' ? rest : { ...rest, page_token }
}

function withContext(
  answer: Record<string, unknown>,
  context: Readonly<Record<string, unknown>> | undefined,
): Record<string, unknown> {
  return context && Object.keys(context).length > 0 ? { ...answer, context } : answer
}

/** Parses a body. An empty body counts as `{}`, because some servers send none. */
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
 * Joins the identifiers of a listing with the requested delimiter. The wire always uses `$`, which no name contains,
 * because other delimiters may be special in a URL. Fails like a local catalog when a name contains the delimiter.
 */
export function rejoin(answer: Record<string, unknown>, delimiter: string): Record<string, unknown> {
  if (delimiter === defaultDelimiter || !Array.isArray(answer.tables)) return answer
  const tables = answer.tables.map((table) =>
    joinIdentifier(String(table).split(defaultDelimiter), delimiter),
  )
  return { ...answer, tables }
}
