import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { ClientOptions, ServedCatalog } from '../client.ts'
import type { Content } from '../content/content.ts'
import { CatalogError, invalid } from '../errors.ts'
import { type ContentRoot, folderUrl, tablesFolder } from '../locations/locations.ts'
import type { BackupOptions, BackupReport } from '../maintenance/backup/backup.ts'
import type { ExportOptions, ExportReport } from '../maintenance/plain-files/export.ts'
import type { ImportOptions, ImportReport } from '../maintenance/plain-files/import.ts'
import { type VacuumOptions, type VacuumReport, vacuum } from '../maintenance/vacuum.ts'
import type { VerifyOptions, VerifyReport } from '../maintenance/verify/report.ts'
import type { MemorySnapshot } from '../memory/state.ts'
import { folderPath } from '../model/folder-path.ts'
import { isDatabaseUrl, shownLocation } from '../model/location.ts'
import { type OptionNames, requireKnown } from '../model/options.ts'
import { runOperation } from '../operations/framework/run.ts'
import type { MemoryStore } from '../store/memory/index.ts'
import { type CatalogRecord, keys } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import { contentRootAt, furtherRoots, requireReachable, requireUsable } from './content-root.ts'
import type { Core } from './core.ts'
import {
  type Backing,
  type Catalog,
  createHandle,
  type Transaction,
  type TransactionOptions,
  untoldState,
} from './handle.ts'
import { type CatalogOptions, catalogOptionNames, makeCore, openCore } from './open-core.ts'
import { openedReadOnly, type ReadOnlyOption } from './read-only.ts'
import { watchChanges } from './watch.ts'

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

export type { MemorySnapshot }

/** A catalog that lives in memory. Copying one costs the same however much it holds. */
export interface MemoryCatalog extends LocalCatalog {
  /** A catalog of its own that begins with what this one holds now. */
  fork(): MemoryCatalog
  /** What the catalog holds now, to be put back later. */
  snapshot(): MemorySnapshot
  /** Puts back what the catalog held when the snapshot was taken. */
  restore(snapshot: MemorySnapshot): void
}

/** Options of a catalog whose records lie in a directory. */
export interface DirectoryCatalogOptions extends CatalogOptions, ReadOnlyOption {
  /**
   * Where the rows lie, if not in the directory: `s3://bucket/prefix`. The first opening decides; the catalog remembers
   * it. Credentials come from the environment, as for the vendor's own tools. See docs/object-storage.md.
   */
  readonly content?: string
}

const directoryOptionNames: OptionNames<DirectoryCatalogOptions> = {
  ...catalogOptionNames,
  content: true,
  readOnly: true,
}

/** Options of a catalog whose records lie in a database. */
export interface DatabaseCatalogOptions extends CatalogOptions, ReadOnlyOption {
  /**
   * Where the rows lie: a URL such as `s3://bucket/prefix` or `file:///folder`, or a content of your own. The first opening
   * decides; the catalog remembers a URL, so that it may be left out from then on.
   */
  readonly content?: Content | string
  /** The URL that tables' locations begin with, for a content without one. */
  readonly root?: string
}

const databaseOptionNames: OptionNames<DatabaseCatalogOptions> = {
  ...catalogOptionNames,
  content: true,
  root: true,
  readOnly: true,
}

/** A catalog over a store and a content of your own. */
export interface CustomCatalogOptions extends CatalogOptions, ReadOnlyOption {
  readonly store: Store
  /** A content, or the URL of one, such as `s3://bucket/prefix`. */
  readonly content: Content | string
  /** The URL that tables' locations begin with. Default: that of the content, or `catalog://` and the catalog's id. */
  readonly root?: string
}

/**
 * Opens a catalog: `'memory:'` for one in memory, a directory (a path or a `file:` URL) for one on disk, which
 * is created when it is missing, the URL of a database (`postgres://…`), the URL of a server (as `connect` of
 * `tabularium/client` does), or your own store and content.
 *
 * A catalog on disk may be open in several processes at once. What an operation acknowledged survives the end
 * of the process and of the machine.
 *
 * ```ts
 * await using catalog = await openCatalog('./catalog')
 * await catalog.createNamespace({ id: ['prod'] })
 * ```
 */
