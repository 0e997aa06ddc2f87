import { invalid } from '../../base/errors.ts'
import { idSource, secretIdSource } from '../../base/model/ids.ts'
import type { OptionNames } from '../../base/model/options.ts'
import { keyedQueue } from '../../base/scheduling/keyed-queue.ts'
import { isRemote } from '../../base/scheduling/merge-ranges.ts'
import { semaphore } from '../../base/scheduling/semaphore.ts'
import type { CatalogRecord } from '../../base/store/records.ts'
import type { Store } from '../../base/store/store.ts'
import { wallClock } from '../../base/time.ts'
import type { ContentCache, ContentCacheOptions } from '../../contents/cache/index.ts'
import type { StorageOptionsHook } from '../locations/context.ts'
import { InlineContent } from '../locations/inline-objects.ts'
import type { ContentRoot } from '../locations/locations.ts'
import type { AuthorizeHook } from '../lookup/access.ts'
import { checkedRule, type RetentionRule } from '../lookup/retention-rule.ts'
import { type BackgroundOptimize, background } from '../rows/background.ts'
import { formatNamed, type TableEngineName } from '../rows/format.ts'
import { newCounts } from '../transactions/counts.ts'
import { Feed } from '../transactions/feed.ts'
import { Heartbeat } from '../transactions/heartbeat.ts'
import { markInterval, Upkeep } from '../transactions/upkeep.ts'
import { checkRecord, createRecord, readRecord, removeRecord } from './catalog-record.ts'
import type { Core, Settings } from './core.ts'
import { engines } from './engines.ts'
import { copyOf, guardedStore, recordHome, warnOfCopy } from './home.ts'
import type { LanceRunOptions } from './lance-options.ts'
import type { ReadOnlyOption } from './read-only.ts'
import { type OpenTransactionOptions, type SessionLimits, sessionLimitsOf } from './session-limits.ts'
import type { OpenSessions } from './sessions.ts'

/** How a catalog behaves; everything has a default. */
export interface CatalogOptions {
  /** Asked before every operation whether it may run. Default: everything may. */
  readonly authorize?: AuthorizeHook
  /** Gives clients what they need to reach a table's location, when they ask for it. Default: nothing. */
  readonly storageOptions?: StorageOptionsHook
  /**
   * Whether clients of Lance are to keep table versions through the catalog. Applies to tables whose versions it can
   * publish: below its own root and `locationRoots`. Default: false.
   */
  readonly managedVersioning?: boolean
  /**
   * Who writes the rows of new tables: this catalog as `'arrow'` files, or Lance, by the package `@lancedb/lancedb`. The
   * property `format` of a table says so for that one. Default: `'arrow'`.
   */
  readonly format?: TableEngineName
  /**
   * How Lance's package runs: with `isolate: true` in a process of its own, so that a crash there ends one request.
   * Default: in this process. The command `serve` isolates it. See docs/lance.md.
   */
  readonly lance?: LanceRunOptions
  /**
   * Folders, besides the catalog's own, in which `file:` locations are read, written and removed. URLs of object storage,
   * such as `s3://bucket/prefix`, do the same for locations below them. A location elsewhere is kept as a name only.
   * Default: none.
   */
  readonly locationRoots?: readonly string[]
  /**
   * The URL below which the catalog chooses locations for new tables; those there are stay where they are.
   * Default: its own root. The URL may lie outside of the catalog's root and of `locationRoots`: tables can then be
   * declared for clients that write there, but not created with rows.
   */
  readonly tableRoot?: string
  /** How long the record of a transaction is kept, in milliseconds. Default: 7 days. */
  readonly transactionAge?: number
  /** About how many records of transactions are kept. Default: 100,000. */
  readonly transactionCount?: number
  /** Most bytes of rows in one request. Default: 256 MiB. */
  readonly arrowBytes?: number
  /**
   * Most bytes of these rows once they are decoded: a few compressed bytes may stand for any number of them.
   * Default: 1 GiB, and at least `arrowBytes`.
   */
  readonly decodedBytes?: number
  /** Most bytes of rows in one answer of `queryTable`; more are to be asked for in parts. Default: 2 GiB. */
  readonly resultBytes?: number
  /** Most columns, aliases and expressions that one query may ask for. Default: 10,000. */
  readonly queryColumns?: number
  /** Most keys that one query may sort by. Those that follow the same column again do not count. Default: 64. */
  readonly orderKeys?: number
  /**
   * Most bytes of new values that one update, merge or change of columns may write beyond as many as the table holds:
   * a short expression may stand for any number of them. More are refused before anything is written. Default: 512 MiB.
   */
  readonly growthBytes?: number
  /** Bytes of table content kept decoded in memory. Default: 256 MiB. */
  readonly cacheBytes?: number
  /**
   * Keeps what is read of rows in object storage in a folder on local disk, too, up to a number of bytes. Several
   * processes may share the folder. Default: nothing is kept there. See docs/object-storage.md.
   */
  readonly contentCache?: ContentCacheOptions
  /**
   * Worker threads that scan tables of several million rows on disk, and compute new columns of them, so that other work
   * goes on meanwhile. They start once scans took as long as starting them does, and share in `cacheBytes`. With 0, the main thread scans in
   * slices. Default: one for each processor, 4 at most, and none on a machine with only one.
   */
  readonly threads?: number
  /** Bounds of the transactions that `beginTransaction` begins in this process. */
  readonly openTransactions?: OpenTransactionOptions
  /**
   * How many operations work on rows, to change them, at the same time; others are Queued. One that has written its version
   * and waits for its commit does not count. Default: 16.
   */
  readonly concurrency?: number
  /**
   * Whether the catalog optimizes tables that change much, as `optimizeTable` does. `'background'` looks at a table
   * every 64 versions and merges its small fragments while others go on reading and writing. It leaves large fragments
   * alone when merging would add little to them. Default: `'off'`.
   */
  readonly optimize?: 'off' | 'background' | BackgroundOptimize
  /**
   * How long dropped tables are held, in milliseconds. `listDroppedTables` lists them, `undropTable` brings one back, and
   * `purgeTable` removes one at once. The upkeep removes those whose time is over, and so does `vacuum`. Default: 0, so
   * that a drop removes a table for good.
   */
  readonly retainDropped?: number
  /**
   * Which versions of tables stay: the newest `versions` of each branch, and those that were replaced less than `age` ago,
   * in milliseconds. The upkeep removes the others, and so does `vacuum`; tags and branches keep theirs. Properties of a
   * table may say otherwise. Default: all stay.
   */
  readonly retention?: RetentionRule
  /** Called with errors of work that no caller waits for. Default: a process warning. */
  readonly onError?: (error: unknown) => void
  /** Returns the time in milliseconds since the epoch. Default: the clock of the database, or else the system's. */
  readonly now?: () => number
  /**
   * Makes internal ids and transaction ids, later ones sorting after earlier ones. The location of a table shows its id,
   * so ids that can be guessed are for tests only. Default: ULIDs, those of tables with random bits of their own.
   */
  readonly newId?: () => string
}

