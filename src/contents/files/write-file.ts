import { randomUUID } from 'node:crypto'
import { link, lstat, readFile, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { FreeSpace } from '../../base/scheduling/free-space.ts'
import { semaphore } from '../../base/scheduling/semaphore.ts'
import { isMissing, systemCode } from './file-errors.ts'
import { syncFolder } from './folders.ts'
import { RawFile } from './raw-file.ts'

/** Smaller parts are joined into writes of this size, since each write has its own cost. */
const block = 1 << 20
/** The most parts of one write, a limit of systems. */
const maxParts = 1024
/** The most bytes of a part in one write: systems refuse more than 2 GiB. */
const maxAtOnce = 1 << 30

/** Written files that are open until they are synced. Systems limit the open files of a process. */
const unsynced = semaphore(64)

/** The bytes that files leave free on a disk, so that records there can still be changed, as to drop a table. */
const space = new FreeSpace(512 * 1024)

/** Fails with `ENOSPC` where a file would use the reserve. */
function requireRoom(folder: string, parts: readonly Uint8Array[]): void {
  const bytes = parts.reduce((sum, { length }) => sum + length, 0)
  if (!(space.take(bytes) && space.isFresh(folder))) space.look(folder, bytes)
}

/** The suffix of a file's name while it is written. Such a file that stays is from a crash. */
const partialSuffix = '.partial'

/**
 * Writes a file atomically, and never replaces another. Once this resolves, the file and its name are on disk. Throws
 * the system's errors, `EEXIST` for a taken name.
 */
export async function writeNewFile(
  folder: string,
  name: string,
  parts: readonly Uint8Array[],
): Promise<void> {
  requireRoom(folder, parts)
  await writeAside(folder, parts, (temporary) => moveToNewName(temporary, join(folder, name)))
}

/** As {@link writeNewFile}, but replaces an existing file of that name. */
export async function replaceFile(folder: string, name: string, parts: readonly Uint8Array[]): Promise<void> {
  await writeAside(folder, parts, (temporary) => rename(temporary, join(folder, name)))
}

/**
 * As {@link writeNewFile}, but neither the file nor its name is on disk yet. The file has its final name from the
 * beginning, so readers could see a part of it: give them the name after the sync. `synced` settles when the file is on
 * disk, or the sync failed. The system reports a failure only to processes that had the file open since.
 */
export async function writeUnsynced(
  folder: string,
  name: string,
  parts: readonly Uint8Array[],
): Promise<{ readonly synced: Promise<void> }> {
  const path = join(folder, name)
  requireRoom(folder, parts)
  await unsynced.acquire()
  try {
    const file = await RawFile.open(path, 'wx')
    try {
      await writeAll(file, parts)
    } catch (error) {
      file.close()
      await unlink(path).catch(() => {})
      throw error
    }
    // Last, since an early failure would be an unhandled rejection.
    return { synced: syncAndClose(file) }
  } catch (error) {
    unsynced.release()
    throw error
  }
}

async function syncAndClose(file: RawFile): Promise<void> {
  try {
    await file.sync()
  } finally {
    unsynced.release()
    file.close()
  }
}

/** Writes a file under a temporary name, syncs it, and moves it to its final name. */
async function writeAside(
  folder: string,
  parts: readonly Uint8Array[],
  move: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = temporaryIn(folder)
  try {
    const file = await RawFile.open(temporary, 'wx')
    try {
      await writeAll(file, parts)
      await file.sync()
    } finally {
      file.close()
    }
    await move(temporary)
  } finally {
    await removeTemporary(temporary)
  }
  await syncFolder(folder)
}

/** Removes a file that may have been moved. `rm` would stat it first, and block other work meanwhile. */
async function removeTemporary(temporary: string): Promise<void> {
  await unlink(temporary).catch((error: unknown) => {
    if (!isMissing(error)) throw error
  })
}

function temporaryIn(folder: string): string {
  return join(folder, `.${randomUUID()}${partialSuffix}`)
}

/** A file to link to a second name. */
export interface FileLink {
  readonly from: string
  readonly folder: string
  readonly name: string
  /** Links with the same value are made in order. */
  readonly order: string
}

/** The result of a link: the system's error, if it failed. */
export interface LinkResult {
  readonly error?: unknown
}

/**
 * Gives files second names, each atomically, and all of them before the first folder is synced. After a failure, the
 * later links of the same `order` are not made: their result is undefined. A taken name is the error `EEXIST`.
 * `onLinked` is called before the sync, if all were made.
 */
export async function linkFiles(
  links: readonly FileLink[],
  onLinked: () => void = () => {},
): Promise<readonly (LinkResult | undefined)[]> {
  const results = new Map<FileLink, LinkResult>()
  const orders = new Map<string, FileLink[]>()
  for (const link of links) {
    const others = orders.get(link.order)
    if (others) others.push(link)
    else orders.set(link.order, [link])
  }
  await Promise.all(
    Array.from(orders.values(), async (inOrder) => {
      for (const link of inOrder) {
        const result: LinkResult = await linkFile(link).then(
          () => ({}),
          (error: unknown) => ({ error }),
        )
        results.set(link, result)
        if (result.error) return
      }
    }),
  )
  const linked = links.filter((link) => results.has(link) && !results.get(link)?.error)
  const synced = Promise.all(Array.from(new Set(linked.map(({ folder }) => folder)), syncFolder))
  if (linked.length === links.length) onLinked()
  await synced
  return links.map((link) => results.get(link))
}

async function linkFile({ from, folder, name }: FileLink): Promise<void> {
  try {
    await link(from, join(folder, name))
  } catch (error) {
    if (!hasNoLinks(error)) throw error
    await writeNewFile(folder, name, [await readFile(from)])
  }
}

/** Moves a file to its final name, unless the name is taken. */
async function moveToNewName(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    if (!hasNoLinks(error)) throw error
    // Some file systems have no links. There, two writers of one name at the same moment may both succeed.
    const taken = await lstat(to).then(
      () => true,
      () => false,
    )
    if (taken) throw Object.assign(new Error(`${to} exists`, { cause: error }), { code: 'EEXIST' })
    await rename(from, to)
  }
}

/** Whether an error means that the file system has no links. */
function hasNoLinks(error: unknown): boolean {
  const code = systemCode(error)
  return code === 'ENOTSUP' || code === 'EOPNOTSUPP' || code === 'ENOSYS' || code === 'EPERM'
}

/** The parts in groups for one write each, of a block's size at least. */
function* groupsOf(parts: readonly Uint8Array[]): Generator<readonly Uint8Array[], void, undefined> {
  let group: Uint8Array[] = []
  let size = 0
  for (const part of parts) {
    for (let at = 0; at < part.length; at += maxAtOnce) {
      const piece = part.subarray(at, at + maxAtOnce)
      group.push(piece)
      size += piece.length
      if (size < block && group.length < maxParts) continue
      yield group
      group = []
      size = 0
    }
  }
  if (size > 0) yield group
}

/** Writes the parts without joining them, which would take their memory once more. */
async function writeAll(file: RawFile, parts: readonly Uint8Array[]): Promise<void> {
  for (const group of groupsOf(parts)) {
    for (let rest = group; rest.length > 0; ) {
      rest = restOf(rest, await file.writev(rest))
    }
  }
}

/** The rest of the parts after a partial write. */
function restOf(parts: readonly Uint8Array[], written: number): readonly Uint8Array[] {
  let left = written
  const first = parts.findIndex(({ length }) => {
    if (left < length) return true
    left -= length
    return false
  })
  return first < 0 ? [] : [parts[first]!.subarray(left), ...parts.slice(first + 1)]
}
