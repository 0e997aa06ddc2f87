import { changesPath, eventStreamType, lastEventHeader } from '../protocol/events.ts'
import { jsonType } from '../protocol/wire.ts'
import type { OpenApiOperation } from './openapi.ts'
import type { JsonSchema } from './openapi-schemas.ts'

/** The member that marks what the protocol does not have. */
const extension = 'x-tabularium-extension'

const text: JsonSchema = { type: 'string' }

/** The description of the change feed, which is no operation: its answer has no end. */
export function changesDescription(): Record<string, { readonly get: OpenApiOperation }> {
  const parameter = (name: string, where: 'query' | 'header', description: string) => ({
    name,
    in: where,
    required: false,
    description,
    schema: text,
  })
  const problem = { content: { [jsonType]: { schema: { $ref: '#/components/schemas/Error' } } } }
  return {
    [changesPath]: {
      get: {
        [extension]: true,
        operationId: 'WatchChanges',
        summary: 'Watch what is committed, as server-sent events that go on until the server stops.',
        tags: ['changes'],
        parameters: [
          parameter('id', 'query', 'A namespace, with all below it, or a table. Default: the whole catalog.'),
          parameter('delimiter', 'query', 'What joins the names of an identifier; $ when absent.'),
          parameter('since', 'query', 'The token of a change: begin behind it. Default: now.'),
          parameter(lastEventHeader, 'header', 'As since, when a client connects again.'),
        ],
        responses: {
          200: { description: 'Success', content: { [eventStreamType]: { schema: text } } },
          400: {
            description: 'since is no token of this catalog, or the identifier is malformed',
            ...problem,
          },
          401: { description: 'The credentials are missing or not valid', ...problem },
          404: { description: 'Changes since the token are not all there any more', ...problem },
          503: { description: 'The server has as many streams as it takes', ...problem },
        },
      } as OpenApiOperation,
    },
  }
}
