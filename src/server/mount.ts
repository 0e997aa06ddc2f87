import type { IncomingHttpHeaders } from 'node:http'
import type { ErrorCode } from '../base/errors.ts'
import type { Identifier } from '../base/model/identifier.ts'
import type { OperationOptions } from '../catalog/index.ts'
import type { OperationName } from '../catalog/operations/index.ts'
import type { Principal } from './auth/principal.ts'
import type { Answer, StreamableAnswer } from './core/answer.ts'

/** Another protocol over the same catalog, at a path of its own. */
export interface Mount {
  /** One segment, such as `/iceberg`. It gets all requests below it. */
  readonly path: string
  /** Finds what a request asks for. Its errors are answered as those of a route. `path` is not decoded. */
  route(request: { readonly method: string; readonly path: string; readonly query: string }): MountedRoute
  /** Parses JSON where `JSON.parse` would lose something. Default: `JSON.parse`. */
  parseJson?(text: string): unknown
  /** The answer to an error of the protocol's own; undefined for any other. */
  ownAnswer(error: unknown): Answer | undefined
  /**
   * The answer to any other error, whose message was written for callers. `mayBeDone` tells that the change may have been
   * made all the same.
   */
  answer(code: ErrorCode, detail: string, status: number, mayBeDone: boolean): Answer
}

/** A request of another protocol, before its body is read. */
export interface MountedRoute {
  /** The name in the metrics, such as `iceberg.loadTable`. */
  readonly name: string
  /** The namespace or table that its path names. Default: the root. */
  readonly subject?: Identifier
  /** What the hook `authorize` is asked before the body is read. */
  readonly access: readonly { readonly operation: OperationName; readonly id: Identifier | undefined }[]
  /** Whether callers need no credentials, since the request brings some. Default: false. */
  readonly isPublic?: boolean
  /** Whether it may change the catalog: cached answers are dropped after it. */
  readonly changes: boolean
  readonly body: 'json' | 'form' | 'none'
  /**
   * For a request without a body whose answer depends on records of the catalog alone: the operation that reads them. The
   * answer is kept until a record changes. Default: it is made for each request.
   */
  readonly keptAs?: OperationName | undefined
  run(request: MountedRequest): Promise<StreamableAnswer>
}

/** A request of another protocol, with its body. */
export interface MountedRequest {
  readonly headers: IncomingHttpHeaders
  readonly principal: Principal | undefined
  /** The parsed body: of JSON, its value; of a form, its fields. Undefined without a body. */
  readonly body: unknown
  /** The options for all operations of the request. */
  readonly options: OperationOptions
  /** The entry `context` for all requests to operations. */
  readonly context: Readonly<Record<string, string>>
  /** Asks the hook `authorize` about something that only the body names. Fails with `PermissionDenied`. */
  authorize(operation: OperationName, id: Identifier, location?: string): Promise<void>
  /** The caller that credentials belong to. Fails with `Unauthenticated`. */
  authenticate(token: string): Promise<Principal | undefined>
}
