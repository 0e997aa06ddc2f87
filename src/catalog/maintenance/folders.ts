import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, realpath, rename, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { CatalogError, invalid } from '../../base/errors.ts'
import { folderPath } from '../../base/model/folder-path.ts'
import { shownLocation } from '../../base/model/location.ts'

/** The path of a folder that is given as a path or as a `file:` URL. Refuses any other URL. */
export function requireFolderPath(given: string): string {
  const path = folderPath(given)
  if (path !== undefined) return path
  throw invalid(`${shownLocation(given)} is not a folder of this machine. Give a path, or a file: URL.`)
}

/**
 * Creates a folder whole or not at all. `fill` writes into a temporary folder beside it, which is renamed when all
 * of its files are on disk. Refuses a target that exists and is not empty, before the work and after it. With
 * `aside`, an existing target is renamed to that path instead, right before the new folder takes its name.
 */
export async function createFolderAtomically<T>(
  target: string,
  fill: (folder: string, final: string) => Promise<T>,
  aside?: string,
): Promise<T> {
  if (aside === undefined) await requireFree(target)
  await mkdir(dirname(resolve(target)), { recursive: true }).catch(explain(target))
  const parent = await realpath(dirname(resolve(target)))
  const final = join(parent, basename(resolve(target)))
  const temporary = `${final}.partial-${randomBytes(6).toString('hex')}`
  try {
    await mkdir(temporary)
    const result = await fill(temporary, final)
    await syncTree(temporary)
    if (aside === undefined) await takeName(temporary, final)
    else await replaceFolder(temporary, final, aside)
    await sync(parent)
    return result
  } catch (error) {
    throw explained(error, target)
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

async function takeName(folder: string, final: string): Promise<void> {
  await rmdir(final).catch(() => {})
  await requireFree(final)
  await rename(folder, final)
}

/** Moves the folder at `final` aside and puts another in its place. Undoes the first step when the second fails. */
async function replaceFolder(folder: string, final: string, aside: string): Promise<void> {
  await rename(final, aside)
  try {
    await takeName(folder, final)
  } catch (cause) {
    // A process that still has the catalog open may have made a folder there again.
    await rename(aside, final).catch(() => {
      throw new CatalogError(
        'Internal',
        `${final} could not be replaced, and its old content could not be put back: it lies in ${aside}. Close the catalog everywhere, and rename that folder to ${final}.`,
        { cause },
      )
    })
    throw cause
  }
}

/** Refuses a folder that exists and is not empty. */
export async function requireFree(target: string): Promise<void> {
  const found = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw explained(error, target)
  })
  if (found.length === 0) return
  throw invalid(`${target} is not empty. Give a folder that does not exist yet.`)
}

/** Syncs all folders below a folder, so that the names in them survive a crash of the machine. */
async function syncTree(folder: string): Promise<void> {
  for (const item of await readdir(folder, { withFileTypes: true })) {
    if (item.isDirectory()) await syncTree(join(folder, item.name))
  }
  await sync(folder)
}

/** Syncs a file, or the names in a folder, so that they survive a crash of the machine. */
async function sync(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function explain(target: string) {
  return (error: unknown) => {
    throw explained(error, target)
  }
}

/** Turns an error of the file system into one that says what to do. */
function explained(error: unknown, target: string): unknown {
  const { code, path } = (error ?? {}) as NodeJS.ErrnoException
  if (error instanceof CatalogError || code === undefined) return error
  const where = path ?? target
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new CatalogError(
      'ServiceUnavailable',
      `Cannot write ${where}: the disk is full, and nothing was kept. Free some space and try again.`,
      { cause: error },
    )
  }
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return new CatalogError(
      'PermissionDenied',
      `Cannot use ${where}: this user lacks the permission. Change its owner or permissions.`,
      { cause: error },
    )
  }
  if (code === 'ENOTDIR' || code === 'EEXIST' || code === 'ENOTEMPTY') {
    return invalid(
      `Cannot use ${where}: something else has this name. Give a folder that does not exist yet.`,
      {
        cause: error,
      },
    )
  }
  return error
}
