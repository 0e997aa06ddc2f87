import type { Content } from '../../base/content/content.ts'
import { invalid } from '../../base/errors.ts'
import { idSource, secretIdSource } from '../../base/model/ids.ts'
import { keyedQueue } from '../../base/scheduling/keyed-queue.ts'
import { isRemote } from '../../base/scheduling/merge-ranges.ts'
import { semaphore } from '../../base/scheduling/semaphore.ts'
import type { CatalogRecord } from '../../base/store/records.ts'
import type { Store } from '../../base/store/store.ts'
import { wallClock } from '../../base/time.ts'
import { withMembers } from '../../base/with-members.ts'
import type { ContentCache, ContentCacheOptions } from '../../contents/cache/index.ts'
import { InlineContent } from '../locations/inline-objects.ts'
import type { ContentRoot } from '../locations/locations.ts'
import { checkedRule } from '../lookup/retention-rule.ts'
import { background } from '../rows/background.ts'
import { newCounts } from '../transactions/counts.ts'
import { Feed } from '../transactions/feed.ts'
import { Heartbeat } from '../transactions/heartbeat.ts'
import { markInterval, Upkeep } from '../transactions/upkeep.ts'
import type { CatalogOptions } from './catalog-options.ts'
import { checkRecord, createRecord, readRecord, removeRecord } from './catalog-record.ts'
import type { Core, Settings } from './core.ts'
import { engines } from './engines.ts'
import { copyOf, guardedStore, recordHome, warnOfCopy } from './home.ts'
import type { ReadOnlyOption } from './read-only.ts'
import { type SessionLimits, sessionLimitsOf } from './session-limits.ts'
import type { OpenSessions } from './sessions.ts'

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
    const cache =
      options.contentCache &&
      (await openCache(
        options.contentCache,
        catalog.id,
        opened.map(({ content }) => content),
      ))
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

/** Opens a cache for what is read of contents. Refuses one without use, or whose folder cannot be used. */
export async function openCache(
  options: ContentCacheOptions,
  owner: string,
  contents: readonly Content[],
): Promise<ContentCache> {
  if (!contents.some((content) => isRemote(content))) {
    throw invalid(
      'The option contentCache (--content-cache) keeps rows of object storage on local disk, and this catalog has its rows nearby. Leave the option out.',
    )
  }
  const { openContentCache } = await import('../../contents/cache/index.ts')
  return openContentCache(options, owner)
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
  const core: Core = withMembers(engines(options, now, cache), {
    store,
    catalog,
    contentRoots: roots,
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
    once: async (...given: Parameters<Core['once']>) => (await import('./once.ts')).runOnce(...given),
    sessions: sessionSource(sessionLimitsOf(options.openTransactions)),
    upkeep: new Upkeep({ store, now, heartbeat }, markInterval(settings.transactionCount), async () =>
      (await import('./upkeep-tasks.ts')).upkeepTasks(core),
    ),
  })
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

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error))
}

function settingsOf(options: CatalogOptions & ReadOnlyOption, copy: string | undefined): Settings {
  const arrowBytes = options.arrowBytes ?? 256 * 1024 * 1024
  return {
    readOnly: copy !== undefined || (options.readOnly ?? false),
    copy,
    managedVersioning: options.managedVersioning ?? false,
    format: options.format ?? 'arrow',
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
    retainDropped: Math.floor(options.retainDropped ?? 0),
    retention: checkedRule(options.retention),
  }
}
