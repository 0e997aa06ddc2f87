import { existsSync, realpathSync } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Key as LmdbKey } from 'lmdb'
import { CatalogError, unsupported } from '../../base/errors.ts'
import type { Value } from '../../base/store/store.ts'
import { DiskSpace } from './disk-space.ts'
import type { Database } from './driver.ts'
import { loadDriver } from './driver.ts'
import { decodeValue } from './encode-value.ts'
import { FileLock } from './file-lock.ts'
import { fileSystemOf, hasFreeAddressSpace, isMountedReadOnly, isWritable } from './file-system.ts'
import { checkFiles, removeUnfinished, requireNoOlderRelease, reserveLockFile } from './preflight.ts'
import { Presence } from './presence.ts'
import { turnFiles } from './process-turns.ts'
import { readKeysFast } from './read-key.ts'
import { StoreLock } from './store-lock.ts'
import { WriteGroup } from './write-group.ts'
import { WriteLock } from './write-lock.ts'

/** How to open an LMDB store. */
export interface LmdbStoreOptions {
  /** Refuse every write, and a directory without a catalog. Default: false. */
  readonly readOnly?: boolean
  /** Create the directory and the data file when they are missing. Default: true, unless `readOnly`. */
  readonly create?: boolean
  /** The initial address space in bytes; it grows by itself. Default: 64 GiB where that is free, else 1 GiB. */
  readonly mapSize?: number
  /** The most concurrent readers, of all processes together. Default: 2,048. */
  readonly maxReaders?: number
  /**
   * How long opening, closing and each write wait for other processes, in milliseconds, before they fail with
   * `ServiceUnavailable`. Default: 30,000.
   */
  readonly busyTimeout?: number
  /**
   * Names beside the data file, such as folders of content, that must exist while the store is open. When one of them
   * or a file of the store is removed or replaced, writes fail with `ServiceUnavailable`. Default: none.
   */
  readonly companions?: readonly string[]
}

/** What {@link excludeWriters} needs of an environment. */
type Readable = Pick<Environment, 'path' | 'lock' | 'readers'>

/** One open data file. A thread opens it once, for all stores on it. */
export interface Environment {
  readonly path: string
  /** LMDB itself opened it for reading only. */
  readonly readOnly: boolean
  /** @internal */
  readonly db: Database
  /** Undefined on a read-only medium without a file to lock. */
  readonly lock: StoreLock | undefined
  /** The lock that all writes of this thread share; undefined when the store is read-only. */
  readonly writes: WriteLock | undefined
  /**
   * Whether the medium is read-only, so that LMDB takes no locks. A writer may still reach the same files by another
   * mount, so each read must exclude writers itself.
   */
  readonly isOnReadOnlyMedium: boolean
  /** The running reads that exclude writers, on a read-only medium. */
  readonly readers: Set<symbol>
  readonly busyTimeout: number
  /** The files that must exist while they are open. */
  readonly presence: Presence
  /** The free space of the disk. */
  readonly space: DiskSpace
  /** The number of open stores on this environment. */
  users: number
  /** Whether the body of a read is running. */
  isReading: boolean
  /** What runs the bodies of all writes. @internal */
  readonly group: WriteGroup
  closing: Promise<void> | undefined
}

export const dataFile = 'catalog.mdb'
const lockFile = `${dataFile}-lock`
const storeLockFile = 'catalog.lock'

/** The files of an LMDB store in its directory. All other names there are free. */
export const storeFiles: readonly string[] = [
  dataFile,
  lockFile,
  storeLockFile,
  ...(process.platform === 'darwin' ? ['-queue', ...turnFiles].map((name) => storeLockFile + name) : []),
]

const largeMap = 2 ** 36
const usualMap = 2 ** 30
const defaultReaders = 2048
const defaultTimeout = 30_000

/** Opens the data file at `path`. `firstMade` is the topmost folder that was created for it. */
export async function openEnvironment(
  path: string,
  options: LmdbStoreOptions,
  firstMade: string | undefined,
): Promise<Environment> {
  const { readOnly = false, busyTimeout = defaultTimeout } = options
  const folder = dirname(path)
  checkFileSystem(folder, readOnly)
  const isOnReadOnlyMedium = readOnly && (isMountedReadOnly(folder) || !mayLock(folder))
  // Threads of a process share LMDB's open file, so a thread that only reads must not prevent the writes of others.
  const asReader = isOnReadOnlyMedium || (readOnly && !isWritable(path))
  const lock = openLock(join(folder, storeLockFile), isOnReadOnlyMedium)
  try {
    // In a new process, loading the driver takes ten times as long as opening a file. Load it outside of the lock.
    loadDriver()
    const db = await (isOnReadOnlyMedium
      ? openWithoutWriters(path, lock, options)
      : openLocked(path, lock!, asReader, options, firstMade))
    const presence = new Presence()
    const space = new DiskSpace(folder)
    presence.add(storeFiles.map((name) => join(folder, name)))
    return {
      path,
      readOnly: asReader,
      db,
      lock,
      presence,
      space,
      writes: asReader ? undefined : new WriteLock(lock!, busyTimeout, space),
      isOnReadOnlyMedium,
      readers: new Set(),
      busyTimeout,
      users: 1,
      isReading: false,
      group: new WriteGroup(path, db, presence, space),
      closing: undefined,
    }
  } catch (error) {
    lock?.close()
    throw error
  }
}

/** Whether this user may take locks. A folder that only other users may write is like a read-only medium. */
function mayLock(folder: string): boolean {
  return [lockFile, storeLockFile].every((name) => {
    const path = join(folder, name)
    return isWritable(existsSync(path) ? path : folder)
  })
}