export const catalogOptionNames: OptionNames<CatalogOptions> = {
  authorize: true,
  storageOptions: true,
  managedVersioning: true,
  format: true,
  lance: true,
  locationRoots: true,
  tableRoot: true,
  transactionAge: true,
  transactionCount: true,
  arrowBytes: true,
  decodedBytes: true,
  resultBytes: true,
  queryColumns: true,
  orderKeys: true,
  growthBytes: true,
  cacheBytes: true,
  contentCache: true,
  threads: true,
  openTransactions: true,
  concurrency: true,
  optimize: true,
  retainDropped: true,
  retention: true,
  onError: true,
  now: true,
  newId: true,
}

const day = 24 * 60 * 60 * 1000

/** The content that a catalog is opened with, by its URL. */
export interface GivenContent {
  readonly url: string
  /** Undoes what opening a new catalog left there. */
  readonly leave: (catalog: CatalogRecord) => Promise<void>
}

/**
 * Opens the parts of a catalog over a store and its content roots, the catalog's own root first. A new catalog records
 * the URL of its content, if one is given. For any other catalog, it must be the recorded one.
 */
export async function openCore(
  store: Store,
  roots: (
    catalog: CatalogRecord,
    isCopy: boolean,
  ) => readonly ContentRoot[] | Promise<readonly ContentRoot[]>,
  options: CatalogOptions & ReadOnlyOption,
  content?: GivenContent,
): Promise<Core> {
  const now = clockOf(store, options)
  const found = await readRecord(store)
  if (found === undefined && options.readOnly) {
    throw invalid(
      'There is no catalog to read. Check the location, or open it without readOnly to begin one.',
    )
  }
  const { catalog, isNew } =
    found === undefined ? await createRecord(store, now, content?.url) : { catalog: found, isNew: false }
  const copy = copyOf(catalog, store.home?.())
  checkRecord(catalog, content?.url, copy !== undefined)
  try {
    const opened = await roots(catalog, copy !== undefined)
    const cache = options.contentCache && (await openCache(options.contentCache, catalog, opened))
    if (copy !== undefined) warnOfCopy(copy)
    else if (!options.readOnly) await recordHome(store, catalog)
    const guarded = guardedStore(store, catalog, copy)
    return makeCore(guarded, catalog, opened, options, { cache, copy })
  } catch (error) {
    if (isNew && content !== undefined) await abandon(store, catalog, content)
    throw error
  }
}

/**
 * Undoes the creation of a catalog whose content cannot be used. It may then be opened with another content, and
 * another catalog may use this one. If the claim to the content cannot be undone, the record stays, too.
 */
