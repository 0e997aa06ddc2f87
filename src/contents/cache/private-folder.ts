import { lstat, mkdir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CatalogError, invalid } from '../../base/errors.ts'

/**
 * Creates a folder for this user only, below the caller's one, and returns its path. Refuses a location where others
 * could put files, since readers later trust the files there.
 */
export async function privateFolder(below: string, name: string): Promise<string> {
  try {
    await mkdir(below, { recursive: true, mode: 0o700 })
    const folder = join(await realpath(below), name)
    await mkdir(folder, { mode: 0o700 }).catch((error) => {
      if (error.code !== 'EEXIST') throw error
    })
    await requireSafe(folder)
    return folder
  } catch (cause) {
    if (cause instanceof CatalogError) throw cause
    throw invalid(
      `The folder of the content cache, ${JSON.stringify(below)}, cannot be used: ${(cause as Error).message}. Give a folder that this process may write.`,
      { cause },
    )
  }
}

/** Refuses a folder that others can read or write, and one below a folder that others can write. */
async function requireSafe(folder: string): Promise<void> {
  const user = process.getuid?.()
  // Windows has no such permissions. There, a folder inherits those of its parent.
  if (user === undefined) return
  for (let path = folder; ; path = dirname(path)) {
    const { uid, mode } = await lstat(path)
    const isOurs = uid === user || (uid === 0 && path !== folder)
    // In a folder like /tmp (with the sticky bit), users cannot rename the files of others.
    const forbidden = path === folder ? 0o077 : (mode & 0o1000) === 0 ? 0o022 : 0
    if (!isOurs || (mode & forbidden) !== 0) {
      const fact = isOurs ? 'is open to other users' : 'belongs to another user'
      const right = path === folder ? 'go=' : 'go-w'
      throw invalid(
        `The content cache cannot lie in ${JSON.stringify(folder)}: ${JSON.stringify(path)} ${fact}. Give a folder that nobody else can write${isOurs ? `, or run chmod ${right} on that one` : ''}.`,
      )
    }
    if (path === dirname(path)) return
  }
}
