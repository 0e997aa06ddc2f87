import { existsSync, mkdirSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { type CatalogError, invalid } from '../../base/errors.ts'
import { withOwnTimers } from '../../base/time.ts'
import { dataFile, type Environment, type LmdbStoreOptions, openEnvironment } from './environment.ts'
import { explain } from './failure.ts'
import { isMountedReadOnly } from './file-system.ts'
import { identityOf } from './presence.ts'

/** How long an exiting process waits for the lock, in milliseconds. */
const exitTimeout = 1000

/** The environments that this thread has open, or is opening. */
interface Registry {
  readonly opening: Map<string, Promise<Environment>>
  /** Used at the exit of the process, which waits for no promise. */
  readonly open: Set<Environment>
  /** The opening of each environment: a replaced directory has its own environment under the same path. */
  readonly openings: WeakMap<Environment, Promise<Environment>>
}

/**
 * The environments of this thread. LMDB allows a process to open a file only once. The registry is global, because a
 * process may load several copies of this module.
 */
const registry: Registry = (() => {
  const globals = globalThis as { [name: symbol]: unknown }
  const name = Symbol.for('tabularium.lmdb.registry')
  if (globals[name] === undefined) {
    globals[name] = { opening: new Map(), open: new Set(), openings: new WeakMap() } satisfies Registry
    process.once('exit', exitSafely)
  }
  return globals[name] as Registry
})()

/** Whether the file at a path is the one that an environment opened. */
function isAt(environment: Environment, path: string): boolean {
  return identityOf(path) === environment.presence.knownAs(environment.path)
}

/** Opens the data file of a directory, or returns the environment that is already open. */
export async function acquire(directory: string, options: LmdbStoreOptions): Promise<Environment> {
  const given = join(resolve(directory), dataFile)
  const { readOnly = false, create = !readOnly } = options
  try {
    const isNew = !existsSync(given)
    if (isNew && !create) throw noCatalog(directory)
    const firstMade = isNew ? mkdirSync(dirname(given), { recursive: true }) : undefined
    const path = join(realpathSync(dirname(given)), dataFile)
    for (let opening = registry.opening.get(path); opening; opening = registry.opening.get(path)) {
      const found = await opening.catch(() => undefined)
      // Another directory may be at this path now. Users of the previous one keep it.
      if (found && registry.open.has(found) && !isAt(found, path)) {
        if (registry.opening.get(path) === opening) registry.opening.delete(path)
        continue
      }
      const environment = await joinOpen(found)
      if (environment) return await use(environment, options)
    }
    // The directory of an open environment may have a new name now, and LMDB must not open a file twice.
    for (const moved of isNew ? [] : registry.open) {
      if (moved.path === path || !isAt(moved, path)) continue
      // A read-only mount of it is another medium.
      if (isMountedReadOnly(dirname(path)) || moved.isOnReadOnlyMedium) continue
      const environment = await joinOpen(moved)
      if (environment) return await use(environment, options)
      return await acquire(directory, options)
    }
    // There must be no await between the last lookup and this entry: another call could open the file.
    const opening = openEnvironment(path, options, firstMade).then((environment) => {
      registry.open.add(environment)
      registry.openings.set(environment, opening)
      return environment
    })
    registry.opening.set(path, opening)
    const environment = await opening.catch((error: unknown) => {
      registry.opening.delete(path)
      throw error
    })
    return await use(environment, options)
  } catch (error) {
    throw explain(error, given)
  }
}

export function noCatalog(directory: string): CatalogError {
  return invalid(`There is no catalog in ${directory}. Check the path.`)
}

/** Removes a user of an environment, and closes it after the last one. */
export async function release(environment: Environment): Promise<void> {
  if (--environment.users > 0) return
  environment.closing = close(environment).finally(() => {
    environment.closing = undefined
  })
  await environment.closing
}

/**
 * Closes an environment under the store's lock: the last process to close destroys LMDB's locks, which a process that
 * is opening needs. When the lock is not available, the environment stays open, and the next open of the directory in
 * this process reuses it.
 */
async function close(environment: Environment): Promise<void> {
  if (!environment.isOnReadOnlyMedium) await environment.lock!.acquire(environment.busyTimeout)
  try {
    await withOwnTimers(() => environment.db.close())
  } finally {
    registry.open.delete(environment)
    if (registry.opening.get(environment.path) === registry.openings.get(environment))
      registry.opening.delete(environment.path)
    environment.lock?.close()
  }
}

/** Adds a user to an open environment. Undefined when it is closed, or failed to open. */
async function joinOpen(environment: Environment | undefined): Promise<Environment | undefined> {
  await environment?.closing?.catch(() => {})
  if (environment === undefined || !registry.open.has(environment)) return undefined
  environment.users++
  return environment
}

/** Prepares an environment for a store that only reads, or one that also writes. */
async function use(
  environment: Environment,
  { readOnly, companions = [] }: LmdbStoreOptions,
): Promise<Environment> {
  if (readOnly) return environment
  try {
    if (environment.readOnly)
      throw invalid(`${environment.path} is open for reading only in this process: close that catalog first.`)
    await environment.lock!.registerWriter(environment.busyTimeout)
    environment.presence.add(companions.map((name) => join(dirname(environment.path), name)))
    return environment
  } catch (error) {
    // The caller gets the first error.
    await release(environment).catch(() => {})
    throw error
  }
}

/**
 * Runs when the process exits, for two reasons:
 * - Node closes open environments without the store's lock. So this takes the lock, and the kernel drops it later.
 * - Node waits for the committing thread, which waits for bodies that the event loop no longer runs. The process
 *   would hang and keep LMDB's lock, so it kills itself.
 */
function exitSafely(): void {
  for (const { group, lock, isOnReadOnlyMedium } of registry.open) {
    if (group.toRun > 0 && isMainThread) process.kill(process.pid, 'SIGKILL')
    if (!isOnReadOnlyMedium) lock?.acquireBlocking(exitTimeout)
  }
}
