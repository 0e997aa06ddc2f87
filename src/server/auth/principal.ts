import type { IncomingHttpHeaders } from 'node:http'

/** The caller who sent a request. */
export interface Principal {
  /** The name of a static token, the subject of a JWT, or the name that your own function gives. */
  readonly name: string
  /** The claims of a JWT, or what your own function adds. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/** The request data for hooks. */
export interface RequestInfo {
  /** The id of the request, as in logs and in the header `x-request-id` of the response. */
  readonly requestId: string
  readonly method: string
  /** The path, without the query string. */
  readonly path: string
  /** All headers, with names in lower case, including credentials. */
  readonly headers: IncomingHttpHeaders
  readonly remoteAddress: string | undefined
  /** The parsed body; absent before the body was read. */
  readonly body?: unknown
  /** The table location in the body, in normalized form. */
  readonly location?: string
}
