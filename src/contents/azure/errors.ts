import { CatalogError, type ErrorCode } from '../../base/errors.ts'
import { bareError } from '../bucket/bare-error.ts'

interface AzureError {
  readonly name?: string
  readonly message?: string
  /** The code of the service, or of the system. */
  readonly code?: string
  readonly statusCode?: number
  readonly details?: { readonly errorCode?: string }
}

/** The code of an error of the service or the system. */
export function codeOf(error: unknown): string | undefined {
  const { code, details } = (error ?? {}) as AzureError
  return details?.errorCode ?? code
}

export function statusOf(error: unknown): number | undefined {
  return (error as AzureError | undefined)?.statusCode
}

/** Whether an error means that there is no such blob; a missing container does not count. */
export function isMissing(error: unknown): boolean {
  return statusOf(error) === 404 && codeOf(error) !== 'ContainerNotFound'
}

/** Turns an error of Azure into a `CatalogError`. A `CatalogError` is returned as it is. */
export function azureError(action: string, root: string, key: string, error: unknown): CatalogError {
  if (error instanceof CatalogError) return error
  const [code, rest] = reasonOf(error as AzureError)
  const cause = bareError(error as AzureError, [statusOf(error), codeOf(error)])
  return new CatalogError(code, `Cannot ${action} ${root}${key}: ${rest}`, { cause })
}

function reasonOf(error: AzureError): [ErrorCode, string] {
  const status = statusOf(error) ?? 0
  const code = codeOf(error)
  switch (code) {
    case 'ContainerNotFound':
      return ['InvalidInput', 'there is no such container. Create it, or check its name and the account.']
    case 'InvalidResourceName':
      return [
        'InvalidInput',
        'this is no name for a container. Give 3 to 63 small letters, digits and hyphens, as the container is named.',
      ]
    case 'ContainerBeingDeleted':
      return ['ServiceUnavailable', 'the container is being deleted. Use another one.']
    case 'InvalidAuthenticationInfo':
    case 'AuthenticationFailed':
      return [
        'PermissionDenied',
        `the service refuses the credentials (${code}). Renew them, and set the clock of this machine: it may differ by 15 minutes at most.`,
      ]
    case 'ENOTFOUND':
      return [
        'ServiceUnavailable',
        'the name of the service is not known here. Check the account, the endpoint and the network.',
      ]
  }
  if (/Credential|Authentication/.test(error.name ?? '')) {
    return [
      'PermissionDenied',
      'no credentials were found. Set AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_KEY, or sign in with az login.',
    ]
  }
  if (status === 401 || status === 403) {
    return [
      'PermissionDenied',
      `the service forbids it (${code}). Give the role Storage Blob Data Contributor on the container.`,
    ]
  }
  if (status === 429 || status >= 500) {
    return ['ServiceUnavailable', `the service cannot answer now (${code}, ${status}). Try again later.`]
  }
  if (status === 0) {
    return [
      'ServiceUnavailable',
      `the service cannot be reached (${code ?? error.name}). Check the endpoint, and try again.`,
    ]
  }
  return ['Internal', `the service answered ${code ?? status}. See the cause of this error.`]
}
