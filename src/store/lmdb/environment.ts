import { existsSync, mkdirSync, realpathSync } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import type { Key as LmdbKey, RootDatabase } from 'lmdb'
import { CatalogError, invalid } from '../../errors.ts'
import type { Value } from '../store.ts'
import { loadDriver } from './driver.ts'
import { explain } from './failure.ts'
import { FileLock } from './file-lock.ts'
import { fileSystemOf, hasFreeAddressSpace, isMountedReadOnly, isWritable } from './file-system.ts'
import { checkFiles, removeUnfinished, requireNoOlderRelease, reserveLockFile } from './preflight.ts'
import { readKeysFast } from './read-key.ts'
import { StoreLock } from './store-lock.ts'
import { WriteLock } from './write-lock.ts'

/** How to open an LMDB store. */
export interface LmdbStoreOptions {
  /** Refuse every write, and a directory that holds no catalog. False unless given. */
  readonly readOnly?: boolean
  /** Make the directory and the data file when they are missing. True unless given or `readOnly`. */
  readonly create?: boolean
  /** How many bytes of address space to begin with; grows by itself. 64 GiB where that costs nothing, else 1 GiB. */
  readonly mapSize?: number
  /** How many readers there may be at once, all processes together. 2,048 unless given. */
  readonly maxReaders?: number
  /**
   * How long opening, closing and each write wait for other processes, in milliseconds, before they fail with
   * `ServiceUnavailable`. 30,000 unless given.
   */
  readonly busyTimeout?: number
}

export type Database = RootDatabase<Value, LmdbKey>

/** One data file, opened once in this thread and used by every store on it. */
export interface Environment {
  readonly path: string
  /** LMDB itself has it open for reading only. */
  readonly readOnly: boolean
  readonly db: Database
  /** Undefined on a medium that cannot be written and holds no file to lock. */
  readonly lock: StoreLock | undefined
  /** The lock as all writes of this thread hold it; undefined when the store is only read. */
  readonly writes: WriteLock | undefined
  /**
   * Whether the medium cannot be written, so that LMDB locks nothing there: each read must keep writers away
   * itself, who may reach the same files another way.
   */
  readonly isOnReadOnlyMedium: boolean
  readonly busyTimeout: number
  /** How many stores use it. */
  users: number
  /** The body of a transaction is running. */
  busy: boolean
  /** How many writes the driver has whose bodies did not run yet. */
  bodiesToRun: number
  /** The transaction that has set the state, until it turns out that some of it came to nothing. */
  marked: number | undefined
  closing: Promise<void> | undefined
}

const dataFile = 'catalog.mdb'
const lockFile = `${dataFile}-lock`
const storeLockFile = 'catalog.lock'

/** What an LMDB store keeps in its directory. All other names there are free. */
export const storeFiles: readonly string[] = [
  dataFile,
  lockFile,
  storeLockFile,
  ...(process.platform === 'darwin' ? [`${storeLockFile}-queue`] : []),
]

const largeMap = 2 ** 36
const usualMap = 2 ** 30
const defaultReaders = 2048
const defaultTimeout = 30_000
/** How long a process that ends waits for others, in milliseconds. */
const exitTimeout = 1000

/** What this thread has open, or is opening. */
interface Registry {
  readonly opening: Map<string, Promise<Environment>>
  /** For the end of the process, which waits for no promise. */
  readonly open: Set<Environment>
}

/**
 * LMDB allows a process to open a file only once. The registry is global, because a process may hold several copies
 * of this module.
 */
const registry: Registry = (() => {
  const place = globalThis as { [name: symbol]: unknown }
  const name = Symbol.for('tabularium.lmdb.registry')
  if (place[name] === undefined) {
    place[name] = { opening: new Map(), open: new Set() } satisfies Registry
    process.once('exit', endSafely)
  }
  return place[name] as Registry
})()