/** LMDB relies on a shared memory map and on locks, which do not work across machines. */
function checkFileSystem(folder: string, readOnly: boolean): void {
  const { network, opaque } = fileSystemOf(folder)
  if (network !== undefined && !readOnly) {
    throw unsupported(
      `${folder} lies on a network file system (${network}), where LMDB would lose changes.`,
      'Keep the catalog on a local disk, and reach it over HTTP from other machines.',
    )
  }
  const name = network ?? opaque
  if (name === undefined) return
  process.emitWarning(
    `${folder} lies on ${name}. If several machines use it at the same time, changes are lost: keep the catalog on a local disk.`,
    { type: 'TabulariumWarning', code: 'TABULARIUM_FILE_SYSTEM' },
  )
}

function openLock(path: string, isOnReadOnlyMedium: boolean): StoreLock | undefined {
  if (!isOnReadOnlyMedium) return new StoreLock(new FileLock(path))
  const lock = existsSync(path) ? new FileLock(path, { canWrite: false }) : undefined
  if (lock?.hasRanges) return new StoreLock(lock)
  lock?.close()
  process.emitWarning(
    `${dirname(path)} is read-only here, and a writer elsewhere cannot be detected. Reads are wrong if another process writes meanwhile.`,
    { type: 'TabulariumWarning', code: 'TABULARIUM_READ_ONLY_MEDIUM' },
  )
  return undefined
}

/** Opens the data file while no other process opens, closes or writes it. */
async function openLocked(
  path: string,
  lock: StoreLock,
  asReader: boolean,
  options: LmdbStoreOptions,
  firstMade: string | undefined,
): Promise<Database> {
  const { readOnly = false, busyTimeout = defaultTimeout } = options
  const folder = dirname(path)
  await lock.acquire(busyTimeout)
  try {
    lock.requireInPlace()
    lock.register()
    if (lock.isNew) {
      requireNoOlderRelease(join(folder, lockFile))
      lock.markUsed()
    }
    if (!readOnly) removeUnfinished(path, storeFiles)
    const isNew = !existsSync(path)
    const db = openDatabase(path, asReader, options)
    try {
      if (isNew) await syncFolders(folder, firstMade)
    } catch (error) {
      await db.close()
      throw error
    }
    return db
  } finally {
    lock.release()
  }
}

/** Opens a data file on a read-only medium, while no process elsewhere has it open for writing. */
async function openWithoutWriters(
  path: string,
  lock: StoreLock | undefined,
  options: LmdbStoreOptions,
): Promise<Database> {
  const admitWriters = excludeWriters({ path, lock, readers: new Set() })
  try {
    return openDatabase(path, true, options)
  } finally {
    admitWriters?.()
  }
}

/**
 * Excludes writers from a read-only medium until the returned function is called. Fails with `ServiceUnavailable` when
 * a process has the file open for writing. On other media, LMDB's own locks protect readers. Undefined without a file
 * to lock.
 */
export function excludeWriters({ path, lock, readers }: Readable): (() => void) | undefined {
  if (lock === undefined) return undefined
  if (readers.size === 0 && !lock.tryExcludeWriters()) {
    throw new CatalogError(
      'ServiceUnavailable',
      `Cannot read ${path}: this directory is read-only here, so reads cannot be protected, and a process has the catalog open for writing. Close that process, open the catalog as a user and where its directory can be written, or reach it over HTTP.`,
    )
  }
  const reader = Symbol('reader')
  readers.add(reader)
  return () => {
    if (readers.delete(reader) && readers.size === 0) lock.admitWriters()
  }
}

function openDatabase(
  path: string,
  readOnly: boolean,
  { mapSize, maxReaders = defaultReaders }: LmdbStoreOptions,
): Database {
  const lockPath = join(dirname(path), lockFile)
  checkFiles(path, lockPath, readOnly)
  if (!existsSync(path)) reserveLockFile(lockPath, maxReaders)
  // On opening, the driver itself removes the reader slots of dead processes.
  const db = loadDriver().open<Value, LmdbKey>(path, {
    noSubdir: true,
    readOnly,
    // Values to put are encoded already; see `encodeValue`.
    encoder: { encode: JSON.stringify, decode: decodeValue },
    overlappingSync: false,
    // All writes are transactions, which the driver groups anyway. With this option, a failed commit would also
    // reject a promise that we cannot handle.
    eventTurnBatching: false,
    maxReaders,
    ...optionalSize(mapSize ?? defaultMapSize()),
  })
  readKeysFast(db)
  return db
}

function optionalSize(mapSize: number | undefined): { mapSize?: number } {
  return mapSize === undefined ? {} : { mapSize }
}

/**
 * A map so large that it need not grow: while the driver maps the file again, a committing thread may still use the old
 * address. Undefined where a large map would make a large file.
 */
function defaultMapSize(): number | undefined {
  if (process.platform !== 'linux' && process.platform !== 'darwin') return undefined
  return hasFreeAddressSpace() ? largeMap : usualMap
}

/** Syncs the folders of a new data file, so that their names survive a crash of the machine. */
async function syncFolders(folder: string, firstMade: string | undefined): Promise<void> {
  // Windows cannot sync a folder.
  if (process.platform === 'win32') return
  const last = firstMade === undefined ? folder : dirname(realpathSync(firstMade))
  for (let at = folder; ; at = dirname(at)) {
    const handle = await openFile(at, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
    if (at === last || at === dirname(at)) return
  }
}
