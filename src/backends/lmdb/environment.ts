import { existsSync, mkdirSync, realpathSync } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Key as LmdbKey, RootDatabase } from 'lmdb'
import { type CatalogError, invalid } from '../../errors.ts'
import type { Value } from '../../store/store.ts'
import { loadDriver } from './driver.ts'
import { explain } from './failure.ts'
import { checkFiles, reserveLockFile } from './preflight.ts'
import { readKeysFast } from './read-key.ts'

/** How to open an LMDB store. */
export interface LmdbStoreOptions {
  /** Refuse every write, and a directory that holds no catalog. False unless given. */
  readonly readOnly?: boolean
  /** Make the directory and the data file when they are missing. True unless given or `readOnly`. */
  readonly create?: boolean
  /** How many bytes of address space to begin with; grows by itself. 1 GiB unless given. */
  readonly mapSize?: number
  /** How many readers there may be at once, all processes together. 2,048 unless given. */
  readonly maxReaders?: number
}

export type Database = RootDatabase<Value, LmdbKey>

/** One data file, opened once in this process and used by every store on it. */
export interface Environment {
  readonly path: string
  readonly readOnly: boolean
  readonly db: Database
  /** How many stores use it. */
  users: number
  /** The body of a transaction is running. */
  busy: boolean
  /** The transaction that has set the state, until it turns out that some of it came to nothing. */
  marked: number | undefined
  closing: Promise<void> | undefined
}

const dataFile = 'catalog.mdb'
const lockFile = `${dataFile}-lock`

/** What an LMDB store keeps in its directory. All other names there are free. */
export const storeFiles: readonly string[] = [dataFile, lockFile]

const defaultMapSize = 2 ** 30
const defaultReaders = 2048

/**
 * LMDB allows a process to open a file only once. The table is global, because a process may hold several
 * copies of this module.
 */
const environments: Map<string, Environment> = (() => {
  const place = globalThis as { [name: symbol]: unknown }
  const name = Symbol.for('tabularium.lmdb.environments')
  place[name] ??= new Map<string, Environment>()
  return place[name] as Map<string, Environment>
})()

/** Opens the data file of a directory, or joins those who have it open already. */
export async function acquire(directory: string, options: LmdbStoreOptions): Promise<Environment> {
  const given = join(resolve(directory), dataFile)
  const { readOnly = false, create = !readOnly } = options
  try {
    const lmdb = loadDriver()
    const isNew = !existsSync(given)
    if (isNew && !create) {
      throw noCatalog(directory)
    }
    const firstMade = isNew ? mkdirSync(dirname(given), { recursive: true }) : undefined
    const path = join(realpathSync(dirname(given)), dataFile)
    const joined = await joinOpen(path, readOnly)
    if (joined) return joined

    // No pause from here to the entry in the table, so that nobody opens the file a second time.
    const opened: Environment = {
      path,
      readOnly,
      db: openDatabase(lmdb, path, readOnly, options),
      users: 1,
      busy: false,
      marked: undefined,
      closing: undefined,
    }
    environments.set(path, opened)
    if (isNew) await syncFolders(dirname(path), firstMade)
    return opened
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
  environment.closing = environment.db.close().finally(() => environments.delete(environment.path))
  await environment.closing
}

/** The environment of a path, if it is open. */
async function joinOpen(path: string, readOnly: boolean): Promise<Environment | undefined> {
  let environment = environments.get(path)
  while (environment?.closing) {
    await environment.closing
    environment = environments.get(path)
  }
  if (environment?.readOnly && !readOnly) {
    throw invalid(`${path} is open for reading only in this process: close that catalog first.`)
  }
  if (environment) environment.users++
  return environment
}

function openDatabase(
  lmdb: typeof import('lmdb'),
  path: string,
  readOnly: boolean,
  { mapSize, maxReaders = defaultReaders }: LmdbStoreOptions,
): Database {
  const lockPath = join(dirname(path), lockFile)
  checkFiles(path, lockPath, readOnly)
  if (!existsSync(path)) reserveLockFile(lockPath, maxReaders)
  // Elsewhere a large map would be a large file, or would not fit.
  const largeMaps = process.platform === 'linux' || process.platform === 'darwin'
  // Whenever it opens an environment, the driver clears the readers of processes that died.
  const db = lmdb.open<Value, LmdbKey>(path, {
    noSubdir: true,
    readOnly,
    encoding: 'json',
    overlappingSync: false,
    // All writes are transactions, which are grouped without it; with it, a commit that fails leaves a
    // rejected promise that nobody can handle.
    eventTurnBatching: false,
    maxReaders,
    ...(mapSize || largeMaps ? { mapSize: mapSize ?? defaultMapSize } : {}),
  })
  readKeysFast(db)
  return db
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
