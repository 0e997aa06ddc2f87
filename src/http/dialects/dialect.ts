import type { IncomingHttpHeaders } from 'node:http'
import type { ErrorCode } from '../../errors.ts'
import type { OperationName } from '../../operations/index.ts'
import type { ErrorStatus } from '../protocol/status.ts'
import { isLanceDb, lancedbDialect, namespaceDialect } from './lancedb.ts'

export type Fields = Readonly<Record<string, unknown>>

/** Where a client departs from the protocol. What a dialect leaves out is as the service document says. */
export interface Dialect {
  readonly name: string
  /** Whether `+` in a path is a space. */
  readonly plusIsSpace: boolean
  /** What listings of tables answer, whatever the server is set to. */
  readonly listing?: 'children'
  /** The operation a request means, where it is another than its path says. */
  readonly operation?: (operation: OperationName) => OperationName
  /** The request in the protocol's words. */
  readonly request?: (operation: OperationName, request: Fields) => Fields
  /** The response in the client's words. */
  readonly response?: (operation: OperationName, response: Fields) => unknown
  /** The status of an operation's error, where the client reads statuses differently. */
  readonly status?: (code: ErrorCode, operation: OperationName) => ErrorStatus | undefined
  /** The status of what is said of a path that is none here. */
  readonly unknownRoute?: ErrorStatus
}

const protocol: Dialect = { name: 'protocol', plusIsSpace: true }

/** The dialect of whoever sends these headers, to a server set to this listing. */
export function dialectOf(headers: IncomingHttpHeaders, listing: Dialect['listing'] | 'recursive'): Dialect {
  if (isLanceDb(headers)) return lancedbDialect
  return listing === 'children' ? namespaceDialect : protocol
}
