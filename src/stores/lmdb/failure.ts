import { dirname } from 'node:path'
import { CatalogError, type ErrorCode } from '../../base/errors.ts'
import { freeBytes } from '../../base/scheduling/free-space.ts'

interface Explanation {
  readonly code: ErrorCode
  /** The end of a message that begins with the path. */
  readonly text: string
}

const diskFull: Explanation = {
  code: 'ServiceUnavailable',
  text: 'the disk is full, nothing of the change was kept. Free some space and try again.',
}
const quotaFull: Explanation = {
  code: 'ServiceUnavailable',
  text: 'the disk quota is used up, nothing of the change was kept. Free some space and try again.',
}
const mapFull: Explanation = {
  code: 'ServiceUnavailable',
  text: 'its memory map is full, nothing of the change was kept. Open it with a larger mapSize.',
}
const readersFull: Explanation = {
  code: 'ServiceUnavailable',
  text: 'too many processes read it at once. Close some and try again.',
}
const denied: Explanation = {
  code: 'PermissionDenied',
  text: 'this user lacks the permission. Change its owner or permissions.',
}
const readOnlyDisk: Explanation = {
  code: 'PermissionDenied',
  text: 'the file system is read-only. Open the catalog with readOnly, or move it elsewhere.',
}
const foreign: Explanation = {
  code: 'InvalidInput',
  text: 'the file is not an LMDB data file. Choose another directory, or restore the file from a backup.',
}
const otherFormat: Explanation = {
  code: 'InvalidInput',
  text: 'the file was written by another release of LMDB. Open it with the release that wrote it.',
}
const damaged: Explanation = {
  code: 'Internal',
  text: 'the file is damaged. Restore it from a backup.',
}
const notDirectory: Explanation = {
  code: 'InvalidInput',
  text: 'part of the path is not a directory. Choose another directory.',
}

/** EIO. */
const ioError = 5

/** Explanations of system errors and LMDB's errors, by their number or name. Source of the numbers: lmdb.h. */
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
  EISDIR: { code: 'InvalidInput', text: 'it is a folder. Choose another directory.' },
  [ioError]: {
    code: 'ServiceUnavailable',
    text: 'the disk reported an error, nothing of the change was kept. Check its health and try again.',
  },
}

/** A disk with less free space than this may have been too full for a change. */
const minimumSpace = 1 << 20

/** Turns an error of LMDB or the file system into a `CatalogError`. A `CatalogError` stays as it is. */
export async function storeFailure(error: unknown, path: string): Promise<CatalogError> {
  // A failed commit has its reason in a separate promise, which must not stay unhandled.
  const reason = (error as { commitError?: PromiseLike<never> } | undefined)?.commitError
  if (reason === undefined) return explain(error, path)
  return explain(await Promise.resolve(reason).catch((cause: unknown) => cause), path)
}

/** As {@link storeFailure}, for errors without a separate promise. */
export function explain(error: unknown, path: string): CatalogError {
  if (error instanceof CatalogError) return error
  // The driver failed to parse a value as JSON.
  if (error instanceof SyntaxError) return failure(damaged, path, error)
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  // On a full disk, LMDB reports an I/O error for a change, and only the system's message for a copy.
  const mayBeFull = code === ioError || (code === undefined && /no space|quota/i.test(String(message)))
  const known = mayBeFull && isFull(path) ? diskFull : explanations[String(code)]
  if (known) return failure(known, path, error)
  return new CatalogError(
    'Internal',
    `Cannot use ${path}: ${String(message ?? error)}. See the cause of this error.`,
    { cause: error },
  )
}

function failure({ code, text }: Explanation, path: string, cause: unknown): CatalogError {
  return new CatalogError(code, `Cannot use ${path}: ${text}`, { cause })
}

function isFull(path: string): boolean {
  try {
    return freeBytes(dirname(path)) < minimumSpace
  } catch {
    return false
  }
}