/** Opens the data file of a directory, or joins those who have it open already. */
export async function acquire(directory: string, options: LmdbStoreOptions): Promise<Environment> {
  const given = join(resolve(directory), dataFile)
  const { readOnly = false, create = !readOnly } = options
  try {
    const isNew = !existsSync(given)
    if (isNew && !create) throw noCatalog(directory)
    const firstMade = isNew ? mkdirSync(dirname(given), { recursive: true }) : undefined
    const path = join(realpathSync(dirname(given)), dataFile)
    for (let opening = registry.opening.get(path); opening; opening = registry.opening.get(path)) {
      const environment = await joinOpen(await opening.catch(() => undefined))
      if (environment) return await use(environment, readOnly)
    }
    // No pause from the last look at the table to the entry, so that nobody opens the file a second time.
    const opening = openEnvironment(path, options, firstMade)
    registry.opening.set(path, opening)
    const environment = await opening.catch((error: unknown) => {
      registry.opening.delete(path)
      throw error
    })
    return await use(environment, readOnly)
  } catch (error) {
    throw explain(error, given)
  }
}

export function noCatalog(directory: string): CatalogError {
  return invalid(`There is no catalog in ${directory}. Check the path.`)
}

/** Gives up one use of an environment, and closes it after the last. */
export async function release(environment: Environment): Promise<void> {
  if (--environment.users > 0) return
  environment.closing = close(environment).finally(() => {
    environment.closing = undefined
  })
  await environment.closing
}

/**
 * Closes under the store's lock: the last one who closes destroys what somebody who opens meanwhile relies on. When
 * the lock cannot be had, the environment stays open, for whoever opens the directory next.
 */
async function close(environment: Environment): Promise<void> {
  if (!environment.isOnReadOnlyMedium) await environment.lock!.acquire(environment.busyTimeout)
  try {
    await environment.db.close()
  } finally {
    registry.open.delete(environment)
    registry.opening.delete(environment.path)
    environment.lock?.close()
  }
}

/** Counts one more user of an environment that is open. Undefined when it is closed, or was never open. */
async function joinOpen(environment: Environment | undefined): Promise<Environment | undefined> {
  await environment?.closing?.catch(() => {})
  if (environment === undefined || !registry.open.has(environment)) return undefined
  environment.users++
  return environment
}

/** Makes an environment ready for a store that only reads, or one that also writes. */
async function use(environment: Environment, readOnly: boolean): Promise<Environment> {
  if (readOnly) return environment
  if (environment.readOnly) {
    await release(environment)
    throw invalid(`${environment.path} is open for reading only in this process: close that catalog first.`)
  }
  await environment.lock!.announceWriter()
  return environment
}

async function openEnvironment(
  path: string,
  options: LmdbStoreOptions,
  firstMade: string | undefined,
): Promise<Environment> {
  const { readOnly = false, busyTimeout = defaultTimeout } = options
  const folder = dirname(path)
  checkFileSystem(folder, readOnly)
  const isOnReadOnlyMedium = readOnly && isMountedReadOnly(folder)
  // Threads of a process share what LMDB has open, so that one that only reads must not keep others from writing.
  const asReader = isOnReadOnlyMedium || (readOnly && !isWritable(path))
  const lock = openLock(join(folder, storeLockFile), isOnReadOnlyMedium)
  try {
    const db = await (isOnReadOnlyMedium
      ? openBetweenWriters(path, lock, options)
      : openInTurn(path, lock!, asReader, options, firstMade))
    const environment: Environment = {
      path,
      readOnly: asReader,
      db,
      lock,
      writes: asReader ? undefined : new WriteLock(lock!, busyTimeout),
      isOnReadOnlyMedium,
      busyTimeout,
      users: 1,
      busy: false,
      bodiesToRun: 0,
      marked: undefined,
      closing: undefined,
    }
    registry.open.add(environment)
    return environment
  } catch (error) {
    lock?.close()
    throw error
  }
}

/** LMDB trusts its memory map and its locks, which one machine shares and several do not. */
function checkFileSystem(folder: string, readOnly: boolean): void {
  const { network, opaque } = fileSystemOf(folder)
  if (network !== undefined && !readOnly) {
    throw new CatalogError(
      'Unsupported',
      `${folder} lies on a network file system (${network}), where LMDB would lose changes. Keep the catalog on a local disk, and reach it over HTTP from other machines.`,
    )
  }
  const name = network ?? opaque
  if (name === undefined) return
  process.emitWarning(
    `${folder} lies on ${name}. Should several machines use it at once, changes are lost: keep the catalog on a local disk.`,
    { type: 'TabulariumWarning', code: 'TABULARIUM_FILE_SYSTEM' },
  )
}

