import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { CatalogError } from '../../base/errors.ts'
import { freeBytes } from '../../base/scheduling/free-space.ts'
import { closedError, nestedError, runBody } from '../../base/store/body.ts'
import type {
  InspectOptions,
  Reader,
  Store,
  StoreFeatures,
  StoreInspection,
  StoreMetrics,
  Writer,
} from '../../base/store/store.ts'
import { withOwnTimers } from '../../base/time.ts'
import { LmdbReader, readState } from './access.ts'
import { type Database, requireRuntime } from './driver.ts'
import { type Environment, excludeWriters, type LmdbStoreOptions, storeFiles } from './environment.ts'
import { explain, storeFailure } from './failure.ts'
import { inspectFile } from './inspect.ts'
import { gone } from './presence.ts'
import { acquire, noCatalog, release } from './registry.ts'

export { type LmdbStoreOptions, storeFiles } from './environment.ts'

/** A store in an LMDB data file. */
export interface LmdbStore extends Store {
  /** The data file; its lock file is beside it. */
  readonly path: string
  /** Fails with `ServiceUnavailable` when the store's files were removed or replaced. Takes some microseconds. */
  requireInPlace(): void
}

/**
 * Opens the store in `directory`, with its records in the file `catalog.mdb`, and creates it when it is missing. Any
 * number of processes, and of stores in one process, may have it open at the same time. A resolved write is on disk.
 * Opening and reading change no record. Fails with `InvalidInput` when there is nothing to open or the file is not an
 * LMDB file. Fails with `PermissionDenied` for a user without the permission, and with `ServiceUnavailable` on a full
 * disk.
 */
export async function openLmdbStore(directory: string, options: LmdbStoreOptions = {}): Promise<LmdbStore> {
  requireRuntime()
  return new LmdbDirectoryStore(await acquire(directory, options), options.readOnly ?? false)
}

/** Whether a directory holds a store, which another process may still be creating. */
export async function holdsLmdbStore(directory: string): Promise<boolean> {
  return existsSync(join(directory, storeFiles[0]!))
}

/**
 * Inspects the data file of a directory without opening it in LMDB, where a damaged file may crash the process. With
 * `moved`, another process wrote meanwhile, and the reported damage may only be a reused page.
 */
export async function inspectLmdbStore(
  directory: string,
  options: InspectOptions = {},
): Promise<StoreInspection & { readonly moved: boolean }> {
  const path = join(directory, storeFiles[0]!)
  for (let attempt = 1; ; attempt++) {
    const inspected = await inspectFile(path, options).catch((error: unknown) => {
      // The reason of a signal has a code of its own, which is none of the system's.
      options.signal?.throwIfAborted()
      throw isMissing(error) ? noCatalog(directory) : explain(error, path)
    })
    if (!inspected.moved || attempt === maxInspections) return inspected
  }
}

const maxInspections = 3

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

const features: StoreFeatures = Object.freeze({
  durable: true,
  multiProcess: true,
  snapshots: false,
  inlineBytes: 16 * 1024,
})

class LmdbDirectoryStore implements LmdbStore {
  readonly features = features
  readonly path: string
  readonly #environment: Environment
  readonly #readOnly: boolean
  /** The work under way, and what `close` awaits it by. */
  #underWay = 0
  #onIdle: (() => void) | undefined
  #closing: Promise<void> | undefined

  constructor(environment: Environment, readOnly: boolean) {
    this.path = environment.path
    this.#environment = environment
    this.#readOnly = readOnly
  }

  async read<T>(body: (reader: Reader) => T): Promise<T> {
    this.#refuse()
    const environment = this.#environment
    const admitWriters = environment.isOnReadOnlyMedium ? excludeWriters(environment) : undefined
    // The driver reuses a snapshot for up to a millisecond, so it is dropped here. The next read takes a new snapshot,
    // which lasts through the body, since nothing else runs meanwhile.
    environment.db.resetReadTxn()
    const reader = new LmdbReader(environment.db, this.path)
    environment.isReading = true
    try {
      return withOwnTimers(() => runBody(body, reader))
    } finally {
      admitWriters?.()
      environment.isReading = false
      reader.ended = true
    }
  }

