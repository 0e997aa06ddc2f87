import { type ErrorCode, errorNumbers } from '../../base/errors.ts'
import { idempotencyHeader, maxKeyCharacters } from '../../base/model/idempotency-key.ts'
import { inTransactionHeader, transactionIdPattern } from '../../base/model/transaction-id.ts'
import { packageVersion } from '../../base/version.ts'
import type { AnyOperation } from '../../catalog/index.ts'
import { isAboutTransactions, isKeyed, requestDoc, responseDoc } from '../../catalog/index.ts'
import type { OperationName } from '../../catalog/operations/index.ts'
import type { QueryKind } from '../../protocol/query.ts'
import { type ErrorStatus, problems, statusAmong } from '../../protocol/status.ts'
import {
  arrowFileType,
  arrowStreamType,
  jsonType,
  type Method,
  type Route,
  wire,
} from '../../protocol/wire.ts'
import { changesDescription } from './openapi-changes.ts'
import type { Content, OpenApiOperation } from './openapi-schemas.ts'
import { bodyOf, type JsonSchema, schemaOf, withoutNull } from './openapi-schemas.ts'

/** An OpenAPI document, as plain JSON. */
export interface OpenApiDocument {
  readonly openapi: string
  readonly info: Readonly<Record<string, unknown>>
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
  readonly [member: string]: unknown
}

/** The server options that change the description. */
export interface OpenApiOptions {
  /** The server's handling of unknown fields. */
  readonly unknownFields?: 'refuse' | 'ignore' | undefined
}

/** The errors that any operation may return, besides its own. */
const shared: readonly ErrorCode[] = [
  'InvalidInput',
  'Unauthenticated',
  'PermissionDenied',
  'Internal',
  'ServiceUnavailable',
]

/**
 * The OpenAPI 3.1 description of all operations, generated from their routes and schemas. `prefix` is the path prefix
 * of the operations. `isOpen` describes a server without authentication.
 */
export async function openApiDocument(
  prefix = '',
  isOpen = false,
  { unknownFields = 'refuse' }: OpenApiOptions = {},
): Promise<OpenApiDocument> {
  const { operations } = await import('../../catalog/operations/index.ts')
  const schemas: Record<string, JsonSchema> = { Error: errorSchema }
  const paths: Record<string, Record<string, OpenApiOperation>> = {}
  for (const [name, { definition }] of Object.entries(operations)) {
    const route = wire[name as OperationName]
    const title = name[0]!.toUpperCase() + name.slice(1)
    const isClosed = unknownFields === 'refuse'
    const request = schemaOf(definition.request, {
      side: 'input',
      isClosed,
      docOf: (field) => requestDoc(definition, field),
    })
    schemas[`${title}Request`] = bodyOf(
      request,
      // The first two are Arrow, and the delimiter is in the query.
      ['data', 'schema', 'delimiter'],
      isClosed ? (definition.ignores ?? []) : [],
      route.path.includes('{id}'),
    )
    schemas[`${title}Response`] = schemaOf(definition.response, {
      side: 'output',
      isClosed,
      docOf: (field) => responseDoc(definition, field),
    })
    const path = paths[route.path] ?? {}
    paths[route.path] = path
    for (const method of route.methods) {
      path[method.toLowerCase()] = {
        operationId: method === route.methods[0] ? title : `${title}By${method === 'GET' ? 'Get' : 'Post'}`,
        summary: definition.summary,
        ...(definition.changes && { 'x-tabularium-changes': true as const }),
        tags: [route.path.split('/')[2]!],
        parameters: parametersOf(definition as unknown as AnyOperation, method, request),
        ...requestBody(route, method, title, request, schemas[`${title}Request`]!),
        responses: responsesOf(
          route,
          title,
          errorsOf(definition as unknown as AnyOperation),
          isKeyed(definition),
        ),
      }
    }
  }
  const { schemas: eventSchemas, paths: changesPaths } = changesDescription()
  const all = { ...paths, ...changesPaths }
  const tags = [
    ...new Set(Object.values(all).flatMap((item) => Object.values(item).flatMap(({ tags }) => tags))),
  ]
  return {
    openapi: '3.1.1',
    info: {
      title: 'Tabularium',
      version: packageVersion(),
      description: 'A table catalog: namespaces, tables, versions, tags, branches and atomic commits.',
    },
    servers: [{ url: prefix === '' ? '/' : prefix }],
    tags: tags.map((name) => ({ name })),
    ...(isOpen ? {} : { security: [{ bearer: [] }, { apiKey: [] }] }),
    paths: all,
    components: {
      schemas: referenced(all, { ...schemas, ...eventSchemas }),
      ...(isOpen ? {} : { securitySchemes }),
    },
  }
}

/** The errors that an operation may return, also inside of a transaction. */
function errorsOf({ name, errors }: AnyOperation): ErrorCode[] {
  const inside: ErrorCode[] = isAboutTransactions(name) ? [] : ['TransactionNotFound']
  return [...new Set([...shared, ...errors, ...inside])]
}