function openLock(path: string, isOnReadOnlyMedium: boolean): StoreLock | undefined {
  if (!isOnReadOnlyMedium) return new StoreLock(new FileLock(path))
  const lock = existsSync(path) ? new FileLock(path, { canWrite: false }) : undefined
  if (lock?.hasRanges) return new StoreLock(lock)
  lock?.close()
  process.emitWarning(
    `${dirname(path)} cannot be written from here, and nothing tells whether it can from elsewhere. What is read is wrong should somebody write meanwhile.`,
    { type: 'TabulariumWarning', code: 'TABULARIUM_READ_ONLY_MEDIUM' },
  )
  return undefined
}

/** Opens the data file while no process opens, closes or writes it. */
async function openInTurn(
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
    lock.announce()
    if (lock.isNew) {
      requireNoOlderRelease(join(folder, lockFile))
      lock.markUsed()
    }
    if (!readOnly) removeUnfinished(path, storeFiles)
    const isNew = !existsSync(path)
    const db = openDatabase(path, asReader, options)
    if (isNew) await syncFolders(folder, firstMade)
    return db
  } finally {
    lock.release()
  }
}

/** Opens a data file that cannot be written from here while nobody has it open for writing from elsewhere. */
async function openBetweenWriters(
  path: string,
  lock: StoreLock | undefined,
  options: LmdbStoreOptions,
): Promise<Database> {
  if (lock === undefined) return openDatabase(path, true, options)
  return readBetweenWriters(path, lock, () => openDatabase(path, true, options))
}

/** Runs a read where LMDB takes no locks. Fails with `ServiceUnavailable` when somebody may write meanwhile. */
export function readBetweenWriters<T>(path: string, lock: StoreLock, body: () => T): T {
  const read = lock.withoutWriters(body)
  if (read) return read.result
  throw new CatalogError(
    'ServiceUnavailable',
    `Cannot read ${path}: it cannot be written from here, so that reads cannot be protected, and a process has it open for writing elsewhere. Close that one, open the catalog where its directory can be written, or reach it over HTTP.`,
  )
}

function openDatabase(
  path: string,
  readOnly: boolean,
  { mapSize, maxReaders = defaultReaders }: LmdbStoreOptions,
): Database {
  const lockPath = join(dirname(path), lockFile)
  checkFiles(path, lockPath, readOnly)
  if (!existsSync(path)) reserveLockFile(lockPath, maxReaders)
  // Whenever it opens an environment, the driver clears the readers of processes that died.
  const db = loadDriver().open<Value, LmdbKey>(path, {
    noSubdir: true,
    readOnly,
    encoding: 'json',
    overlappingSync: false,
    // All writes are transactions, which are grouped without it; with it, a commit that fails leaves a
    // rejected promise that nobody can handle.
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
 * So much that the map does not have to grow: while the driver maps the file anew, a thread that commits may take
 * the old address for the new one. Undefined where a large map would be a large file.
 */
function defaultMapSize(): number | undefined {
  if (process.platform !== 'linux' && process.platform !== 'darwin') return undefined
  return hasFreeAddressSpace() ? largeMap : usualMap
}

/** Makes the names of a new data file and of the folders made for it outlast a crash of the machine. */
async function syncFolders(folder: string, firstMade: string | undefined): Promise<void> {
  // Windows has no such thing.
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

/**
 * What the end of a process must not do. Node closes environments that are open, without the store's lock; so it
 * is taken here, and the kernel drops it after. And Node waits for the thread that commits, which waits for bodies
 * that no event loop will run any more: such a process would never end, with LMDB's lock in its hands.
 */
function endSafely(): void {
  for (const { bodiesToRun, lock, isOnReadOnlyMedium } of registry.open) {
    if (bodiesToRun > 0 && isMainThread) process.kill(process.pid, 'SIGKILL')
    if (!isOnReadOnlyMedium) lock?.acquireBlocking(exitTimeout)
  }
}
