import { CatalogError, type ErrorCode, errorNumbers } from '../base/errors.ts'

/** The type and title of an HTTP status in an error body. Source: the service document, section 7. */
export const problems = {
  400: { type: '/errors/bad-request', title: 'Malformed request' },
  401: {
    type: '/errors/unauthorized-request',
    title: 'No valid authentication credentials for the operation',
  },
  403: { type: '/errors/forbidden-request', title: 'Not authorized to make this request' },
  404: { type: '/errors/not-found-error', title: 'Not found Error' },
  // Not in the service document: the HTTP status for a method that a path does not support.
  405: { type: '/errors/unsupported-operation', title: 'The server does not support this operation' },
  406: { type: '/errors/unsupported-operation', title: 'The server does not support this operation' },
  409: { type: '/errors/conflict', title: 'The namespace has been concurrently modified' },
  // Not in the service document: another request has the idempotency key.
  422: { type: '/errors/bad-request', title: 'The idempotency key belongs to another request' },
  500: { type: '/errors/server-error', title: 'Internal Server Error' },
  503: { type: '/errors/service-unavailable', title: 'Slow down' },
} as const

export type ErrorStatus = keyof typeof problems

/** The HTTP status of every error code. */
export const statusOfCode: { readonly [Code in ErrorCode]: ErrorStatus } = {
  Unsupported: 406,
  NamespaceNotFound: 404,
  NamespaceAlreadyExists: 409,
  NamespaceNotEmpty: 409,
  TableNotFound: 404,
  TableAlreadyExists: 409,
  TableIndexNotFound: 404,
  TableIndexAlreadyExists: 409,
  TableTagNotFound: 404,
  TableTagAlreadyExists: 409,
  TransactionNotFound: 404,
  TableVersionNotFound: 404,
  TableColumnNotFound: 404,
  InvalidInput: 400,
  ConcurrentModification: 409,
  PermissionDenied: 403,
  Unauthenticated: 401,
  ServiceUnavailable: 503,
  Internal: 500,
  InvalidTableState: 409,
  TableSchemaValidationError: 400,
  Throttling: 503,
  TableBranchNotFound: 404,
  TableBranchAlreadyExists: 409,
}

/** The HTTP status of an error code, or 400 when the operation's statuses are `listed` and do not include it. */
export function statusAmong(listed: readonly number[] | undefined, code: ErrorCode): ErrorStatus {
  const status = statusOfCode[code]
  return listed === undefined || listed.includes(status) ? status : 400
}

/** The body of every error response. */
export interface ErrorBody {
  readonly type: string
  readonly title: string
  readonly status: number
  /** What went wrong, and what to do next. */
  readonly detail: string
  /** The path of the request. */
  readonly instance: string
  /** The number of the error in the protocol. */
  readonly code: number
  /** The same as `detail`, for clients of the public protocol. */
  readonly error: string
  /** The transaction that failed, where one was recorded. */
  readonly transaction_id?: string
  /** With a version that was refused: the one to create instead. */
  readonly next_version?: number
}

/** The error body of a code. `status` overrides the status of the code, as for an unknown route. */
export function errorBody(
  code: ErrorCode,
  detail: string,
  instance: string,
  status: ErrorStatus = statusOfCode[code],
): ErrorBody {
  return { ...problems[status], status, detail, instance, code: errorNumbers[code], error: detail }
}

const codesByNumber = new Map<number, ErrorCode>(
  Object.entries(errorNumbers).map(([code, number]) => [number, code as ErrorCode]),
)

const codesByStatus: Readonly<Record<number, ErrorCode>> = {
  401: 'Unauthenticated',
  403: 'PermissionDenied',
  404: 'Unsupported',
  405: 'Unsupported',
  406: 'Unsupported',
  407: 'Unauthenticated',
  408: 'ServiceUnavailable',
  409: 'ConcurrentModification',
  410: 'Unsupported',
  421: 'ServiceUnavailable',
  425: 'ServiceUnavailable',
  429: 'Throttling',
  451: 'PermissionDenied',
  500: 'Internal',
  501: 'Unsupported',
  505: 'Unsupported',
  511: 'Unauthenticated',
}