  async write<T>(body: (writer: Writer) => T): Promise<T> {
    this.#refuse()
    if (this.#readOnly) {
      throw new CatalogError(
        'PermissionDenied',
        `${this.path} was opened read-only: open it without \`readOnly\` to change it.`,
      )
    }
    this.#underWay++
    try {
      return await this.#write(body)
    } finally {
      this.#end()
    }
  }

  state(): number | undefined {
    this.#refuse()
    const environment = this.#environment
    const admitWriters = environment.isOnReadOnlyMedium ? excludeWriters(environment) : undefined
    try {
      return withOwnTimers(() => readState(environment.db))
    } catch (error) {
      throw explain(error, this.path)
    } finally {
      admitWriters?.()
    }
  }

  requireInPlace(): void {
    const missing = this.#environment.presence.missing()
    if (missing !== undefined) throw gone(missing)
  }

  async inTurn<T>(name: string | readonly string[], work: () => Promise<T>): Promise<T> {
    this.#refuse()
    this.#underWay++
    try {
      return await this.#environment.lock!.turns.run([name].flat(), work)
    } finally {
      this.#end()
    }
  }

  async isTurnTaken(name: string): Promise<boolean> {
    this.#refuse()
    return this.#environment.lock!.turns.isTaken(name)
  }

  metrics(): StoreMetrics {
    try {
      return { freeBytes: freeBytes(dirname(this.path)) }
    } catch {
      // Without an answer of the system, the metric is left out.
      return {}
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#finish()
    return this.#closing
  }

  /** Inspects the file. An open read transaction keeps the newest snapshot from being overwritten meanwhile. */
  async inspect(options?: InspectOptions): Promise<StoreInspection> {
    this.#refuse()
    const environment = this.#environment
    const admitWriters = environment.isOnReadOnlyMedium ? excludeWriters(environment) : undefined
    environment.db.resetReadTxn()
    const snapshot = withOwnTimers(() => environment.db.useReadTransaction())
    this.#underWay++
    try {
      return await inspectFile(this.path, options)
    } finally {
      this.#end()
      snapshot.done()
      admitWriters?.()
    }
  }

  async copyTo(folder: string): Promise<void> {
    this.#refuse()
    const environment = this.#environment
    const admitWriters = environment.isOnReadOnlyMedium ? excludeWriters(environment) : undefined
    const file = join(folder, basename(this.path))
    this.#underWay++
    try {
      await copyEnvironment(environment.db, file)
    } catch (error) {
      throw await storeFailure(error, file)
    } finally {
      this.#end()
      admitWriters?.()
    }
  }

  async #write<T>(body: (writer: Writer) => T): Promise<T> {
    const environment = this.#environment
    try {
      const wait = environment.writes!.enter()
      if (wait) await wait
    } catch (error) {
      throw explain(error, this.path)
    }
    try {
      return await environment.group.run(body)
    } finally {
      environment.writes!.leave()
    }
  }

  /** Ends work that `close` waits for. */
  #end(): void {
    if (--this.#underWay === 0) this.#onIdle?.()
  }

  async #finish(): Promise<void> {
    if (this.#underWay > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
    }
    await release(this.#environment)
  }

  #refuse(): void {
    if (this.#closing) throw closedError()
    if (this.#environment.isReading || this.#environment.group.isRunning) throw nestedError()
  }
}

/** Copies an environment without its free pages, and syncs the copy. */
async function copyEnvironment(db: Database, path: string): Promise<void> {
  await db.backup(path, true)
  const copy = await open(path, 'r+')
  try {
    await copy.sync()
  } finally {
    await copy.close()
  }
}
