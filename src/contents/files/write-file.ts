import { randomUUID } from 'node:crypto'
import { link, lstat, readFile, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { FreeSpace } from '../../base/scheduling/free-space.ts'
import { semaphore } from '../../base/scheduling/semaphore.ts'
import { syncFolder } from './durable-folders.ts'
import { isMissing, systemCode } from './file-errors.ts'
import { RawFile } from './raw-file.ts'

/** Smaller parts are written together, up to this size, since each write has a cost of its own. */
const block = 1 << 20
/** Most parts of one write, which is what systems take. */
const mostParts = 1024
/** Most bytes of a part in one write: systems refuse more than 2 GiB. */
const mostAtOnce = 1 << 30

/** Files that are written, and open until they are synced. Systems bound the open files of a process. */
const unsynced = semaphore(64)

/** What files leave free on a disk, so that records that share it can still say what is dropped. */
const space = new FreeSpace(512 * 1024)

/** Fails with `ENOSPC` where a file would take what is to stay free. */
function requireRoom(folder: string, parts: readonly Uint8Array[]): void {
  const bytes = parts.reduce((sum, { length }) => sum + length, 0)
  if (!(space.take(bytes) && space.isFresh(folder))) space.look(folder, bytes)
}

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
  requireRoom(folder, parts)
  await writeAside(folder, parts, (temporary) => moveToNewName(temporary, join(folder, name)))
}

/** As {@link writeNewFile}, but replaces the file of that name if there is one. */
export async function replaceFile(folder: string, name: string, parts: readonly Uint8Array[]): Promise<void> {
  await writeAside(folder, parts, (temporary) => rename(temporary, join(folder, name)))
}

/**
 * As {@link writeNewFile}, but the file is not on disk yet, and its name neither. The file has its name from the
 * beginning, so others may see a part of it meanwhile: let readers learn the name after the sync. The `synced` of the
 * result settles when the file is on disk, or cannot be: the system tells that only to those who have had it open since.
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
    // Last of all: a failure that nobody listens to yet would end the process.
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

/** Writes a file under a name of its own, syncs it, and moves it where it belongs. */
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

/** Removes a file that was moved perhaps. `rm` would look at it first, and hold up all other work meanwhile. */
async function removeTemporary(temporary: string): Promise<void> {
  await unlink(temporary).catch((error: unknown) => {
    if (!isMissing(error)) throw error
  })
}

function temporaryIn(folder: string): string {
  return join(folder, `.${randomUUID()}${partialSuffix}`)
}

/** A file that is to get a second name. */
export interface FileLink {
  readonly from: string
  readonly folder: string
  readonly name: string
  /** Those with the same one get their names in order. */
  readonly order: string
}

/** What came of linking a file: the system's error, if it failed. */
export interface LinkResult {
  readonly error?: unknown
}

/**
 * Gives files second names, each in one step, and all of them before the first folder is synced. Of those in one order,
 * none gets a name after a failure: undefined then. A taken name is the error `EEXIST`.
 */
export async function linkFiles(links: readonly FileLink[]): Promise<readonly (LinkResult | undefined)[]> {
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
  await Promise.all(Array.from(new Set(linked.map(({ folder }) => folder)), syncFolder))
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

/** Gives a file its final name, unless the name is taken. */
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

/** Whether an error says that the file system has no links. */
function hasNoLinks(error: unknown): boolean {
  const code = systemCode(error)
  return code === 'ENOTSUP' || code === 'EOPNOTSUPP' || code === 'ENOSYS' || code === 'EPERM'
}

/** The parts that are written at once, of a block's size at least. */
function* groupsOf(parts: readonly Uint8Array[]): Generator<readonly Uint8Array[], void, undefined> {
  let group: Uint8Array[] = []
  let size = 0
  for (const part of parts) {
    for (let at = 0; at < part.length; at += mostAtOnce) {
      const piece = part.subarray(at, at + mostAtOnce)
      group.push(piece)
      size += piece.length
      if (size < block && group.length < mostParts) continue
      yield group
      group = []
      size = 0
    }
  }
  if (size > 0) yield group
}

/** Writes the parts where they lie: joined, they would take their memory once more. */
async function writeAll(file: RawFile, parts: readonly Uint8Array[]): Promise<void> {
  for (const group of groupsOf(parts)) {
    for (let rest = group; rest.length > 0; ) {
      rest = restOf(rest, await file.writev(rest))
    }
  }
}

/** What the system has not taken yet of some parts. */
function restOf(parts: readonly Uint8Array[], written: number): readonly Uint8Array[] {
  let left = written
  const first = parts.findIndex(({ length }) => {
    if (left < length) return true
    left -= length
    return false
  })
  return first < 0 ? [] : [parts[first]!.subarray(left), ...parts.slice(first + 1)]
}
