import { CatalogError, invalid } from '../../base/errors.ts'

/** The code of a system error, such as `ENOENT`. */
export function systemCode(error: unknown): string | undefined {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

/** Whether an error means that no file of that name exists. */
export function isMissing(error: unknown): boolean {
  const code = systemCode(error)
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/** Turns a system error into a `CatalogError`. A `CatalogError` is returned as it is. */
export function fileError(action: string, file: string, error: unknown): CatalogError {
  if (error instanceof CatalogError) return error
  const failed = `Cannot ${action} ${file}:`
  const cause = { cause: error }
  switch (systemCode(error)) {
    case 'ENOSPC':
      return new CatalogError(
        'ServiceUnavailable',
        `${failed} the disk is full and nothing was kept. Free some space and try again.`,
        cause,
      )
    case 'EDQUOT':
      return new CatalogError(
        'ServiceUnavailable',
        `${failed} the disk quota is used up and nothing was kept. Free some space and try again.`,
        cause,
      )
    case 'EMFILE':
    case 'ENFILE':
      return new CatalogError(
        'ServiceUnavailable',
        `${failed} too many files are open. Do less at once, or raise the limit, and try again.`,
        cause,
      )
    case 'EACCES':
    case 'EPERM':
      return new CatalogError(
        'PermissionDenied',
        `${failed} this user may not do it. Change the owner or the permissions.`,
        cause,
      )
    case 'EROFS':
      return new CatalogError(
        'PermissionDenied',
        `${failed} the file system cannot be written. Use a location elsewhere.`,
        cause,
      )
    case 'ENAMETOOLONG':
      return invalid(
        `${failed} a part of the path is too long for the file system. Use shorter names.`,
        cause,
      )
    case 'ENOTDIR':
    case 'EEXIST':
    case 'EISDIR':
      return new CatalogError(
        'ConcurrentModification',
        `${failed} a file or folder of that name is in the way. Choose another path.`,
        cause,
      )
    default:
      return new CatalogError('Internal', `${failed} ${String(error)}. See the cause of this error.`, cause)
  }
}
