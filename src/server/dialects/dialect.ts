import type { IncomingHttpHeaders } from 'node:http'
import type { ErrorCode } from '../../base/errors.ts'
import type { ClientRules } from '../../catalog/operations/framework/client-rules.ts'
import type { OperationName } from '../../catalog/operations/index.ts'
import type { ErrorStatus } from '../../protocol/status.ts'
import { generatedDialect } from './generated.ts'
import { asksForFreshAnswers, isLanceDb, lancedbDialect, namespaceDialect } from './lancedb.ts'

export type Fields = Readonly<Record<string, unknown>>

/** Where a client departs from the protocol. Where a dialect says nothing, the client follows the service document. */
export interface Dialect {
  readonly name: string
  /** Whether `+` in a path is a space. */
  readonly plusIsSpace: boolean
  /** Whether a `false` in the body stands for a flag that was not set, so that the query may say otherwise. */
  readonly falseIsUnset?: boolean
  /** What listings of tables answer, even if the server is set to another listing. */
  readonly listing?: 'children'
  /** The operation that a request means, where its path names another one. */
  readonly operation?: (operation: OperationName) => OperationName
  /** The request as the protocol has it. */
  readonly request?: (operation: OperationName, request: Fields, headers: IncomingHttpHeaders) => Fields
  /** The response as the client expects it. */
  readonly response?: (operation: OperationName, response: Fields) => unknown
  /** The field that the body of an operation is, where the client sends Arrow bytes instead of JSON. */
  readonly arrowField?: (operation: OperationName) => string | undefined
  /** What the client expects of tables and their columns. */
  readonly rules?: ClientRules
  /** Headers of every answer. */
  readonly headers?: Readonly<Record<string, string>>
  /** The status of an error, where the client reads statuses differently. */
  readonly status?: (code: ErrorCode, operation: OperationName) => ErrorStatus | undefined
  /** The status of the answer to an unknown path. */
  readonly unknownRoute?: ErrorStatus
}

const protocol: Dialect = { name: 'protocol', plusIsSpace: false }

/** The protocol as LanceDB's namespace client writes paths, where the server lists all tables to everybody. */
const formPaths: Dialect = { name: 'form-paths', plusIsSpace: true }

/** The dialect of a client that sends these headers to a server with this listing. */
export function dialectOf(headers: IncomingHttpHeaders, listing: Dialect['listing'] | 'recursive'): Dialect {
  if (isLanceDb(headers)) return lancedbDialect
  const own = asksForFreshAnswers(headers) ? formPaths : protocol
  const base = listing === 'children' ? namespaceDialect : own
  return generatedDialect(headers['user-agent'], base) ?? base
}
