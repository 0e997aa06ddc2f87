import { CatalogError } from '../base/errors.ts'
import { shownLocation } from '../base/model/location.ts'
import { withMembers } from '../base/with-members.ts'
import type {
  Backing,
  BackupOptions,
  BackupReport,
  Catalog,
  CatalogMetrics,
  Core,
  ExportOptions,
  ExportReport,
  ImportOptions,
  ImportReport,
  Transaction,
  TransactionOptions,
  VacuumOptions,
  VacuumReport,
  VerifyOptions,
  VerifyReport,
  WatchRequest,
} from '../catalog/index.ts'
import { createHandle, unknownState } from '../catalog/index.ts'
import { openedReadOnly, readRecord, runOperation, watchChanges } from '../catalog/local.ts'

/** A catalog that is in this process, on this machine's disk, or in a database. */
export interface LocalCatalog extends Catalog {
  /**
   * Runs `work` as one transaction, and resolves to the result of `work`. Everything that it did through `tx` is then
   * committed, at once and durably. When it throws, nothing is committed.
   *
   * ```ts
   * await catalog.transaction(async (tx) => {
   *   await tx.insertIntoTable({ id: ['orders'], data: [{ user: 7, item: 'lamp' }] })
   *   await tx.deleteFromTable({ id: ['cart'], predicate: 'user = 7' })
   * })
   * ```
   *
   * - `tx` has every operation. It sees its own changes; others see them after the commit. Await each operation. Calls
   *   on `catalog` or on another catalog inside of `work` do not belong to the transaction.
   * - Transactions are serializable: the commit checks that all reads are still current. When others changed them,
   *   `work` runs again, so it should have no effects except through `tx`. After `attempts` runs the transaction fails
   *   with `ConcurrentModification`.
   * - Inserts, deletes and changes of schema metadata do not conflict with those of others: the commit rebases them. So
   *   version numbers that they return inside of `work` may be higher after the commit.
   * - The transaction can be described and canceled by `tx.transactionId` while it runs. `signal` stops it.
   *
   * See docs/transactions.md.
   */
  transaction<T>(work: (tx: Transaction) => T | Promise<T>, options?: TransactionOptions): Promise<T>

  /**
   * Whether the database is a copy of the catalog's own database, such as a dump that was restored elsewhere. A copy is
   * read-only: it refuses every change. See docs/postgres.md.
   */
  readonly isCopy: boolean

  /**
   * Removes unreferenced content, left by a crash, a lost race or a deleted version. Safe while others read and write.
   */
  vacuum(options?: VacuumOptions): Promise<VacuumReport>

  /**
   * Checks everything in the catalog: the store file, every record, and all bytes of every object that a version needs.
   * The report names each problem and its location. Damage is reported, not thrown.
   *
   * It writes nothing and may run while others read and write. Its memory grows with the number of objects of the
   * largest table.
   *
   * ```ts
   * const { ok, findings } = await catalog.verify()
   * ```
   */
  verify(options?: VerifyOptions): Promise<VerifyReport>

  /**
   * The catalog's counters and gauges: commits, lost races, open transactions, the cache, connections, the backlog. It
   * scans no records, and returns within about 2 seconds. `backlog` is undefined when the store is unreachable.
   *
   * ```ts
   * const { commits, lostRaces } = await catalog.metrics()
   * ```
   *
   * `/metrics` of a server reports the same.
   */
  metrics(): Promise<CatalogMetrics>

  /**
   * Copies a snapshot of the catalog into a new folder, while others read and write. Each batch is in it completely or
   * not at all. The folder appears when it is complete. `openCatalog` opens it, and `restoreCatalog` restores it.
   *
   * Content outside of the catalog's directory (`locationRoots`, other schemes) is not copied, but listed as `outside`.
   * Its records are. `Unsupported` unless the catalog is in a directory. `InvalidTableState` names a missing file.
   */
  backup(target: string, options?: BackupOptions): Promise<BackupReport>

