import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Content } from '../base/content/content.ts'
import { CatalogError, invalid, unsupported } from '../base/errors.ts'
import type { MemorySnapshot } from '../base/memory/state.ts'
import { folderPath } from '../base/model/folder-path.ts'
import { isDatabaseUrl, shownLocation } from '../base/model/location.ts'
import { aBoolean, checkOptions, type OptionChecks, text } from '../base/model/options.ts'
import type { CatalogRecord } from '../base/store/records.ts'
import type { Store } from '../base/store/store.ts'
import type { Catalog, CatalogOptions, ContentRoot, Core, ReadOnlyOption } from '../catalog/index.ts'
import {
  catalogOptionChecks,
  folderUrl,
  makeCore,
  openCache,
  openCore,
  readRecord,
  requireNotInherited,
  tablesFolder,
} from '../catalog/local.ts'
import type { ClientOptions, ServedCatalog } from '../client/index.ts'
import type { MemoryStore } from '../stores/memory/index.ts'
import {
  contentRootAt,
  newContent,
  optionRoots,
  releaseContent,
  requireReachable,
  requireUsable,
} from './content-root.ts'
import { type LocalCatalog, localHandle } from './local-handle.ts'

export type { MemorySnapshot }

/** A catalog in memory. A fork or snapshot takes constant time, whatever the catalog's size. */
export interface MemoryCatalog extends LocalCatalog {
  /** An independent catalog with the present state of this one. */
  fork(): MemoryCatalog
  /** The present state of the catalog, for `restore`. */
  snapshot(): MemorySnapshot
  /** Resets the catalog to the state of a snapshot. */
  restore(snapshot: MemorySnapshot): void
}

/** Options of a catalog with its records in a directory. */
export interface DirectoryCatalogOptions extends CatalogOptions, ReadOnlyOption {
  /**
   * Where the rows are stored, if not in the directory: `s3://bucket/prefix`. The first opening stores it in the
   * catalog. Credentials come from the environment, as for the vendor's own tools. See docs/object-storage.md.
   */
  readonly content?: string
}

const directoryOptionChecks: OptionChecks<DirectoryCatalogOptions> = {
  ...catalogOptionChecks,
  content: text('a URL such as s3://bucket/prefix'),
  readOnly: aBoolean,
}

/** Options of a catalog with its records in a database. */
export interface DatabaseCatalogOptions extends CatalogOptions, ReadOnlyOption {
  /**
   * Where the rows are stored: a URL such as `s3://bucket/prefix` or `file:///folder`, or your own content. It is set
   * at the first opening. The catalog stores a URL, so later openings may leave it out.
   */
  readonly content?: Content | string
  /** The URL prefix of table locations, for a content without a URL. */
  readonly root?: string
}

const databaseOptionChecks: OptionChecks<DatabaseCatalogOptions> = {
  ...directoryOptionChecks,
  content: isContent,
  root: text('a URL such as archive://here/'),
}

function isContent(given: unknown): string | undefined {
  const isText = typeof given === 'string' && given !== ''
  return isText || typeof (given as Content | null)?.get === 'function'
    ? undefined
    : 'a URL such as s3://bucket/prefix, or an object with the methods of the Content interface'
}

/** A catalog over your own store and content. */
export interface CustomCatalogOptions extends CatalogOptions, ReadOnlyOption {
  readonly store: Store
  /** A content, or the URL of one, such as `s3://bucket/prefix`. */
  readonly content: Content | string
  /** The URL prefix of table locations. Default: that of the content, or `catalog://` and the catalog's id. */
  readonly root?: string
}

/**
 * Opens a catalog. `location` is `'memory:'`, a directory (a path or a `file:` URL), or the URL of a database
 * (`postgres://…`) or server (as for `connect` of `tabularium/client`). A missing directory is created. Or pass your
 * own store and content.
 *
 * A catalog on disk may be open in several processes. Acknowledged operations survive crashes of process and machine.
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
  checkOptions('openCatalog', options, location === 'memory:' ? catalogOptionChecks : directoryOptionChecks)
  if (location === 'memory:') return openMemory(options)
  const directory = typeof location === 'string' ? folderPath(location) : undefined
  // A relative path that begins like a URL is probably a misspelled `memory:`.
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

/** A catalog behind a server. Its maintenance runs on the server. */
async function openRemote(url: string, options: ClientOptions): Promise<LocalCatalog> {
  const { connect } = await import('../client/index.ts')
  const onServerOnly = (name: string) => async () => {
    throw new CatalogError(
      'Unsupported',
      `${name} works on the disk of a catalog; run it where the catalog lies.`,
    )
  }
  return Object.assign(connect(url, options), {
    // Only the server can detect a copy.
    isCopy: false,
    vacuum: onServerOnly('vacuum'),
    verify: onServerOnly('verify'),
    metrics: async () => {
      throw unsupported(
        'metrics tells of a catalog in this process.',
        'Ask /metrics of the server that has the catalog.',
      )
    },
    backup: onServerOnly('backup'),
    withBackupLease: onServerOnly('withBackupLease'),
    exportTo: onServerOnly('exportTo'),
    importFrom: onServerOnly('importFrom'),
  })
}