export async function openCatalog(location: 'memory:', options?: CatalogOptions): Promise<MemoryCatalog>
export async function openCatalog(
  location: `http://${string}` | `https://${string}`,
  options?: ClientOptions,
): Promise<ServedCatalog>
export async function openCatalog(
  location: `postgres://${string}` | `postgresql://${string}`,
  options?: DatabaseCatalogOptions,
): Promise<LocalCatalog>
export async function openCatalog(
  location: string | URL,
  options?: DirectoryCatalogOptions,
): Promise<LocalCatalog>
export async function openCatalog(options: CustomCatalogOptions): Promise<LocalCatalog>
export async function openCatalog(
  location: string | URL | CustomCatalogOptions,
  options: CatalogOptions & ClientOptions & { readonly content?: Content | string } = {},
): Promise<Catalog> {
  if (location instanceof URL) return openCatalog(location.href, options as DirectoryCatalogOptions)
  if (typeof location === 'string' && /^https?:/i.test(location)) return openRemote(location, options)
  if (typeof location === 'object' && location !== null) return openCustom(location)
  if (typeof location === 'string' && isDatabaseUrl(location)) return openDatabase(location, options)
  requireKnown('openCatalog', options, location === 'memory:' ? catalogOptionNames : directoryOptionNames)
  if (location === 'memory:') return openMemory(options)
  const directory = typeof location === 'string' ? folderPath(location) : undefined
  // A relative path that begins like a URL is more likely a misspelled `memory:`.
  if (!directory || /^[a-z][a-z\d+.-]+:/i.test(directory)) {
    throw invalid(
      `openCatalog cannot open ${shown(location)}. Give 'memory:', the path of a directory, the URL of a database or of a server, or { store, content }.`,
    )
  }
  return openDirectory(directory, options as DirectoryCatalogOptions)
}

function shown(location: unknown): string {
  return JSON.stringify(typeof location === 'string' ? shownLocation(location) : location)
}

/** A catalog behind a server; there, its upkeep is the server's affair. */
async function openRemote(url: string, options: ClientOptions): Promise<LocalCatalog> {
  const { connect } = await import('../client.ts')
  const elsewhere = (name: string) => async () => {
    throw new CatalogError(
      'Unsupported',
      `${name} works on the disk of a catalog; run it where the catalog lies.`,
    )
  }
  return Object.assign(connect(url, options), {
    vacuum: elsewhere('vacuum'),
    verify: elsewhere('verify'),
    backup: elsewhere('backup'),
    exportTo: elsewhere('exportTo'),
    importFrom: elsewhere('importFrom'),
  })
}

async function openMemory(options: CatalogOptions): Promise<MemoryCatalog> {
  const { memoryParts, memoryRoot } = await import('./memory.ts')
  const further = await furtherRoots(options)
  const handleOf = (core: Core, store: MemoryStore): MemoryCatalog =>
    Object.assign(localHandle(core), {
      fork: () => {
        const forked = memoryParts(store.snapshot())
        const roots = [memoryRoot(core.catalog, forked.content), ...further]
        return handleOf(makeCore(forked.store, core.catalog, roots, options), forked.store)
      },
      snapshot: () => store.snapshot(),
      restore: (snapshot: MemorySnapshot) => store.restore(snapshot),
    })
  const { store, content } = memoryParts()
  const core = await openCore(
    store,
    (catalog) => requireUsable([memoryRoot(catalog, content), ...further], catalog),
    options,
  )
  return handleOf(core, store)
}

async function openDirectory(
  directory: string,
  { content, ...options }: DirectoryCatalogOptions,
): Promise<LocalCatalog> {
  if (content !== undefined) await requireReachable(content)
  const [{ openLmdbStore, storeFiles }, { fileContent }] = await Promise.all([
    import('../store/lmdb/index.ts'),
    import('../content/files/index.ts'),
  ])
  const { readOnly = false } = options
  const store = await openLmdbStore(directory, { companions: [tablesFolder], readOnly })
  try {
    const root = await realpath(directory)
    const own: ContentRoot = {
      url: folderUrl(root),
      alias: folderUrl(resolve(directory)),
      content: fileContent(root),
      reserved: new Set(storeFiles),
    }
    const further = await furtherRoots(options)
    const ownRoot = (catalog: CatalogRecord) => {
      const url = content ?? catalog.content
      return url === undefined ? own : contentRootAt(url, catalog)
    }
    return localHandle(
      await openCore(
        store,
        async (catalog) => requireUsable([await ownRoot(catalog), ...further], catalog),
        options,
        content,
      ),
    )
  } catch (error) {
    await store.close()
    throw error
  }
}