  /**
   * Runs `work` under a backup lease, and resolves to its result. Until it ends, no process removes content. So your
   * own tool can copy the records first, such as by `pg_dump`, and the content afterwards. A vacuum refuses to run
   * meanwhile. Content of tables that were dropped is removed at the end.
   *
   * The process renews the lease. After a minute without a renewal, the signal of `work` is aborted, and this fails
   * with `ServiceUnavailable`, because the copy may lack content. It also rejects with an error that `work` throws.
   *
   * ```ts
   * await catalog.withBackupLease(async (signal) => {
   *   await run('pg_dump', ['-Fc', '-f', 'catalog.dump', url], { signal })
   *   await run('aws', ['s3', 'sync', 's3://bucket/prefix', './rows'], { signal })
   * })
   * ```
   */
  withBackupLease<T>(
    work: (signal: AbortSignal) => Promise<T>,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<T>

  /**
   * Exports a snapshot of the catalog as plain files into a new folder. Each namespace and table gets a folder with
   * JSON that describes it. The latest rows of each table are Arrow IPC files, which other tools can read. With
   * `history`, it exports the rows of every version of every branch, so that `importFrom` restores those, with tags and
   * branches. Folder names are safe for any file system; the JSON has the true names. Tables of Lance come
   * as files of Lance. Unreachable rows, and rows of another engine, are not exported: `withoutRows` names their tables.
   */
  exportTo(folder: string, options?: ExportOptions): Promise<ExportReport>

  /**
   * Imports an export in one atomic change: missing namespaces, and tables with their properties and those versions,
   * tags and branches that have rows in the export. `TableAlreadyExists` names a table that exists already.
   */
  importFrom(folder: string, options?: ImportOptions): Promise<ImportReport>
}

const cores = new WeakMap<object, Core>()

/** The core of a catalog that is open in this process. Fails with `Unsupported` for other catalogs. */
export function coreOf(catalog: Catalog): Core {
  const core = cores.get(catalog)
  if (core !== undefined) return core
  throw new CatalogError('Unsupported', 'This works on a catalog that openCatalog opened in this process.')
}

/**
 * The handle of an open catalog. `own` has further members. `runner` replaces the functions that run operations; such a
 * handle offers no state of its store.
 */
export function localHandle<Own extends object>(
  core: Core,
  own: Own = {} as Own,
  runner: Runner = runnerOf(core),
): LocalCatalog & Own {
  const backing = withMembers(runner, {
    watch: (request: WatchRequest | undefined) => watchChanges(core, request),
    title: () => `Catalog of ${shownLocation(core.contentRoots[0]!.url)}`,
    readStore: () => readRecord(core.store),
    startUpkeep: () => {
      if (!core.settings.readOnly) core.upkeep.wake()
    },
    close: async () => {
      core.feed.close()
      await core.sessions.close()
      await core.background?.stop()
      await core.upkeep.close()
      await core.closeEngines()
      await core.store.close()
    },
  })
  // Spreading `own` takes ten times as long.
  const members = Object.assign(own, {
    isCopy: core.settings.copy !== undefined,
    vacuum: async (options?: VacuumOptions) => {
      requireWritable(core, 'vacuum')
      return (await import('../catalog/maintenance/vacuum.ts')).vacuum(core, options)
    },
    verify: async (options?: VerifyOptions) =>
      (await import('../catalog/maintenance/verify/verify.ts')).verify(core, options),
    metrics: async () => (await import('../catalog/handle/metrics.ts')).metricsOf(core),
    backup: async (target: string, options?: BackupOptions) =>
      (await import('../catalog/maintenance/backup/backup.ts')).backup(core, target, options),
    withBackupLease: async <T>(
      work: (signal: AbortSignal) => Promise<T>,
      options?: { readonly signal?: AbortSignal | undefined },
    ) => {
      requireWritable(core, 'withBackupLease')
      return (await import('../catalog/maintenance/with-backup-lease.ts')).withBackupLease(
        core,
        work,
        options?.signal,
      )
    },
    exportTo: async (folder: string, options?: ExportOptions) =>
      (await import('../catalog/maintenance/plain-files/export.ts')).exportTo(core, folder, options),
    importFrom: async (folder: string, options?: ImportOptions) => {
      requireWritable(core, 'importFrom')
      return (await import('../catalog/maintenance/plain-files/import.ts')).importFrom(core, folder, options)
    },
  })
  const handle = createHandle(backing, members)
  cores.set(handle, core)
  return handle
}

function requireWritable({ settings }: Core, what: string): void {
  if (settings.readOnly) throw openedReadOnly(what, settings.copy)
}

type Runner = Omit<Backing, 'title' | 'close' | 'watch' | 'readStore' | 'startUpkeep' | 'transact'> &
  Required<Pick<Backing, 'transact'>>

function runnerOf(core: Core): Runner {
  const { settings } = core
  if (settings.readOnly) {
    return {
      run: (operation, request, options) =>
        operation.changes
          ? Promise.reject(openedReadOnly(operation.name, settings.copy))
          : runOperation(core, operation, request, options),
      transact: () => Promise.reject(openedReadOnly('transaction', settings.copy)),
      storeState: storeStateOf(core),
    }
  }
  return {
    run: (operation, request, options) => runOperation(core, operation, request, options),
    transact: async (work, options) =>
      (await import('../catalog/handle/transaction.ts')).transact(core, work, options),
    held: {
      serverOf: async (id, owner) => (await core.sessions.of(core)).serverOf(id, owner),
      serverEnded: async (id, server) => (await core.sessions.of(core)).serverEnded(id, server),
      refusal: async (id, owner) => (await core.sessions.of(core)).refusal(id, owner),
    },
    storeState: storeStateOf(core),
  }
}

/** None with an `authorize` hook: it decides at each call, so answers must not be cached. */
function storeStateOf({ store, settings }: Core): Backing['storeState'] {
  if (settings.authorize !== undefined) return undefined
  return () => (store.state === undefined ? unknownState : store.state())
}
