import { lstat, readdir, rm, unlink } from 'node:fs/promises'
import { join, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ByteRange, Content, PutGroup } from '../../base/content/content.ts'
import { folderSegmentsOf, segmentsOf, takenMessage } from '../../base/content/path.ts'
import { CatalogError } from '../../base/errors.ts'
import { fileError, isMissing, systemCode } from './file-errors.ts'
import { DurableFolders, RealFolders, unlessMissing } from './folders.ts'
import { FileGroup } from './put-group.ts'
import { canRefuseLinks, isLink, readFile, readRanges } from './read-file.ts'
import { SharedFilesOnDisk } from './shared-files.ts'
import { writeNewFile, writeUnsynced } from './write-file.ts'

/**
 * Content as files below a folder, which is created with the first object. An object's path is the path of its file
 * below that folder. Symbolic links are followed only within the folder.
 *
 * A `put` that has resolved is on disk, with the names of the folders it created. An interrupted `put` leaves at most a
 * file whose name ends in `.partial`. `list` includes such files, so that a vacuum removes them. A file of a group has
 * its final name from the beginning, since readers do not know it before the group has synced. A crash leaves a part of
 * it.
 *
 * `requireInPlace` fails where the folder is not the caller's any more: then nothing is removed there.
 *
 * Errors: `InvalidInput` for an invalid path, `PermissionDenied` when permissions or a link forbid the access,
 * `ServiceUnavailable` when the disk is full.
 */
export function fileContent(root: string, requireInPlace: () => void = () => {}): Content {
  return new FileContent(resolve(root), requireInPlace)
}

/** The bytes that can be copied in the time of one read call of an open file. */
const readCost = 8 << 10

class FileContent implements Content {
  readonly readCost = readCost
  readonly url: string
  readonly shared: SharedFilesOnDisk
  readonly #root: string
  readonly #requireInPlace: () => void
  readonly #real: RealFolders
  readonly #folders: DurableFolders

  constructor(root: string, requireInPlace: () => void) {
    this.url = pathToFileURL(root.endsWith(sep) ? root : root + sep).href
    this.#root = root
    this.#requireInPlace = requireInPlace
    this.#real = new RealFolders(root)
    this.#folders = new DurableFolders(root, this.#real)
    this.shared = new SharedFilesOnDisk(root, this.#real, this.#folders)
  }

  async put(path: string, bytes: Uint8Array | readonly Uint8Array[]): Promise<void> {
    await this.#write(path, bytes, writeNewFile)
  }

  group(): PutGroup {
    return new FileGroup(
      async (path, bytes) => {
        const { folder, result } = await this.#write(path, bytes, writeUnsynced)
        return { folder, synced: result.synced }
      },
      (error) => fileError('write to', this.#root, error),
    )
  }

  async get(path: string, range?: ByteRange): Promise<Uint8Array | undefined> {
    return this.#read(path, (file, links) => readFile(file, range, links))
  }

  async getRanges(path: string, ranges: readonly ByteRange[]): Promise<readonly (Uint8Array | undefined)[]> {
    const found = await this.#read(path, (file, links) => readRanges(file, ranges, links))
    return found ?? ranges.map(() => undefined)
  }

  async *list(prefix: string) {
    const segments = folderSegmentsOf(prefix)
    try {
      const real = await unlessMissing(this.#real.look(segments))
      if (real !== undefined) yield* walkFiles(real, prefix)
    } catch (error) {
      throw fileError('list', join(this.#root, prefix), error)
    }
  }

  async remove(path: string): Promise<void> {
    const isFolder = path.endsWith('/')
    const segments = isFolder ? segmentsOf(path.slice(0, -1)) : segmentsOf(path)
    const name = segments.pop()!
    const file = join(this.#root, ...segments, name)
    try {
      const parent = await unlessMissing(this.#real.look(segments))
      if (parent === undefined) return
      this.#requireInPlace()
      // Removes a link itself, not its target.
      if (isFolder) await removeFolder(join(parent, name))
      else await unlink(join(parent, name))
    } catch (error) {
      if (isMissing(error) || (!isFolder && (await isDirectory(file)))) return
      throw fileError('remove', file, error)
    } finally {
      if (isFolder) this.#folders.forget()
    }
  }

  async #write<T>(
    path: string,
    bytes: Uint8Array | readonly Uint8Array[],
    write: WriteFile<T>,
  ): Promise<Written<T>> {
    const segments = segmentsOf(path)
    const parts = bytes instanceof Uint8Array ? [bytes] : bytes
    try {
      return await this.#writeIn(segments, parts, write).catch((error: unknown) => {
        if (!isMissing(error)) throw error
        // Another process has removed a cached folder.
        this.#folders.forget()
        return this.#writeIn(segments, parts, write)
      })
    } catch (error) {
      throw fileError('write', join(this.#root, path), error)
    }
  }

  async #writeIn<T>(
    segments: readonly string[],
    parts: readonly Uint8Array[],
    write: WriteFile<T>,
  ): Promise<Written<T>> {
    const folder = await this.#folders.make(segments.slice(0, -1))
    try {
      return { folder, result: await write(folder, segments.at(-1)!, parts) }
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error
      throw new CatalogError('ConcurrentModification', takenMessage(segments.join('/')), { cause: error })
    }
  }

  async #read<T>(path: string, read: ReadFile<T>): Promise<T | undefined> {
    const segments = segmentsOf(path)
    try {
      return await unlessMissing(this.#readIn(segments, read))
    } catch (error) {
      throw fileError('read', join(this.#root, path), error)
    }
  }

  async #readIn<T>(segments: readonly string[], read: ReadFile<T>): Promise<T | undefined> {
    if (canRefuseLinks) {
      const parents = segments.slice(0, -1)
      try {
        const folder = await this.#real.find(parents)
        return await read(join(folder, segments.at(-1)!), 'refuse')
      } catch (error) {
        // The folder may have been moved.
        if (isMissing(error)) this.#real.forget(parents)
        else if (!isLink(error)) throw error
      }
    }
    return read(await this.#real.look(segments), 'follow')
  }
}

/** Reads a file, and follows or refuses a link there. */
type ReadFile<T> = (file: string, links: 'follow' | 'refuse') => Promise<T | undefined>

/** Writes a new file in a folder. */
type WriteFile<T> = (folder: string, name: string, parts: readonly Uint8Array[]) => Promise<T>

interface Written<T> {
  /** The real path of the folder. */
  readonly folder: string
  readonly result: T
}

interface FoundObject {
  readonly path: string
  readonly size: number
  readonly modified: number
}

/** All files below a folder. Files that are created or removed meanwhile may or may not be listed. */
async function* walkFiles(folder: string, prefix: string): AsyncGenerator<FoundObject, void, undefined> {
  const found = await readdir(folder, { withFileTypes: true }).catch(ignoreMissing)
  for (const item of found ?? []) {
    const file = join(folder, item.name)
    if (item.isDirectory()) {
      yield* walkFiles(file, `${prefix}${item.name}/`)
    } else if (item.isFile()) {
      const stats = await lstat(file).catch(ignoreMissing)
      if (stats) yield { path: prefix + item.name, size: stats.size, modified: stats.mtimeMs }
    }
  }
}

async function removeFolder(folder: string): Promise<void> {
  // An object of that name is not below the path.
  if ((await lstat(folder)).isFile()) return
  await rm(folder, { recursive: true, force: true, maxRetries: 3 })
}

async function isDirectory(file: string): Promise<boolean> {
  return lstat(file).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
}

function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}