/** The error code of an answer without one. */
function codeOfStatus(status: number): ErrorCode {
  const known = codesByStatus[status]
  if (known !== undefined) return known
  return status >= 500 ? 'ServiceUnavailable' : status >= 400 ? 'InvalidInput' : 'Internal'
}

/** The error code of a 404 without `code`, by path prefix. */
const notFoundCodes: readonly (readonly [path: string, code: ErrorCode])[] = [
  ['/v1/namespace/', 'NamespaceNotFound'],
  ['/v1/transaction/', 'TransactionNotFound'],
  ['/v1/table/', 'TableNotFound'],
]

function notFoundCode(path: string): ErrorCode | undefined {
  return notFoundCodes.find(([beginning]) => path.startsWith(beginning))?.[1]
}

/**
 * Whether an error response is one of a catalog, and not of a proxy. Other programs use numbers as `code`, too, so it
 * counts only beside a text of ours and with a status of its kind.
 */
export function isOfCatalog(status: number, body: unknown): body is Partial<ErrorBody> {
  if (typeof body !== 'object' || body === null) return false
  const { code, type, error, detail, message } = body as Record<string, unknown>
  if (typeof type === 'string' && type.startsWith('/errors/')) return true
  const known = typeof code === 'number' ? codesByNumber.get(code) : undefined
  const hasText = [detail, error].some((text) => typeof text === 'string')
  return (
    known !== undefined && hasText && message === undefined && statusOfCode[known] >= 500 === status >= 500
  )
}

/**
 * The error of an error response, by its `code`. Servers of the service document send no `code`: then `type` and the
 * `path` of the operation's route determine what was not found. Any other body comes from what stands before the
 * server, and the status decides. Accepts any body, and never throws.
 */
export function errorOfResponse(status: number, body: unknown, path = ''): CatalogError {
  if (!isOfCatalog(status, body)) return new CatalogError(codeOfStatus(status), foreignText(status, body))
  const { code, type, error, detail, transaction_id, next_version } = body as Record<string, unknown>
  const known =
    (typeof code === 'number' ? codesByNumber.get(code) : undefined) ??
    (type === problems[404].type ? notFoundCode(path) : undefined)
  const given = [detail, error].find((text) => typeof text === 'string' && text !== '') as string | undefined
  return new CatalogError(
    known ?? codeOfStatus(status),
    given ?? `The server answered with status ${status} and no message. Ask whoever runs it.`,
    {
      transaction_id: typeof transaction_id === 'string' ? transaction_id : undefined,
      next_version: Number.isSafeInteger(next_version) ? (next_version as number) : undefined,
    },
  )
}

function foreignText(status: number, body: unknown): string {
  const said = textOf(body)
  return `The answer has status ${status} and is no error of a catalog${said === '' ? '' : `: ${JSON.stringify(said)}`}. It may come from a proxy before the server. ${adviceFor(status)}`
}

function adviceFor(status: number): string {
  switch (status) {
    case 401:
    case 407:
    case 511:
      return 'Check the credentials that it asks for.'
    case 403:
    case 451:
      return 'It does not let this request pass: ask whoever runs it.'
    case 408:
      return 'The request arrived too slowly: send it again, faster or in parts.'
    case 413:
      return 'The body is larger than it allows: send less at a time, or raise its limit.'
    case 414:
    case 431:
      return 'The URL and the headers are longer than it allows: send a shorter request, or raise its limit.'
    case 429:
      return 'Wait a moment and try again.'
    case 500:
      return 'Ask whoever runs it.'
    case 501:
    case 505:
      return 'Check that the URL is that of a catalog.'
  }
  return status > 500
    ? 'Check that the server runs, and try again in a moment.'
    : 'Check that the URL is that of a catalog.'
}

const maxText = 120

/** What a body that is no error of a catalog says, in one short line: the title of a page, or a message. */
function textOf(body: unknown): string {
  const { detail, error, message } = (typeof body === 'object' && body !== null ? body : {}) as Record<
    string,
    unknown
  >
  const given = [detail, message, error, body].find((text) => typeof text === 'string' && text !== '') ?? ''
  const text = (given as string).slice(0, 10_000)
  const told = /<title[^>]*>([^<]*)/i.exec(text)?.[1] ?? text.replace(/<[^>]*>/g, ' ')
  const line = told.replace(/\s+/g, ' ').trim()
  return line.length > maxText ? `${line.slice(0, maxText)}…` : line
}
