import { dirname } from 'node:path'
import { CatalogError, type ErrorCode } from '../../errors.ts'
import { freeBytes } from './preflight.ts'

interface Explanation {
  readonly code: ErrorCode
  readonly says: string
}

const diskFull: Explanation = {
  code: 'ServiceUnavailable',
  says: 'the disk is full, nothing of the change was kept. Free some space and try again.',
}
const quotaFull: Explanation = {
  code: 'ServiceUnavailable',
  says: 'the disk quota is used up, nothing of the change was kept. Free some space and try again.',
}
const mapFull: Explanation = {
  code: 'ServiceUnavailable',
  says: 'its memory map is full, nothing of the change was kept. Open it with a larger mapSize.',
}
const readersFull: Explanation = {
  code: 'ServiceUnavailable',
  says: 'too many processes read it at once. Close some and try again.',
}
const denied: Explanation = {
  code: 'PermissionDenied',
  says: 'this user may not use the file. Change its owner or permissions.',
}
const readOnlyDisk: Explanation = {
  code: 'PermissionDenied',
  says: 'the file system cannot be written. Open the catalog with readOnly, or place it elsewhere.',
}
const foreign: Explanation = {
  code: 'InvalidInput',
  says: 'the file is not an LMDB data file. Choose another directory, or bring the file back from a backup.',
}
const otherFormat: Explanation = {
  code: 'InvalidInput',
  says: 'the file was written by another release of LMDB. Open it with the release that wrote it.',
}
const damaged: Explanation = {
  code: 'Internal',
  says: 'the file is damaged. Bring it back from a backup.',
}
const notDirectory: Explanation = {
  code: 'InvalidInput',
  says: 'part of the path is not a directory. Choose another directory.',
}

/** EIO. */
const ioError = 5

/** System errors and LMDB's own, by the number or name they carry. Source of the numbers: lmdb.h. */
const explanations: Readonly<Record<string, Explanation>> = {
  28: diskFull,
  ENOSPC: diskFull,
  122: quotaFull,
  EDQUOT: quotaFull,
  '-30792': mapFull,
  '-30790': readersFull,
  1: denied,
  EPERM: denied,
  13: denied,
  EACCES: denied,
  30: readOnlyDisk,
  EROFS: readOnlyDisk,
  '-30793': foreign,
  '-30794': otherFormat,
  '-30796': damaged,
  '-30797': damaged,
  20: notDirectory,
  ENOTDIR: notDirectory,
  EEXIST: notDirectory,
  EISDIR: { code: 'InvalidInput', says: 'it is a folder. Choose another directory.' },
  [ioError]: {
    code: 'ServiceUnavailable',
    says: 'the disk did not take it, nothing of the change was kept. Check its health and try again.',
  },
}

/** A disk with less than this left may have been too full for a change. */
const nearlyNothing = 1 << 20

/** What LMDB or the file system reported, in words for the caller. A `CatalogError` stays what it is. */
export async function storeFailure(error: unknown, path: string): Promise<CatalogError> {
  // A commit that failed says why in a promise of its own, which must not stay unhandled.
  const reason = (error as { commitError?: PromiseLike<never> } | undefined)?.commitError
  if (reason === undefined) return explain(error, path)
  return explain(await Promise.resolve(reason).catch((cause: unknown) => cause), path)
}

/** As {@link storeFailure}, for errors that carry their reason themselves. */
export function explain(error: unknown, path: string): CatalogError {
  if (error instanceof CatalogError) return error
  // A value that is no JSON.
  if (error instanceof SyntaxError) return failure(damaged, path, error)
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  // LMDB reports an input or output error when only part of a change fits, and of a copy just what the system says.
  const mayBeFull = code === ioError || (code === undefined && /no space|quota/i.test(String(message)))
  const known = mayBeFull && isFull(path) ? diskFull : explanations[String(code)]
  if (known) return failure(known, path, error)
  return new CatalogError(
    'Internal',
    `Cannot use ${path}: ${String(message ?? error)}. See the cause of this error.`,
    { cause: error },
  )
}

function failure({ code, says }: Explanation, path: string, cause: unknown): CatalogError {
  return new CatalogError(code, `Cannot use ${path}: ${says}`, { cause })
}

function isFull(path: string): boolean {
  try {
    return freeBytes(dirname(path)) < nearlyNothing
  } catch {
    return false
  }
}
