import type { IncomingHttpHeaders } from 'node:http'
import type { CatalogError, ErrorCode } from '../../base/errors.ts'
import type { ClientRules } from '../../catalog/index.ts'
import type { OperationName } from '../../catalog/operations/index.ts'
import type { ErrorStatus } from '../../protocol/status.ts'

export type Fields = Readonly<Record<string, unknown>>

/** What a client expects of the tables and columns of one request, and the headers that its answer gets by what they are. */
export interface RequestRules extends ClientRules {
  headers(): Readonly<Record<string, string>> | undefined
}

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
  /** The client's requirements for the tables and columns of one request. */
  readonly rules?: () => RequestRules
  /** Whether the sender of a request, in its own form, reads the files of Lance's tables for their columns. */
  readonly readsLance?: (request: Fields) => boolean
  /** Headers of every answer. */
  readonly headers?: Readonly<Record<string, string>>
  /** The header with the version that a blob was read from. */
  readonly blobVersion?: string
  /** The status of an error, if the client interprets statuses differently. */
  readonly status?: (code: ErrorCode, operation: OperationName) => ErrorStatus | undefined
  /** The status of the answer to an unknown path. */
  readonly unknownRoute?: ErrorStatus
  /** What is not served at an unknown path that the client asks for, and what it can do in place of that. */
  readonly unserved?: (path: string) => CatalogError | undefined
}
