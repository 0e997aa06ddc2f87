import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Content } from '../base/content/content.ts'
import { CatalogError, invalid } from '../base/errors.ts'
import type { MemorySnapshot } from '../base/memory/state.ts'
import { folderPath } from '../base/model/folder-path.ts'
import { isDatabaseUrl, shownLocation } from '../base/model/location.ts'
import { type OptionNames, requireKnown } from '../base/model/options.ts'
import type { CatalogRecord } from '../base/store/records.ts'
import type { Store } from '../base/store/store.ts'
import { readRecord } from '../catalog/handle/catalog-record.ts'
import type { Core } from '../catalog/handle/core.ts'
import type { Catalog } from '../catalog/handle/handle.ts'
import { type CatalogOptions, catalogOptionNames, makeCore, openCore } from '../catalog/handle/open-core.ts'
import type { ReadOnlyOption } from '../catalog/handle/read-only.ts'
import { requireNotInherited } from '../catalog/locations/inherited.ts'
import { type ContentRoot, folderUrl, tablesFolder } from '../catalog/locations/locations.ts'
import type { ClientOptions, ServedCatalog } from '../client/index.ts'
import type { MemoryStore } from '../stores/memory/index.ts'
import { contentRootAt, furtherRoots, leaveContent, requireReachable, requireUsable } from './content-root.ts'
import { type LocalCatalog, localHandle } from './local-handle.ts'

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
  const { connect } = await import('../client/index.ts')
  const elsewhere = (name: string) => async () => {
    throw new CatalogError(
      'Unsupported',
      `${name} works on the disk of a catalog; run it where the catalog lies.`,
    )
  }
  return Object.assign(connect(url, options), {
    // Its server knows.
    isCopy: false,
    vacuum: elsewhere('vacuum'),
    verify: elsewhere('verify'),
    metrics: async () => {
      throw new CatalogError(
        'Unsupported',
        'metrics tells of a catalog in this process. Ask /metrics of the server that has the catalog.',
      )
    },
    backup: elsewhere('backup'),
    withBackupLease: elsewhere('withBackupLease'),
    exportTo: elsewhere('exportTo'),
    importFrom: elsewhere('importFrom'),
  })
}

/** Opens the parts of a catalog over its own root, which may depend on its record, and the roots that options name. */
async function openOver(
  store: Store,
  own: (catalog: CatalogRecord, isCopy: boolean) => ContentRoot | Promise<ContentRoot>,
  options: CatalogOptions & ReadOnlyOption,
  content?: string,
): Promise<Core> {
  const further = await furtherRoots(options)
  const roots = async (catalog: CatalogRecord, isCopy: boolean) => {
    const all = [await own(catalog, isCopy), ...further]
    // A copy writes nothing, and so tries nothing.
    if (isCopy) return all
    await requireNotInherited(store, catalog, further)
    return requireUsable(all, catalog)
  }
  const given =
    content === undefined ? undefined : { url: content, leave: leaveContent.bind(undefined, content) }
  return openCore(store, roots, options, given)
}

async function openMemory(options: CatalogOptions): Promise<MemoryCatalog> {
  const { memoryParts, memoryRoot } = await import('./memory.ts')
  const handleOf = (core: Core, store: MemoryStore): MemoryCatalog =>
    localHandle(core, {
      fork: () => {
        const forked = memoryParts(store.snapshot())
        const roots = [memoryRoot(core.catalog, forked.content), ...core.contentRoots.slice(1)]
        return handleOf(makeCore(forked.store, core.catalog, roots, options), forked.store)
      },
      snapshot: () => store.snapshot(),
      restore: (snapshot: MemorySnapshot) => store.restore(snapshot),
    })
  const { store, content } = memoryParts()
  return handleOf(await openOver(store, (catalog) => memoryRoot(catalog, content), options), store)
}

async function openDirectory(
  directory: string,
  { content, ...options }: DirectoryCatalogOptions,
): Promise<LocalCatalog> {
  if (content !== undefined) await requireReachable(content)
  const [{ openLmdbStore, storeFiles }, { fileContent }] = await Promise.all([
    import('../stores/lmdb/index.ts'),
    import('../contents/files/index.ts'),
  ])
  const { readOnly = false } = options
  const store = await openLmdbStore(directory, { companions: [tablesFolder], readOnly })
  try {
    const root = await realpath(directory)
    const own: ContentRoot = {
      url: folderUrl(root),
      alias: folderUrl(resolve(directory)),
      content: fileContent(root, () => store.requireInPlace()),
      reserved: new Set(storeFiles),
    }
    const ownRoot = (catalog: CatalogRecord) => {
      const url = content ?? catalog.content
      return url === undefined ? own : contentRootAt(url, catalog)
    }
    return localHandle(await openOver(store, ownRoot, options, content))
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
  const { openPostgresStore } = await import('../stores/postgres/index.ts')
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
  const { content } = (await readRecord(store)) ?? {}
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
  const own = (catalog: CatalogRecord, isCopy: boolean) =>
    isUrl
      ? contentRootAt(content, catalog, isCopy)
      : { url: url(catalog), content, reserved: new Set<string>() }
  return localHandle(await openOver(store, own, options, isUrl ? content : undefined))
}
