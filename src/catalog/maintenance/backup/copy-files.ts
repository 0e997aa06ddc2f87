import { constants, copyFile, link, mkdir, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CatalogError } from '../../../base/errors.ts'

/** Files copied at the same time. */
const concurrency = 8

export interface FileToCopy {
  /** The path, relative to both folders. */
  readonly path: string
  /** Whether the copy fails without this file. */
  readonly needed: boolean
  /** Whether a hard link will do, since the file never changes. */
  readonly linkable: boolean
}

/** Copies files, several at a time, and syncs each. Copies share their blocks where the file system can. */
export async function copyFiles(
  from: string,
  to: string,
  files: AsyncIterable<FileToCopy>,
  { links, signal, onFile }: { links: boolean; signal: AbortSignal; onFile: (bytes: number) => void },
): Promise<void> {
  const made = new Set<string>()
  const next = files[Symbol.asyncIterator]()
  const worker = async () => {
    for (let item = await next.next(); !item.done; item = await next.next()) {
      signal.throwIfAborted()
      const { path } = item.value
      const folder = dirname(join(to, path))
      if (!made.has(folder)) await mkdir(folder, { recursive: true })
      made.add(folder)
      const bytes = await copyOne(from, to, item.value, links)
      if (bytes !== undefined) onFile(bytes)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
}

async function copyOne(
  from: string,
  to: string,
  { path, needed, linkable }: FileToCopy,
  links: boolean,
): Promise<number | undefined> {
  const source = join(from, path)
  const target = join(to, path)
  try {
    if (!(links && linkable && (await linked(source, target)))) {
      await copyFile(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    }
    return await syncedSize(target)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Copied already: the folder was empty at first, and tables may share the file.
    if (code === 'EEXIST') return undefined
    if (code !== 'ENOENT') throw error
    if (needed) throw missing(path, error)
    return undefined
  }
}

/** Syncs a file, and returns its size in bytes. */
async function syncedSize(path: string): Promise<number> {
  const handle = await open(path, 'r+')
  try {
    await handle.sync()
    return (await handle.stat()).size
  } finally {
    await handle.close()
  }
}

/** Makes a hard link, where the file system can. */
async function linked(source: string, target: string): Promise<boolean> {
  try {
    await link(source, target)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'EEXIST') throw error
    return false
  }
}

function missing(path: string, cause: unknown): CatalogError {
  return new CatalogError(
    'InvalidTableState',
    `The file ${JSON.stringify(path)} is missing, and a version needs it. Verify the catalog to see what else is missing.`,
    { cause },
  )
}