async function abandon(store: Store, catalog: CatalogRecord, content: GivenContent): Promise<void> {
  try {
    await content.leave(catalog)
    await removeRecord(store, catalog)
  } catch {
    // The caller gets the error of the content.
  }
}

async function openCache(
  options: ContentCacheOptions,
  catalog: CatalogRecord,
  roots: readonly ContentRoot[],
): Promise<ContentCache> {
  if (!roots.some(({ content }) => isRemote(content))) {
    throw invalid(
      'The option contentCache (--content-cache) keeps rows of object storage on local disk, and this catalog has its rows nearby. Leave the option out.',
    )
  }
  const { openContentCache } = await import('../../contents/cache/index.ts')
  return openContentCache(options, catalog.id)
}

/** The clock of leases and records: that of the store if it has one, since the clocks of its machines may differ. */
function clockOf(store: Store, { now }: CatalogOptions): () => number {
  return now ?? (store.now === undefined ? wallClock : () => store.now!())
}

/** Joins the parts of an open catalog. */
export function makeCore(
  store: Store,
  catalog: CatalogRecord,
  given: readonly ContentRoot[],
  options: CatalogOptions & ReadOnlyOption,
  { cache, copy }: { readonly cache?: ContentCache | undefined; readonly copy?: string | undefined } = {},
): Core {
  const now = clockOf(store, options)
  const roots = withInline(store, given)
  const settings = settingsOf(options, copy)
  const heartbeat = new Heartbeat(store, now)
  const core: Core = {
    store,
    catalog,
    contentRoots: roots,
    ...engines(options, now, cache),
    now,
    newId: options.newId ?? idSource(now),
    newTableId: options.newId ?? secretIdSource(now),
    settings,
    running: new Map(),
    counts: newCounts(),
    heartbeat,
    feed: new Feed(store, catalog),
    inTurn: keyedQueue(),
    branches: new Map(),
    contended: new Map(),
    versionRows: new Map(),
    slots: semaphore(options.concurrency ?? 16),
    once: async (...given) => (await import('./once.ts')).runOnce(...given),
    sessions: sessionSource(sessionLimitsOf(options.openTransactions)),
    upkeep: new Upkeep({ store, now, heartbeat }, markInterval(settings.transactionCount), async () =>
      (await import('./upkeep-tasks.ts')).upkeepTasks(core),
    ),
  }
  const { optimize = 'off', onError = warn } = options
  if (optimize === 'off' || settings.readOnly) return core
  return { ...core, background: background(core, optimize === 'background' ? {} : optimize, onError) }
}

/** The content roots; the catalog's own one has inline objects, if the store keeps any. */
function withInline(store: Store, [own, ...others]: readonly ContentRoot[]): readonly ContentRoot[] {
  if (own === undefined || !store.features.inlineBytes) return own === undefined ? [] : [own, ...others]
  return [{ ...own, content: new InlineContent(own.content, store) }, ...others]
}

/** Loads the sessions when they are first needed: most catalogs never use any. */
function sessionSource(limits: SessionLimits): Core['sessions'] {
  let loaded: Promise<OpenSessions> | undefined
  return {
    // They outlive the request that needs them first.
    of: ({ origin: _, access: __, ...core }) => {
      loaded ??= import('./sessions.ts').then(({ OpenSessions }) => new OpenSessions(core, limits))
      return loaded
    },
    close: async () => {
      const open = loaded
      loaded = undefined
      await (await open)?.close()
    },
  }
}

/** Checks how long dropped tables are held: `NaN` would hold them until a time that never comes, or is past. */
function heldMillis(given = 0): number {
  if (typeof given === 'number' && given >= 0 && given <= longestHeld) return Math.floor(given)
  throw invalid(
    `retainDropped is ${String(given)}; it is a number of milliseconds from 0 to ${longestHeld.toLocaleString('en')}, which are ten years.`,
  )
}

const longestHeld = 3650 * day

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error))
}

function settingsOf(options: CatalogOptions & ReadOnlyOption, copy: string | undefined): Settings {
  const arrowBytes = options.arrowBytes ?? 256 * 1024 * 1024
  return {
    readOnly: copy !== undefined || (options.readOnly ?? false),
    copy,
    managedVersioning: options.managedVersioning ?? false,
    format: formatNamed(options.format),
    storageOptions: options.storageOptions,
    authorize: options.authorize,
    tableRoot: options.tableRoot?.replace(/\/+$/, ''),
    arrowBytes,
    decodedBytes: options.decodedBytes ?? Math.max(1024 * 1024 * 1024, arrowBytes),
    resultBytes: options.resultBytes ?? 2048 * 1024 * 1024,
    queryColumns: options.queryColumns ?? 10_000,
    orderKeys: options.orderKeys ?? 64,
    transactionAge: options.transactionAge ?? 7 * day,
    transactionCount: options.transactionCount ?? 100_000,
    retainDropped: heldMillis(options.retainDropped),
    retention: checkedRule(options.retention),
  }
}