/** The schemas that something references. Those of requests without a body are left out. */
function referenced(
  paths: unknown,
  schemas: Readonly<Record<string, JsonSchema>>,
): Record<string, JsonSchema> {
  const found = new Set<string>()
  const follow = (part: unknown) => {
    for (const [, name] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (found.has(name!)) continue
      found.add(name!)
      follow(schemas[name!])
    }
  }
  follow(paths)
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => found.has(name)))
}

const securitySchemes: JsonSchema = {
  bearer: { type: 'http', scheme: 'bearer' },
  apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
}

const text: JsonSchema = { type: 'string' }

/** The schema of a parameter, from that of its field. */
function parameterSchema(kind: QueryKind, field: JsonSchema): JsonSchema {
  if (kind === 'map') return { type: 'string', contentMediaType: jsonType }
  if (kind === 'texts') return { type: 'array', items: text }
  const { description: _, ...schema } = withoutNull(field)
  return schema
}

function parametersOf(
  operation: AnyOperation,
  method: Method,
  request: JsonSchema,
): OpenApiOperation['parameters'] {
  const { name, route } = operation
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name: name!,
    in: 'path',
    required: true,
    description:
      name === 'id'
        ? 'The names from the root down, joined by the delimiter; the delimiter alone is the root.'
        : 'The name of the index.',
    schema: { type: 'string', minLength: 1 },
  }))
  const delimiter = {
    name: 'delimiter',
    in: 'query',
    required: false,
    description: 'What joins the names of an identifier; $ when absent.',
    schema: { type: 'string', minLength: 1, maxLength: 8 },
  }
  const kinds = { ...route.query, ...(method === 'GET' ? route.queryToo : {}) }
  const fields = request.properties as Readonly<Record<string, JsonSchema>>
  const needed = (request.required ?? []) as readonly string[]
  const inQuery = Object.entries(kinds).map(([name, kind]) => ({
    name,
    in: 'query',
    required: route.body !== 'json' && needed.includes(name),
    description: [requestDoc(operation, name), kind === 'map' ? 'A JSON object.' : '']
      .filter(Boolean)
      .join(' '),
    schema: parameterSchema(kind, fields[name]!),
  }))
  const headers = [
    ...(isAboutTransactions(name) ? [] : [inside]),
    ...(isKeyed(operation) ? [idempotencyKey] : []),
  ]
  return [...inPath, delimiter, ...inQuery, ...headers]
}

const inside = {
  name: inTransactionHeader,
  in: 'header',
  required: false,
  description: 'The transaction that the operation is part of: a transaction_id of BeginTransaction.',
  schema: { type: 'string', pattern: transactionIdPattern.source },
}

const idempotencyKey = {
  name: idempotencyHeader,
  in: 'header',
  required: false,
  description:
    'A name that the caller chose for this change. For a day, the same key with the same request gets the first answer.',
  schema: { type: 'string', minLength: 1, maxLength: maxKeyCharacters },
}

function requestBody(
  { body }: Route,
  method: Method,
  title: string,
  request: JsonSchema,
  bodySchema: JsonSchema,
): Pick<OpenApiOperation, 'requestBody'> {
  const fields = request.properties as Readonly<Record<string, JsonSchema>>
  if (body === 'none' || method === 'GET') return {}
  if (body === 'arrow') {
    return {
      requestBody: {
        required: true,
        content: { [arrowStreamType]: { schema: {} }, [arrowFileType]: { schema: {} } },
      },
    }
  }
  if (body === 'metadata') return { requestBody: { required: true, content: json(fields.metadata!) } }
  // If no field is required, a missing body counts as an empty object.
  const required = bodySchema.required !== undefined
  return { requestBody: { required, content: json(reference(`${title}Request`)) } }
}

function responsesOf(
  { answer, statuses }: Route,
  title: string,
  codes: readonly ErrorCode[],
  mayHaveKey: boolean,
): OpenApiOperation['responses'] {
  const answers: Readonly<Record<Route['answer'], Content>> = {
    json: json(reference(`${title}Response`)),
    count: json({ type: 'integer', minimum: 0 }),
    plan: json(text),
    analysis: json(text),
    metadata: json({ type: 'object', additionalProperties: text }),
    arrow: { [arrowFileType]: { schema: {} } },
  }
  const byStatus = new Map<ErrorStatus, ErrorCode[]>(mayHaveKey ? [[422, ['InvalidInput']]] : [])
  for (const code of codes) {
    const status = statusAmong(statuses, code)
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const errors = [...byStatus]
    .sort(([a], [b]) => a - b)
    .map(([status, all]) => [
      status,
      {
        description: `${problems[status].title}: ${all.map((code) => `${code} (${errorNumbers[code]})`).join(', ')}`,
        content: json(reference('Error')),
      },
    ])
  return { 200: { description: 'Success', content: answers[answer] }, ...Object.fromEntries(errors) }
}

const errorSchema: JsonSchema = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'error'],
  properties: {
    type: { type: 'string', enum: [...new Set(Object.values(problems).map(({ type }) => type))] },
    title: text,
    status: { type: 'integer' },
    detail: text,
    instance: text,
    code: { type: 'integer', enum: Object.values(errorNumbers) },
    error: text,
    transaction_id: text,
    next_version: { type: 'integer', description: 'Of a refused version: the one to create instead.' },
  },
}

function reference(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}

function json(schema: JsonSchema): Content {
  return { [jsonType]: { schema } }
}
