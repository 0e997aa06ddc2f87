import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { CatalogError, operations, parseIdentifier } from '../../tabularium/index.ts'
import { type AnswerLimits, answerText, limitFor } from './answers.ts'
import type { Connection } from './connection.ts'
import { callOptions, type Sdk } from './sdk.ts'

/*
 * Each table is a resource: its description, as JSON. So people can hand a table to a model by picking it in their client.
 */

const scheme = 'tabularium:///'
const mimeType = 'application/json'

/** Answers the requests about resources. */
export function answerResources(
  server: Server,
  connection: Connection,
  limits: AnswerLimits,
  types: Sdk['types'],
): void {
  const { McpError, ErrorCode } = types
  const asProtocolError = (error: unknown): unknown =>
    error instanceof CatalogError
      ? new McpError(ErrorCode.InvalidParams, `${error.code}: ${error.message}`)
      : error

  server.setRequestHandler(types.ListResourcesRequestSchema, async ({ params }, extra) => {
    const request = { id: [], limit: limitFor(undefined, limits), page_token: params?.cursor }
    try {
      const answer = await connection.read('listTables', request, callOptions(extra))
      const { tables, page_token } = answer as { tables: readonly string[]; page_token?: string }
      const resources = tables.map((table) => {
        const id = parseIdentifier(table)
        return { uri: uriOf(id), name: id.join('.'), mimeType }
      })
      return { resources, ...(page_token && { nextCursor: page_token }) }
    } catch (error) {
      throw asProtocolError(error)
    }
  })

  server.setRequestHandler(types.ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [
      {
        uriTemplate: `${scheme}{+table}`,
        name: 'table',
        description:
          'A table: its columns, latest version and properties. Names are percent-encoded, with / between them.',
        mimeType,
      },
    ],
  }))

  server.setRequestHandler(types.ReadResourceRequestSchema, async ({ params: { uri } }, extra) => {
    try {
      const request = { id: idOf(uri), load_detailed_metadata: true }
      const answer = await connection.read('describeTable', request, callOptions(extra))
      const text = answerText(operations.describeTable.definition, answer, limits)
      return { contents: [{ uri, mimeType, text }] }
    } catch (error) {
      throw asProtocolError(error)
    }
  })
}

function uriOf(id: readonly string[]): string {
  return scheme + id.map(encodeURIComponent).join('/')
}

function idOf(uri: string): string[] {
  try {
    if (uri.startsWith(scheme)) return uri.slice(scheme.length).split('/').map(decodeURIComponent)
  } catch {
    // An escape that is none.
  }
  throw new CatalogError(
    'InvalidInput',
    `${JSON.stringify(uri.slice(0, 200))} is not the URI of a table. Write ${scheme}prod/flights, as resources/list answers.`,
  )
}
