import { changesPath, eventStreamType, lastEventHeader } from '../../protocol/events.ts'
import { jsonType } from '../../protocol/wire.ts'
import type { JsonSchema, OpenApiOperation } from './openapi-schemas.ts'

/** The member that marks extensions of the protocol. */
const extension = 'x-tabularium-extension'

const text: JsonSchema = { type: 'string' }
const names: JsonSchema = { type: 'array', items: text }
const number: JsonSchema = { type: 'integer', minimum: 0 }

function list(items: JsonSchema, description: string): JsonSchema {
  return { type: 'array', items, description }
}

function object(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, required }
}

function reference(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}

const versionSpan = object({ branch: text, first: number, last: number }, ['first', 'last'])

/** The change of a commit to one namespace or table: `SubjectChange` of the catalog. */
const subjectChange: JsonSchema = object(
  {
    operation: { type: 'string', description: 'The operation that did it, such as InsertIntoTable.' },
    kind: { type: 'string', enum: ['namespace', 'table'] },
    id: { ...names, description: 'The identifier before the change; of what is new, the one that it got.' },
    effect: { type: 'string', enum: ['created', 'replaced', 'changed', 'moved', 'removed'] },
    to: { ...names, description: 'Of what was moved: the identifier that it has now.' },
    versions: list(versionSpan, 'The versions that it made.'),
    removed_versions: list(versionSpan, 'The versions that it removed.'),
    tags: list(
      object({ name: text, branch: text, version: number }, ['name', 'version']),
      'The tags that it set.',
    ),
    removed_tags: { ...names, description: 'The tags that it removed.' },
    branches: { ...names, description: 'The branches that it made.' },
    removed_branches: { ...names, description: 'The branches that it removed.' },
    transaction_id: { type: 'string', description: 'The id of an operation within a transaction.' },
  },
  ['operation', 'kind', 'id', 'effect'],
)

/** The data of a message event: `CommittedChange` of the catalog. */
const committedChange: JsonSchema = object(
  {
    token: { type: 'string', description: 'The place behind this change, as since of another request.' },
    timestamp_millis: { type: 'number', description: 'When it was committed, in milliseconds since 1970.' },
    transaction_id: text,
    principal: { type: 'string', description: 'Who asked for it. Only the caller itself is shown this.' },
    request_id: { type: 'string', description: 'Of which request it is. Only its caller is shown this.' },
    changes: list(reference('SubjectChange'), 'What it did, in the order in which it did so.'),
  },
  ['token', 'timestamp_millis', 'transaction_id', 'changes'],
)

const position = object({ token: { type: 'string', description: 'How far the stream has come.' } }, ['token'])

/** An event of the stream: its name, its id, and its data as JSON. */
const changeEvent: JsonSchema = {
  description: 'An event of the stream, with its data read as JSON. An event without a name is a message.',
  oneOf: [
    object({ event: { const: 'message' }, id: text, data: reference('CommittedChange') }, ['id', 'data']),
    object({ event: { const: 'token' }, id: text, data: position }, ['event', 'id', 'data']),
    object({ event: { const: 'end' }, id: text, data: position }, ['event', 'id', 'data']),
    object({ event: { const: 'error' }, data: reference('Error') }, ['event', 'data']),
  ],
}

/** The description of the change feed. It is not an operation, because its answer has no end. */
export function changesDescription(): {
  readonly schemas: Readonly<Record<string, JsonSchema>>
  readonly paths: Readonly<Record<string, { readonly get: OpenApiOperation }>>
} {
  const parameter = (name: string, where: 'query' | 'header', description: string, schema = text) => ({
    name,
    in: where,
    required: false,
    description,
    schema,
  })
  const problem = { content: { [jsonType]: { schema: reference('Error') } } }
  const stream: JsonSchema = {
    type: 'string',
    description: 'Server-sent events. The data of each is JSON, as ChangeEvent has it.',
  }
  const get = {
    [extension]: true,
    operationId: 'WatchChanges',
    summary: 'Watch what is committed, as server-sent events that go on until the server stops.',
    tags: ['changes'],
    parameters: [
      parameter('id', 'query', 'A namespace, with all below it, or a table. Default: the whole catalog.'),
      parameter('delimiter', 'query', 'What joins the names of an identifier; $ when absent.', {
        type: 'string',
        minLength: 1,
        maxLength: 8,
      }),
      parameter('since', 'query', 'The token of a change: begin behind it. Default: now.'),
      parameter(lastEventHeader, 'header', 'As since, when a client connects again.'),
    ],
    responses: {
      200: {
        description: 'Success',
        // OpenAPI 3.1 has no field for the items of a stream.
        content: { [eventStreamType]: { schema: stream, 'x-item-schema': reference('ChangeEvent') } },
      },
      400: { description: 'since is no token of this catalog, or the identifier is malformed', ...problem },
      401: { description: 'The credentials are missing or not valid', ...problem },
      403: { description: 'The caller may not read what the identifier names', ...problem },
      404: { description: 'Changes since the token are not all there any more', ...problem },
      406: {
        description: 'The request is part of a transaction, in which there is nothing to watch',
        ...problem,
      },
      503: { description: 'The server has as many streams as it takes', ...problem },
    },
  }
  return {
    schemas: { ChangeEvent: changeEvent, CommittedChange: committedChange, SubjectChange: subjectChange },
    paths: { [changesPath]: { get } },
  }
}
