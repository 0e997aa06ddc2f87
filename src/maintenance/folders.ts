import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, realpath, rename, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CatalogError, invalid } from '../errors.ts'

/**
 * The path of a folder that may be given as a `file:` URL. Any other URL is refused: it would be taken for a path,
 * and what is believed to be elsewhere would lie here.
 */
export function folderPath(given: string): string {
  if (/^file:/i.test(given)) return fileURLToPath(given)
  if (!/^[a-z][a-z\d+.-]+:\/\//i.test(given)) return given
  throw invalid(`${given} is no folder of this machine. Give a path, or a file: URL.`)
}

/**
 * Makes a folder appear whole or not at all: `fill` writes into one beside it, which gets the name when all is
 * done and on disk. A name that is taken by anything but an empty folder is refused, before and after; unless
 * `aside` says by which name that folder goes on, which it gets in the last moment.
 */
export async function appearing<T>(
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
    else await takePlace(temporary, final, aside)
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

/** Gives a folder the name of another, which gets it back should that fail. */
async function takePlace(folder: string, final: string, aside: string): Promise<void> {
  await rename(final, aside)
  try {
    await takeName(folder, final)
  } catch (cause) {
    // Somebody who still has it open may have made a folder there again.
    await rename(aside, final).catch(() => {
      throw new CatalogError(
        'Internal',
        `${final} could not be replaced, nor put back: what was there lies in ${aside}. Close the catalog everywhere, and give that folder its name again.`,
        { cause },
      )
    })
    throw cause
  }
}

/** Refuses a name under which there is something already. */
export async function requireFree(target: string): Promise<void> {
  const found = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw explained(error, target)
  })
  if (found.length === 0) return
  throw invalid(`${target} is not empty. Give a folder that is not there yet.`)
}

/** Makes the names in all folders below one outlast a crash of the machine. */
async function syncTree(folder: string): Promise<void> {
  for (const item of await readdir(folder, { withFileTypes: true })) {
    if (item.isDirectory()) await syncTree(join(folder, item.name))
  }
  await sync(folder)
}

/** Makes a file, or the names in a folder, outlast a crash of the machine. */
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

/** What the file system reported, in words for the caller. */
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
      `Cannot use ${where}: this user may not. Change its owner or permissions.`,
      { cause: error },
    )
  }
  if (code === 'ENOTDIR' || code === 'EEXIST' || code === 'ENOTEMPTY') {
    return invalid(`Cannot use ${where}: something else is there. Give a folder that is not there yet.`, {
      cause: error,
    })
  }
  return error
}
