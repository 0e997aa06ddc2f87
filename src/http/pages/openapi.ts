import { type ErrorCode, errorNumbers } from '../../errors.ts'
import { insideHeader, isAboutTransactions } from '../../operations/framework/inside.ts'
import type { AnyOperation } from '../../operations/framework/operation.ts'
import type { OperationName } from '../../operations/index.ts'
import { requestDoc, responseDoc } from '../../operations/types/field-docs.ts'
import { packageVersion } from '../../version.ts'
import type { QueryKind } from '../protocol/query.ts'
import { type ErrorStatus, problems, statusAmong } from '../protocol/status.ts'
import { arrowFileType, arrowStreamType, jsonType, type Method, type Route, wire } from '../protocol/wire.ts'
import { changesDescription } from './openapi-changes.ts'
import { type JsonSchema, schemasOf, withoutFields } from './openapi-schemas.ts'

/** An OpenAPI document, as plain JSON. */
export interface OpenApiDocument {
  readonly openapi: string
  readonly info: Readonly<Record<string, unknown>>
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  readonly [member: string]: unknown
}

export interface OpenApiOperation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly parameters: readonly {
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly description: string
    readonly schema: JsonSchema
  }[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content: Content }>>
}

type Content = Readonly<Record<string, { readonly schema: JsonSchema }>>

/** The statuses that any operation may answer, besides those of its own errors. */
const shared: readonly ErrorCode[] = [
  'InvalidInput',
  'Unauthenticated',
  'PermissionDenied',
  'Internal',
  'ServiceUnavailable',
]

/**
 * The OpenAPI 3.1 description of all operations, made from the routes and from the schemas of the operations.
 * `prefix` is the path below which the operations are mounted. A server that is open asks for no credentials.
 */
export async function openApiDocument(prefix = '', isOpen = false): Promise<OpenApiDocument> {
  const { operations } = await import('../../operations/index.ts')
  const schemas: Record<string, JsonSchema> = { Error: errorSchema }
  const paths: Record<string, Record<string, OpenApiOperation>> = {}
  for (const [name, { definition }] of Object.entries(operations)) {
    const route = wire[name as OperationName]
    const title = name[0]!.toUpperCase() + name.slice(1)
    Object.assign(
      schemas,
      schemasOf(definition.request, `${title}Request`, 'input', (field) => requestDoc(definition, field)),
    )
    Object.assign(
      schemas,
      schemasOf(definition.response, `${title}Response`, 'output', (field) => responseDoc(definition, field)),
    )
    schemas[`${title}Request`] = withoutFields(schemas[`${title}Request`]!, [
      ...Object.keys(route.query),
      ...['data', 'schema', 'delimiter'],
    ])
    const path = paths[route.path] ?? {}
    paths[route.path] = path
    for (const method of route.methods) {
      path[method.toLowerCase()] = {
        operationId: method === route.methods[0] ? title : `${title}By${method === 'GET' ? 'Get' : 'Post'}`,
        summary: definition.summary,
        tags: [route.path.split('/')[2]!],
        parameters: parametersOf(definition as unknown as AnyOperation, method),
        ...requestBody(route, method, title),
        responses: responsesOf(route, title, [...shared, ...definition.errors]),
      }
    }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Tabularium',
      version: packageVersion(),
      description: 'A table catalog: namespaces, tables, versions, tags, branches and atomic commits.',
    },
    servers: [{ url: prefix === '' ? '/' : prefix }],
    ...(isOpen ? {} : { security: [{ bearer: [] }, { apiKey: [] }] }),
    paths: { ...paths, ...changesDescription() },
    components: { schemas, ...(isOpen ? {} : { securitySchemes }) },
  }
}

const securitySchemes: JsonSchema = {
  bearer: { type: 'http', scheme: 'bearer' },
  apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
}

const text: JsonSchema = { type: 'string' }

const querySchemas: Readonly<Record<QueryKind, JsonSchema>> = {
  text,
  texts: { type: 'array', items: text },
  integer: { type: 'integer', minimum: 0 },
  boolean: { type: 'boolean' },
  map: { type: 'string', contentMediaType: jsonType },
}

function parametersOf(operation: AnyOperation, method: Method): OpenApiOperation['parameters'] {
  const { name, route } = operation
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name: name!,
    in: 'path',
    required: true,
    description:
      name === 'id'
        ? 'The names from the root down, joined by the delimiter; the delimiter alone is the root.'
        : 'The name of the index.',
    schema: text,
  }))
  const delimiter = {
    name: 'delimiter',
    in: 'query',
    required: false,
    description: 'What joins the names of an identifier; $ when absent.',
    schema: { type: 'string', minLength: 1, maxLength: 8 },
  }
  const kinds = { ...route.query, ...(method === 'GET' ? route.queryToo : {}) }
  const inQuery = Object.entries(kinds).map(([name, kind]) => ({
    name,
    in: 'query',
    required: false,
    description: [requestDoc(operation, name), kind === 'map' ? 'A JSON object.' : '']
      .filter(Boolean)
      .join(' '),
    schema: querySchemas[kind],
  }))
  return [...inPath, delimiter, ...inQuery, ...(isAboutTransactions(name) ? [] : [inside])]
}

const inside = {
  name: insideHeader,
  in: 'header',
  required: false,
  description: 'The transaction that the operation is part of: a transaction_id of BeginTransaction.',
  schema: { type: 'string', minLength: 1, maxLength: 128 },
}

function requestBody({ body }: Route, method: Method, title: string): Pick<OpenApiOperation, 'requestBody'> {
  if (body === 'none' || method === 'GET') return {}
  if (body === 'arrow') {
    return {
      requestBody: {
        required: true,
        content: { [arrowStreamType]: { schema: {} }, [arrowFileType]: { schema: {} } },
      },
    }
  }
  if (body === 'metadata')
    return { requestBody: { required: true, content: json({ type: 'object', additionalProperties: text }) } }
  return { requestBody: { required: true, content: json(reference(`${title}Request`)) } }
}

function responsesOf(
  { answer, statuses }: Route,
  title: string,
  codes: readonly ErrorCode[],
): OpenApiOperation['responses'] {
  const answers: Readonly<Record<Route['answer'], Content>> = {
    json: json(reference(`${title}Response`)),
    count: json({ type: 'integer', minimum: 0 }),
    plan: json(text),
    analysis: json(text),
    metadata: json({ type: 'object', additionalProperties: text }),
    arrow: { [arrowFileType]: { schema: {} } },
  }
  const byStatus = new Map<ErrorStatus, ErrorCode[]>()
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
  },
}

function reference(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}

function json(schema: JsonSchema): Content {
  return { [jsonType]: { schema } }
}