/** Opens the core of a catalog with its own root, which may depend on its record, and the roots of its options. */
async function openRoots(
  store: Store,
  ownRoot: (catalog: CatalogRecord, isCopy: boolean) => ContentRoot | Promise<ContentRoot>,
  options: CatalogOptions & ReadOnlyOption,
  fromOptions: readonly ContentRoot[],
  content?: string,
): Promise<Core> {
  const roots = async (catalog: CatalogRecord, isCopy: boolean) => {
    const all = [await ownRoot(catalog, isCopy), ...fromOptions]
    // A copy is read-only, so its roots need no checks.
    if (isCopy) return all
    await requireNotInherited(store, catalog, fromOptions)
    return requireUsable(all, catalog)
  }
  const given =
    content === undefined ? undefined : { url: content, leave: releaseContent.bind(undefined, content) }
  return openCore(store, roots, options, given)
}

/** Refuses a cache that the contents of a catalog have no use for, or whose folder cannot be used. */
async function requireCache(
  { contentCache }: CatalogOptions,
  own: Content | undefined,
  further: readonly ContentRoot[],
): Promise<void> {
  const contents = further.map(({ content }) => content)
  if (contentCache !== undefined) await openCache(contentCache, '', own ? [own, ...contents] : contents)
}

async function openMemory(options: CatalogOptions): Promise<MemoryCatalog> {
  if (options.format === 'lance') {
    throw invalid("The option format is 'lance', and Lance cannot write in memory. Open a directory.")
  }
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
  const roots = await optionRoots(options)
  return handleOf(await openRoots(store, (catalog) => memoryRoot(catalog, content), options, roots), store)
}

async function openDirectory(
  directory: string,
  { content, ...options }: DirectoryCatalogOptions,
): Promise<LocalCatalog> {
  const [{ holdsLmdbStore, openLmdbStore, storeFiles }, { fileContent }] = await Promise.all([
    import('../stores/lmdb/index.ts'),
    import('../contents/files/index.ts'),
  ])
  const { readOnly = false } = options
  const further = await optionRoots(options)
  const isThere = () => holdsLmdbStore(directory)
  // What a new catalog cannot use is refused before there is one.
  if (readOnly || (await isThere())) {
    if (content !== undefined) await requireReachable(content)
  } else {
    const own = content === undefined ? undefined : await newContent(content, isThere)
    await requireCache(options, own, further)
  }
  const store = await openLmdbStore(directory, { companions: [tablesFolder], readOnly })
  try {
    const root = await realpath(directory)
    const directoryRoot: ContentRoot = {
      url: folderUrl(root),
      alias: folderUrl(resolve(directory)),
      content: fileContent(root, () => store.requireInPlace()),
      reserved: new Set(storeFiles),
    }
    const ownRoot = (catalog: CatalogRecord) => {
      const url = content ?? catalog.content
      return url === undefined ? directoryRoot : contentRootAt(url, catalog)
    }
    return localHandle(await openRoots(store, ownRoot, options, further, content))
  } catch (error) {
    await store.close()
    throw error
  }
}

async function openDatabase(
  url: string,
  { content, root, ...options }: DatabaseCatalogOptions,
): Promise<LocalCatalog> {
  checkOptions('openCatalog', { content, root, ...options }, databaseOptionChecks)
  if (typeof content === 'string') await requireReachable(content)
  const { openPostgresStore } = await import('../stores/postgres/index.ts')
  const store = await openPostgresStore(url)
  try {
    const used = content ?? (await recordedContent(store))
    return await openCustom({ ...options, store, content: used, ...(root !== undefined && { root }) })
  } catch (error) {
    await store.close()
    throw error
  }
}

/** The content URL in the catalog's record. */
async function recordedContent(store: Store): Promise<string> {
  const { content } = (await readRecord(store)) ?? {}
  if (content !== undefined) return content
  throw invalid(
    'The database does not say where the rows of this catalog lie. Give the option content (--content of tabularium migrate or serve), such as s3://bucket/prefix; the catalog remembers it.',
  )
}

async function openCustom(options: CustomCatalogOptions): Promise<LocalCatalog> {
  if (typeof options.store?.read !== 'function' || options.content === undefined) {
    throw invalid('openCatalog needs both a store and a content; see the Store and Content interfaces.')
  }
  checkOptions('openCatalog', options, { ...databaseOptionChecks, store: () => {} })
  const { store, content, root } = options
  const isUrl = typeof content === 'string'
  if (isUrl && root !== undefined) {
    throw invalid(
      'Locations begin with the URL of the content. Leave out root, or give a content without URL.',
    )
  }
  const url = (catalog: CatalogRecord) =>
    root === undefined ? `catalog://${catalog.id}/` : `${root.replace(/\/+$/, '')}/`
  const ownRoot = (catalog: CatalogRecord, isCopy: boolean) =>
    isUrl
      ? contentRootAt(content, catalog, isCopy)
      : { url: url(catalog), content, reserved: new Set<string>() }
  const further = await optionRoots(options)
  if (!isUrl) await requireCache(options, content, further)
  return localHandle(await openRoots(store, ownRoot, options, further, isUrl ? content : undefined))
}
