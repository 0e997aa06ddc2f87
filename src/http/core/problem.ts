import { CatalogError, type ErrorCode } from '../../errors.ts'
import type { OperationName } from '../../operations/index.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { type ErrorBody, type ErrorStatus, errorBody, statusOfCode } from '../protocol/status.ts'

/** What an error answers. */
export interface Problem {
  readonly status: ErrorStatus
  readonly body: ErrorBody
  readonly headers: Readonly<Record<string, string>>
  /** Whether the error is the server's own and belongs in its log. */
  readonly unexpected: boolean
}

/** Where an error arose. */
export interface Place {
  readonly path: string
  readonly requestId: string
  readonly retryAfter: number
  readonly dialect?: Dialect | undefined
  readonly operation?: OperationName | undefined
  /** The status that fits better than that of the code. */
  readonly status?: ErrorStatus | undefined
  /** Whether the request presented a token. */
  readonly tokenGiven?: boolean | undefined
}

/** The answer to any error, whatever it is. Only what was written for callers is told to them. */
export function problemOf(error: unknown, place: Place): Problem {
  const { code, detail } = explain(error, place.requestId)
  const { dialect, operation } = place
  const status = place.status ?? (operation && dialect?.status?.(code, operation)) ?? statusOfCode[code]
  return {
    status,
    body: errorBody(code, detail, place.path.slice(0, 1_024), status),
    headers: headersOf(status, error, place),
    unexpected: status === 500,
  }
}

function explain(error: unknown, requestId: string): { code: ErrorCode; detail: string } {
  if (error instanceof CatalogError && error.code !== 'Internal') {
    return { code: error.code, detail: error.message }
  }
  const status = frameworkStatus(error)
  if (status === 429 || status === 503) {
    return {
      code: 'Throttling',
      detail: 'The server is busy. Wait as long as Retry-After says and try again.',
    }
  }
  if (status !== undefined && status >= 400 && status < 500) {
    return {
      code: 'InvalidInput',
      detail: `The request cannot be read: ${(error as Error).message}. Check it.`,
    }
  }
  return {
    code: 'Internal',
    detail: `Something went wrong in the server. Its log says more under the request id ${requestId}; ask whoever runs it.`,
  }
}

/** The status of an error of the framework, whose messages are made for callers. */
function frameworkStatus(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, statusCode } = error as Error & { code?: unknown; statusCode?: unknown }
  const known = typeof code === 'string' && code.startsWith('FST_') && typeof statusCode === 'number'
  return known ? statusCode : undefined
}

function headersOf(
  status: ErrorStatus,
  error: unknown,
  { retryAfter, tokenGiven }: Place,
): Readonly<Record<string, string>> {
  if (status === 503) {
    const known = error instanceof CatalogError ? (error as { seconds?: number }).seconds : undefined
    return { 'retry-after': String(known ?? retryAfter) }
  }
  if (status === 401) {
    return { 'www-authenticate': `Bearer realm="tabularium"${tokenGiven ? ', error="invalid_token"' : ''}` }
  }
  return {}
}
