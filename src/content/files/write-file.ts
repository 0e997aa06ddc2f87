import { randomUUID } from 'node:crypto'
import { type FileHandle, link, lstat, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from './durable-folders.ts'
import { systemCode } from './file-errors.ts'

/** Smaller parts are gathered to blocks of this size, since each write has a cost of its own. */
const block = 1 << 20

/** The end of a file's name while it is written. A file of such a name that stays was left by a crash. */
const partialSuffix = '.partial'

/**
 * Writes a file that appears whole or not at all and never replaces another. Once this resolves the file and
 * its name are on disk. Throws the system's errors, `EEXIST` when the name is taken.
 */
export async function writeNewFile(
  folder: string,
  name: string,
  parts: readonly Uint8Array[],
): Promise<void> {
  const temporary = join(folder, `.${randomUUID()}${partialSuffix}`)
  try {
    const handle = await open(temporary, 'wx')
    try {
      for (const bytes of blocksOf(parts)) await writeAll(handle, bytes)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await moveToFree(temporary, join(folder, name))
  } finally {
    await rm(temporary, { force: true })
  }
  await syncFolder(folder)
}

/** Gives a file its final name, unless the name is taken. */
async function moveToFree(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    const code = systemCode(error)
    const noLinks = code === 'ENOTSUP' || code === 'EOPNOTSUPP' || code === 'ENOSYS' || code === 'EPERM'
    if (!noLinks) throw error
    // Some file systems have no links. There, two writers of one name at the same moment may both succeed.
    const taken = await lstat(to).then(
      () => true,
      () => false,
    )
    if (taken) throw Object.assign(new Error(`${to} exists`, { cause: error }), { code: 'EEXIST' })
    await rename(from, to)
  }
}

function* blocksOf(parts: readonly Uint8Array[]): Generator<Uint8Array, void, undefined> {
  let gathered: Uint8Array[] = []
  let size = 0
  for (const part of parts) {
    gathered.push(part)
    size += part.length
    if (size < block) continue
    yield gathered.length === 1 ? part : Buffer.concat(gathered)
    gathered = []
    size = 0
  }
  if (size > 0) yield Buffer.concat(gathered)
}

async function writeAll(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, at, Math.min(bytes.length - at, 1 << 30))
    at += bytesWritten
  }
}
