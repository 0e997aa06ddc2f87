import { lstat, mkdir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CatalogError, invalid } from '../../base/errors.ts'

/**
 * Makes a folder that only this user can read and write, below one that the caller names, and returns its path. Refuses a
 * place where others could put files of theirs: what lies there is believed later.
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
  // Windows has no such rights. There, a folder has those of the folder it was made in.
  if (user === undefined) return
  for (let path = folder; ; path = dirname(path)) {
    const { uid, mode } = await lstat(path)
    const isOurs = uid === user || (uid === 0 && path !== folder)
    // In a folder like /tmp, nobody can rename what belongs to somebody else.
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
