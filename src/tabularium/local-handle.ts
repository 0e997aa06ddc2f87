import { CatalogError } from '../base/errors.ts'
import { readRecord } from '../catalog/handle/catalog-record.ts'
import type { Core } from '../catalog/handle/core.ts'
import {
  type Backing,
  type Catalog,
  type CatalogMetrics,
  createHandle,
  type Transaction,
  type TransactionOptions,
  untoldState,
  type WatchRequest,
} from '../catalog/handle/handle.ts'
import { openedReadOnly } from '../catalog/handle/read-only.ts'
import { watchChanges } from '../catalog/handle/watch.ts'
import type { BackupOptions, BackupReport } from '../catalog/maintenance/backup/backup.ts'
import type { ExportOptions, ExportReport } from '../catalog/maintenance/plain-files/export.ts'
import type { ImportOptions, ImportReport } from '../catalog/maintenance/plain-files/import.ts'
import { type VacuumOptions, type VacuumReport, vacuum } from '../catalog/maintenance/vacuum.ts'
import type { VerifyOptions, VerifyReport } from '../catalog/maintenance/verify/report.ts'
import { runOperation } from '../catalog/operations/framework/run.ts'

/** A catalog that is in this process, on this machine's disk, or in a database. */
export interface LocalCatalog extends Catalog {
  /**
   * Runs `work` as one transaction, and answers with what `work` answers. Everything that it did through `tx` is
   * committed then, at once and durably; when it throws, nothing of it is.
   *
   * ```ts
   * await catalog.transaction(async (tx) => {
   *   await tx.insertIntoTable({ id: ['orders'], data: [{ user: 7, item: 'lamp' }] })
   *   await tx.deleteFromTable({ id: ['cart'], predicate: 'user = 7' })
   * })
   * ```
   *
   * - `tx` has every operation. It sees its own changes; nobody else sees them before the commit. Await each operation.
   *   What is called on `catalog` inside of `work`, or on another catalog, does not belong to the transaction.
   * - Transactions are serializable: what `work` read must read the same at the commit. When others changed it, `work`
   *   runs again, so it should do nothing but through `tx`. After `attempts` runs the transaction fails with
   *   `ConcurrentModification`.
   * - Inserts, deletes and changes of schema metadata do not conflict with those of others: they are put on top of
   *   them. So version numbers that they answer with inside of `work` may be higher after the commit.
   * - The transaction can be described and canceled by `tx.transactionId` while it runs. `signal` stops it.
   *
   * docs/transactions.md has more.
   */
  transaction<T>(work: (tx: Transaction) => T | Promise<T>, options?: TransactionOptions): Promise<T>

  /**
   * Whether the catalog's database is a copy of the one that it lives in, such as a dump that was restored elsewhere. Such
   * a catalog answers reads, and refuses every change. See docs/postgres.md.
   */
  readonly isCopy: boolean

  /**
   * Removes content that nothing reaches any more: what a crash, a lost race or a deleted version left
   * behind. Safe while others read and write.
   */
  vacuum(options?: VacuumOptions): Promise<VacuumReport>

  /**
   * Looks at everything the catalog holds: the file of the store, every record, and every bit of every object that a
   * version needs. The report names what is wrong, and where. Damage is reported, not thrown.
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
   * What the catalog counts and holds now, as plain numbers: commits, lost races, open transactions, the cache,
   * connections, the backlog of the upkeep. It walks no records, and answers within about 2 seconds, also when the store is
   * away: then `backlog` is undefined.
   *
   * ```ts
   * const { commits, lostRaces } = await catalog.metrics()
   * ```
   *
   * `/metrics` of a server tells the same.
   */
  metrics(): Promise<CatalogMetrics>

  /**
   * Copies the catalog into a folder that is not there yet, while others read and write: the copy is the
   * catalog as it was at one moment, and every batch is in it whole or not at all. The folder appears when all
   * is on disk. `openCatalog` opens it, and `restoreCatalog` brings it back.
   *
   * Content outside of the catalog's directory (`locationRoots`, other schemes) is not copied but told of as
   * `outside`; its records are. Catalogs in a directory only, `Unsupported` for others. `InvalidTableState`
   * names a file that is missing.
   */
  backup(target: string, options?: BackupOptions): Promise<BackupReport>

  /**
   * Runs work under a backup lease, and resolves to its result: until it ends, nothing removes content, whichever process
   * drops a table. So a tool of your own can copy the records first, such as by `pg_dump`, and the content afterwards. A
   * vacuum refuses to run meanwhile. What was dropped is removed at the end.
   *
   * The process renews the lease. When it could not for a minute, the signal that `work` was given is aborted, and this
   * fails with `ServiceUnavailable`: the copy may lack content. It fails with what `work` throws, too.
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
   * Writes the catalog, as it is at one moment, as plain files into a folder that is not there yet: a folder for
   * each namespace and table, JSON that tells what they are, and the latest rows of each table as Arrow IPC files
   * that other tools read. With `history`, the rows of every version of every branch, so that `importFrom` brings
   * those back, with tags and branches. Folders are named as safely as any file system asks; the JSON has the
   * true names. Rows that lie out of reach or are another engine's are not exported: `withoutRows` names them.
   */
  exportTo(folder: string, options?: ExportOptions): Promise<ExportReport>

  /**
   * Brings an export into this catalog, all of it in one change or nothing: namespaces as far as they are
   * missing, and tables with their properties and those versions, tags and branches that have rows in the export.
   * `TableAlreadyExists` names a table that is in the way.
   */
  importFrom(folder: string, options?: ImportOptions): Promise<ImportReport>
}

const cores = new WeakMap<object, Core>()

/** The inside of a catalog that is open in this process. Fails with `Unsupported` for others. */
export function coreOf(catalog: Catalog): Core {
  const core = cores.get(catalog)
  if (core !== undefined) return core
  throw new CatalogError('Unsupported', 'This works on a catalog that openCatalog opened in this process.')
}

/**
 * The handle of an open catalog. `running` stands between the handle and the operations, where something has to; such
 * a handle offers no state of its store.
 */
export function localHandle<Own extends object>(
  core: Core,
  own: Own = {} as Own,
  running: Running = runningOn(core),
): LocalCatalog & Own {
  const backing = {
    ...running,
    watch: (request: WatchRequest | undefined) => watchChanges(core, request),
    readStore: () => readRecord(core.store),
    close: async () => {
      core.feed.close()
      await core.sessions.close()
      await core.background?.stop()
      await core.upkeep.close()
      await core.closeEngines()
      await core.store.close()
    },
  }
  // To spread `own` takes ten times as long.
  const members = Object.assign(own, {
    isCopy: core.settings.copy !== undefined,
    vacuum: async (options?: VacuumOptions) => {
      requireWritable(core, 'vacuum')
      return vacuum(core, options)
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

type Running = Omit<Backing, 'close' | 'watch' | 'readStore' | 'transact'> &
  Required<Pick<Backing, 'transact'>>

function runningOn(core: Core): Running {
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
    run: (operation, request, options, done) => runOperation(core, operation, request, options, done),
    callsDone: true,
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

/** A hook decides each time anew, so no answer may be given again. */
function storeStateOf({ store, settings }: Core): Backing['storeState'] {
  if (settings.authorize !== undefined) return undefined
  return () => (store.state === undefined ? untoldState : store.state())
}