async function openDatabase(
  url: string,
  { content, root, ...options }: DatabaseCatalogOptions,
): Promise<LocalCatalog> {
  requireKnown('openCatalog', { content, root, ...options }, databaseOptionNames)
  if (typeof content === 'string') await requireReachable(content)
  const { openPostgresStore } = await import('../store/postgres/index.ts')
  const store = await openPostgresStore(url)
  try {
    const at = content ?? (await rememberedContent(store))
    return await openCustom({ ...options, store, content: at, ...(root !== undefined && { root }) })
  } catch (error) {
    await store.close()
    throw error
  }
}

/** The content that a catalog was given when it was new. */
async function rememberedContent(store: Store): Promise<string> {
  const { content } = (await store.read((reader) => reader.get<CatalogRecord>(keys.catalog))) ?? {}
  if (content !== undefined) return content
  throw invalid(
    'The database does not say where the rows of this catalog lie. Give the option content (--content of tabularium migrate or serve), such as s3://bucket/prefix; the catalog remembers it.',
  )
}

async function openCustom(options: CustomCatalogOptions): Promise<LocalCatalog> {
  requireKnown('openCatalog', options, {
    store: true,
    content: true,
    root: true,
    readOnly: true,
    ...catalogOptionNames,
  })
  const { store, content, root } = options
  const isUrl = typeof content === 'string'
  if (typeof store?.read !== 'function' || !(isUrl || typeof content?.get === 'function')) {
    throw invalid('openCatalog needs both a store and a content; see the Store and Content interfaces.')
  }
  if (isUrl && root !== undefined) {
    throw invalid(
      'Locations begin with the URL of the content. Leave out root, or give a content without URL.',
    )
  }
  const url = (catalog: CatalogRecord) =>
    root === undefined ? `catalog://${catalog.id}/` : `${root.replace(/\/+$/, '')}/`
  const further = await furtherRoots(options)
  const own = (catalog: CatalogRecord): ContentRoot | Promise<ContentRoot> =>
    isUrl ? contentRootAt(content, catalog) : { url: url(catalog), content, reserved: new Set() }
  return localHandle(
    await openCore(
      store,
      async (catalog) => requireUsable([await own(catalog), ...further], catalog),
      options,
      isUrl ? content : undefined,
    ),
  )
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
export function localHandle(
  core: Core,
  running: Omit<Backing, 'close' | 'watch'> = runningOn(core),
): LocalCatalog {
  const handle = createHandle({
    ...running,
    watch: (request) => watchChanges(core, request),
    close: async () => {
      core.feed.close()
      await core.sessions.close()
      await core.background?.stop()
      await core.upkeep.close()
      await core.closeEngines()
      await core.store.close()
    },
  })
  cores.set(handle, core)
  return Object.assign(handle as typeof handle & Required<Pick<typeof handle, 'transaction'>>, {
    vacuum: async (options?: VacuumOptions) => {
      requireWritable(core, 'vacuum')
      return vacuum(core, options)
    },
    verify: async (options?: VerifyOptions) =>
      (await import('../maintenance/verify/verify.ts')).verify(core, options),
    backup: async (target: string, options?: BackupOptions) =>
      (await import('../maintenance/backup/backup.ts')).backup(core, target, options),
    exportTo: async (folder: string, options?: ExportOptions) =>
      (await import('../maintenance/plain-files/export.ts')).exportTo(core, folder, options),
    importFrom: async (folder: string, options?: ImportOptions) => {
      requireWritable(core, 'importFrom')
      return (await import('../maintenance/plain-files/import.ts')).importFrom(core, folder, options)
    },
  })
}

function requireWritable({ settings }: Core, what: string): void {
  if (settings.readOnly) throw openedReadOnly(what)
}

function runningOn(core: Core): Omit<Backing, 'close' | 'watch'> {
  const { settings } = core
  if (settings.readOnly) {
    return {
      run: (operation, request, options) =>
        operation.changes
          ? Promise.reject(openedReadOnly(operation.name))
          : runOperation(core, operation, request, options),
      transact: () => Promise.reject(openedReadOnly('transaction')),
      storeState: storeStateOf(core),
    }
  }
  return {
    run: (operation, request, options) => runOperation(core, operation, request, options),
    transact: async (work, options) => (await import('./transaction.ts')).transact(core, work, options),
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
