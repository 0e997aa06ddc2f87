import { CatalogError, type ErrorCode } from '../../base/errors.ts'
import { bareError } from '../bucket/bare-error.ts'

interface GcsError {
  readonly name?: string
  readonly message?: string
  /** The status of the response, or the code of the system. */
  readonly code?: number | string
  readonly cause?: { readonly code?: unknown }
}

/** The status of the response that an error represents. */
export function statusOf(error: unknown): number | undefined {
  const { code } = (error ?? {}) as GcsError
  const status = Number(code)
  return Number.isInteger(status) && status >= 300 ? status : undefined
}

/** Whether an error means that there is no such object; a missing bucket does not count. */
export function isMissing(error: unknown): boolean {
  return statusOf(error) === 404 && !/bucket does not exist/i.test((error as GcsError).message ?? '')
}

/** Whether a status means that the same request may succeed later. */
export function isBusy(status: number): boolean {
  return status === 408 || status === 429 || status >= 500
}

/** The code of a system error, or of its cause. */
function systemCode({ code, cause, name }: GcsError): string {
  return [code, cause?.code, name].find((one) => typeof one === 'string') as string
}

/** Whether an error means that the service could not be reached. */
export function isUnreachable(error: unknown): boolean {
  return ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH'].includes(systemCode(error as GcsError))
}

/** Turns an error of Google Cloud Storage into a `CatalogError`. A `CatalogError` is returned as it is. */
export function gcsError(action: string, bucket: string, key: string, error: unknown): CatalogError {
  if (error instanceof CatalogError) return error
  const [code, rest] = reasonOf(bucket, error as GcsError)
  const cause = bareError(error as GcsError, [statusOf(error) ?? systemCode(error as GcsError)])
  return new CatalogError(code, `Cannot ${action} gs://${bucket}/${key}: ${rest}`, { cause })
}

function reasonOf(bucket: string, error: GcsError): [ErrorCode, string] {
  const status = statusOf(error)
  if (status === 404) {
    return ['InvalidInput', `there is no bucket ${bucket}. Create it, or check its name.`]
  }
  if (/default credentials|invalid_grant|invalid_rapt/i.test(error.message ?? '')) {
    return [
      'PermissionDenied',
      'no credentials that work were found. Set GOOGLE_APPLICATION_CREDENTIALS, or run gcloud auth application-default login; and see that the clock of this machine is right.',
    ]
  }
  if (status === 401 || status === 403) {
    return [
      'PermissionDenied',
      `the service forbids it (${status}). Give the role Storage Object User on the bucket.`,
    ]
  }
  if (status !== undefined && isBusy(status)) {
    return ['ServiceUnavailable', `the service cannot answer now (${status}). Try again later.`]
  }
  if (status === undefined) {
    return [
      'ServiceUnavailable',
      `the service cannot be reached (${systemCode(error)}). Check the network, and try again.`,
    ]
  }
  return ['Internal', `the service answered ${status}. See the cause of this error.`]
}
