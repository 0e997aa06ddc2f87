import { CatalogError, type ErrorCode, invalid, transactionOf } from '../../base/errors.ts'
import { KeyReused } from '../../base/model/idempotency-key.ts'
import type { OperationName } from '../../catalog/operations/index.ts'
import { type ErrorBody, type ErrorStatus, errorBody, statusAmong } from '../../protocol/status.ts'
import { transactionHeader, wire } from '../../protocol/wire.ts'
import { presentedToken } from '../auth/auth.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { HttpOptions } from '../options.ts'
import { type Answer, jsonUtf8 } from './answer.ts'
import type { HttpContext } from './context.ts'
import type { Exchange } from './exchange.ts'

/** The answer to an error, before serialization. */
export interface Problem {
  readonly code: ErrorCode
  readonly status: ErrorStatus
  readonly body: ErrorBody
  readonly headers: Readonly<Record<string, string>>
  /** Whether the server itself failed. Such errors are logged. */
  readonly unexpected: boolean
}

/** The known facts of a failed request. */
export interface FailedRequest {
  readonly path: string
  readonly requestId: string
  readonly retryAfter: number
  readonly dialect?: Dialect | undefined
  readonly operation?: OperationName | undefined
  /** Overrides the status of the error code. */
  readonly status?: ErrorStatus | undefined
  /** Whether the request presented a token. */
  readonly tokenGiven?: boolean | undefined
}

/** The answer to any error. Callers see only messages that were written for callers. */
export function problemOf(error: unknown, failed: FailedRequest): Problem {
  const { code, detail } = explain(error, failed.requestId)
  const { dialect, operation } = failed
  const status =
    failed.status ??
    (operation && dialect?.status?.(code, operation)) ??
    (error instanceof KeyReused ? 422 : statusAmong(operation && wire[operation].statuses, code))
  const { next_version } = error instanceof CatalogError ? error : {}
  const body = {
    ...errorBody(code, detail, failed.path.slice(0, 1_024), status),
    ...(next_version !== undefined && { next_version }),
  }
  const headers = headersOf(status, error, failed)
  const unexpected = status === 500
  const transaction_id = transactionOf(error)
  if (transaction_id === undefined) return { code, status, body, headers, unexpected }
  return {
    code,
    status,
    body: { ...body, transaction_id },
    headers: { ...headers, [transactionHeader]: transaction_id },
    unexpected,
  }
}

function explain(error: unknown, requestId: string): { code: ErrorCode; detail: string } {
  if (error instanceof CatalogError && error.code !== 'Internal') {
    return { code: error.code, detail: error.message }
  }
  return {
    code: 'Internal',
    detail: `Something went wrong in the server. Its log says more under the request id ${requestId}; ask whoever runs it.`,
  }
}

function headersOf(
  status: ErrorStatus,
  error: unknown,
  { retryAfter, tokenGiven }: FailedRequest,
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

/** The answer to an error. Unexpected errors are logged. */
export function failure(
  context: HttpContext,
  exchange: Exchange,
  error: unknown,
  status?: ErrorStatus,
): Answer {
  const problem = report(context, exchange, error, status)
  return {
    status: problem.status,
    type: jsonUtf8,
    body: JSON.stringify(problem.body),
    headers: problem.headers,
  }
}

/** Describes an error for its caller. Logs unexpected ones, and notes refusals. */
export function report(
  { admission, log, options }: HttpContext,
  exchange: Exchange,
  error: unknown,
  status?: ErrorStatus,
): Problem {
  const { requestId, path, dialect, headers, match } = exchange
  const problem = problemOf(error, {
    path,
    requestId,
    retryAfter: admission.limits.retryAfter,
    dialect,
    operation: match?.operation,
    status,
    tokenGiven: presentedToken(headers) !== undefined,
  })
  if (problem.unexpected)
    log.error({ err: error, requestId, operation: match?.operation }, 'an operation failed')
  if (problem.status === 401 || problem.status === 403) notifyRefused(options, exchange, problem.status)
  return problem
}

function notifyRefused({ onRefused }: HttpOptions, exchange: Exchange, status: number): void {
  const { requestId, method, path, remoteAddress, principal, match } = exchange
  const about = { requestId, method, path: path.slice(0, 1_024), remoteAddress, principal: principal?.name }
  onRefused?.({ ...about, operation: match?.operation, status })
}

/** For a read-only path: the answer to a method other than GET and HEAD; undefined for those two. */
export function answerUnlessRead(context: HttpContext, exchange: Exchange): Answer | undefined {
  const { method } = exchange
  const headers = { allow: 'GET, HEAD, OPTIONS' }
  if (method === 'GET' || method === 'HEAD') return undefined
  if (method === 'OPTIONS') return { status: 200, body: '', headers }
  const error = invalid(`${method} is not a method of this path. Use GET.`)
  return { ...failure(context, exchange, error, 405), headers }
}
