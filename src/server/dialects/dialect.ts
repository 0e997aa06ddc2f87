import type { IncomingHttpHeaders } from 'node:http'
import type { ErrorCode } from '../../base/errors.ts'
import type { ClientRules } from '../../catalog/index.ts'
import type { OperationName } from '../../catalog/operations/index.ts'
import type { ErrorStatus } from '../../protocol/status.ts'
import { generatedAgent, generatedDialect } from './generated.ts'
import { lancedbDialect, namespaceDialect } from './lancedb.ts'

export type Fields = Readonly<Record<string, unknown>>

/** How a group of clients deviates from the protocol. Without a member, the client follows the service document. */
export interface Dialect {
  readonly name: string
  /** Whether `+` in a path is a space. */
  readonly plusIsSpace: boolean
  /** Whether `false` in the body means an unset flag, which the query may override. */
  readonly falseIsUnset?: boolean
  /** The form of table listings. Overrides the server's option. */
  readonly listing?: 'children'
  /** Maps the operation of the path to the one that the client means. */
  readonly operation?: (operation: OperationName) => OperationName
  /** Translates a request into the form of the protocol. */
  readonly request?: (operation: OperationName, request: Fields, headers: IncomingHttpHeaders) => Fields
  /** Translates a response into the form that the client expects. */
  readonly response?: (operation: OperationName, response: Fields) => unknown
  /** The field for the body of an operation, if the client sends Arrow bytes instead of JSON. */
  readonly arrowField?: (operation: OperationName) => string | undefined
  /** The client's requirements for tables and columns. */
  readonly rules?: ClientRules
  /** Headers of every answer. */
  readonly headers?: Readonly<Record<string, string>>
  /** The status of an error, if the client interprets statuses differently. */
  readonly status?: (code: ErrorCode, operation: OperationName) => ErrorStatus | undefined
  /** The status of the answer to an unknown path. */
  readonly unknownRoute?: ErrorStatus
}

const protocol: Dialect = { name: 'protocol', plusIsSpace: false }

/** The protocol with form-encoded paths: LanceDB's namespace client at a server with recursive listings. */
const formPaths: Dialect = { name: 'form-paths', plusIsSpace: true }

/** The dialect of a client, by its headers and the server's `listing` option. */
export function dialectOf(headers: IncomingHttpHeaders, listing: Dialect['listing'] | 'recursive'): Dialect {
  // LanceDB's remote client sends its database name to every server except LanceDB's own. Its other headers do not
  // identify it: the namespace client also sends `x-lancedb-min-timestamp`, and any client may have an API key.
  if (headers['x-lancedb-database'] !== undefined) return lancedbDialect
  // The namespace client requests answers that are not older than its last write.
  const isAfterWrite =
    headers['x-lancedb-min-timestamp'] !== undefined || headers['x-lancedb-min-version'] !== undefined
  const base = listing === 'children' ? namespaceDialect : isAfterWrite ? formPaths : protocol
  const agent = headers['user-agent']
  return agent?.startsWith(generatedAgent) ? generatedDialect(agent, base) : base
}
