import { randomBytes } from 'node:crypto'
import type { Content } from '../base/content/content.ts'
import { CatalogError, invalid, unsupported } from '../base/errors.ts'
import { isOtherHome, type StoreHome } from '../base/store/home.ts'
import { type CatalogRecord, keys } from '../base/store/records.ts'
import type { Store, Writer } from '../base/store/store.ts'
import { wallClock } from '../base/time.ts'
import type { AdoptCounts, AdoptReport } from '../catalog/index.ts'
import { checkRecord, makeCore, placeOf, readRecord } from '../catalog/local.ts'

export interface AdoptOptions {
  /**
   * States that the database is a copy. Needed for copies that cannot be detected: physical ones, such as disk
   * snapshots, and those of catalogs last written by an old release, which recorded no database. Default: false.
   */
  readonly isCopy?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  /** Called with the progress after each object. */
  readonly onProgress?: ((report: AdoptReport) => void) | undefined
}

/**
 * Turns a copy of a catalog, such as a dump restored into another database, into an independent catalog: with its own
 * id, and its content at `url`. Objects that are already there stay. Others are copied from the original's content,
 * which is not changed. Before, close the copy wherever it is open, and reopen it afterwards.
 *
 * After an interruption, run it again. The copy stays readable until all objects are there, and then changes in one
 * transaction. `InvalidTableState` names a missing object. `InvalidInput` when the database is not a copy.
 *
 * ```ts
 * await adoptContent('postgres://owner@staging.example/tables', 's3://staging/prefix')
 * ```
 */
export async function adoptContent(
  location: string,
  url: string,
  options: AdoptOptions = {},
): Promise<AdoptReport> {
  const { openPostgresStore } = await import('../stores/postgres/index.ts')
  const store = await openPostgresStore(location)
  try {
    return await adopt(store, url, options)
  } finally {
    await store.close()
  }
}

async function adopt(store: Store, url: string, options: AdoptOptions): Promise<AdoptReport> {
  const { signal, onProgress } = options
  const original = await requireRecord(store)
  const report: AdoptCounts = { content: url, tables: 0, objects: 0, copied: 0, bytes: 0, elsewhere: 0 }
  const isCopy = isOtherHome(original.home, store.home?.())
  if (!isCopy && placeOf(original.content) === placeOf(url)) return report
  if (!isCopy && options.isCopy !== true) throw notACopy()
  const from = requireDisjoint(original, url)
  const { id, isBegun } = await recordAdoption(store, original, url)
  const target = await adoptedContent(url, { original: original.id, copy: id }, isBegun)
  const source = await originalContent(from, original.id, target)
  const coreWith = (content: Content) =>
    makeCore(store, original, [{ url: source.root, content, reserved: new Set() }], { threads: 0 })
  const contents = { target: target.content, source: source.content }
  const { fillContent, moveRecords } = await import('../catalog/maintenance/adopt/adopt.ts')
  await fillContent(coreWith, contents, report, { signal, onProgress: () => onProgress?.({ ...report }) })
  signal?.throwIfAborted()
  await target.claim()
  const { contentRoots } = coreWith(target.content)
  await store.write(adoptionWrite(store, id, url, (writer) => moveRecords(writer, contentRoots, target.root)))
  return report
}

/** The write that makes a copy an independent catalog. */
function adoptionWrite(store: Store, id: string, url: string, move: (writer: Writer) => void) {
  const secret = randomBytes(16).toString('hex')
  const home = store.home?.()
  const now = store.now?.() ?? wallClock()
  return (writer: Writer) => {
    const { adopting, ...record } = writer.get<CatalogRecord>(keys.catalog)!
    // Another run with the same content has finished first.
    if (record.id === id) return
    if (adopting?.id !== id) {
      throw new CatalogError(
        'ConcurrentModification',
        'The copy was given to another content meanwhile. Look which one it has, and do this again if it is not the right one.',
      )
    }
    move(writer)
    const identity = { id, secret, content: url, adopted_at: now, ...(home !== undefined && { home }) }
    writer.put(keys.catalog, { ...record, ...identity })
  }
}

/** Records the future id of a copy, so that later runs continue with it. A run with another content starts over. */
async function recordAdoption(
  store: Store,
  original: CatalogRecord,
  content: string,
): Promise<{ readonly id: string; readonly isBegun: boolean }> {
  const newId = randomBytes(8).toString('hex')
  return store.write((writer) => {
    const { adopting, ...record } = writer.get<CatalogRecord>(keys.catalog)!
    if (record.id !== original.id) throw idChanged()
    if (adopting?.content === content) return { id: adopting.id, isBegun: true }
    writer.put(keys.catalog, { ...record, adopting: { id: newId, content } })
    return { id: newId, isBegun: false }
  })
}

/**
 * Makes a copied database the home of its catalog, which keeps its content. Use it after a move. The original database
 * must be gone for good, or both would remove each other's rows. `InvalidInput` when it still exists on the same
 * server. Returns whether anything was changed.
 *
 * ```ts
 * await keepContent('postgres://owner@new.example/tables')
 * ```
 */
export async function keepContent(location: string): Promise<boolean> {
  const { originalExists, openPostgresStore } = await import('../stores/postgres/index.ts')
  const store = await openPostgresStore(location)
  try {
    const found = await requireRecord(store)
    const here = store.home?.()
    if (!isOtherHome(found.home, here)) return false
    if (here !== undefined && (await originalExists(location, found.home!, here)))
      throw invalid(
        `The database that this one was copied from is still there, on the same server (${describe(found.home!)}). Drop it first; or give this copy rows of its own by --adopt-content.`,
      )
    return await store.write((writer) => {
      const { adopting: _, home: __, ...record } = writer.get<CatalogRecord>(keys.catalog)!
      if (record.id !== found.id) throw idChanged()
      writer.put(keys.catalog, { ...record, ...(here !== undefined && { home: here }) })
      return true
    })
  } finally {
    await store.close()
  }
}

function describe(home: StoreHome): string {
  return Object.entries(home)
    .map(([fact, number]) => `${fact} ${number}`)
    .join(', ')
}

async function requireRecord(store: Store): Promise<CatalogRecord> {
  const record = await readRecord(store)
  if (record === undefined) {
    throw invalid(
      'There is no catalog in this database. Check the URL; --content of migrate makes a new one.',
    )
  }
  checkRecord(record, undefined)
  return record
}

/** The URL of the original's content. It must not overlap with the content of the copy. */
function requireDisjoint({ content }: CatalogRecord, url: string): string {
  if (content === undefined) {
    throw unsupported(
      'The catalog has its rows in a content that a program opens for it, and no URL.',
      'Copy the catalog with that program (copyCatalog).',
    )
  }
  const [old, own] = [placeOf(content)!, placeOf(url)!]
  if (!old.startsWith(own) && !own.startsWith(old)) return content
  throw invalid(
    `${own} is where the original catalog keeps its rows, or lies within, or contains that place (${old}). Give the copy a place of its own.`,
  )
}

function notACopy(): CatalogError {
  return invalid(
    'This database is the one that the catalog lives in, as far as it can tell. If it is a copy all the same, such as one of a snapshot of a disk, say so with --is-copy. To move the rows of a catalog, copy it into a new one (tabularium copy, or copyCatalog).',
  )
}

function idChanged(): CatalogError {
  return new CatalogError(
    'ConcurrentModification',
    'The catalog was given an id of its own meanwhile. Look at it again.',
  )
}

/** An open content, and the URL prefix of its locations. */
interface OpenedContent {
  readonly content: Content
  readonly root: string
}

/** The ids of a catalog and of its copy. */
interface Ids {
  readonly original: string
  readonly copy: string
}

/** The future content of a copy. */
export interface AdoptedContent extends OpenedContent {
  /** Makes the copy the owner, after all objects were copied. */
  claim(): Promise<void>
}

/**
 * Opens the future content of a copy. The copy claims one without an owner at once. A copy of the original's content
 * names the original as owner until `claim`. `isBegun` states that an earlier run may have been interrupted.
 */
async function adoptedContent(url: string, ids: Ids, isBegun: boolean): Promise<AdoptedContent> {
  const [{ openContentAt }, { claimContent, contentOwner, refuseOwner, takeOver }] = await Promise.all([
    import('../contents/open.ts'),
    import('../base/content/claim.ts'),
  ])
  const { content, root } = await openContentAt(url)
  const owner = await contentOwner(content, root)
  if (owner === undefined && !isBegun) await claimContent(content, root, ids.copy)
  else if (owner !== undefined && owner !== ids.original && owner !== ids.copy) throw refuseOwner(root)
  return { content, root, claim: () => takeOver(content, root, ids.original, ids.copy) }
}

/**
 * The original's content, for reading. `content` is undefined when it is unreachable, unreadable or owned by another
 * catalog. Fails when `target` is the same content.
 */
async function originalContent(
  url: string,
  original: string,
  target: OpenedContent,
): Promise<{ readonly root: string; readonly content: Content | undefined }> {
  const [{ openContentAt }, { contentOwner, isSameStorage }] = await Promise.all([
    import('../contents/open.ts'),
    import('../base/content/claim.ts'),
  ])
  const { content, root } = await openContentAt(url)
  const owner = await contentOwner(content, root).catch(() => undefined)
  if (owner === undefined) return { root, content: undefined }
  if (await isSameStorage(target.content, content)) {
    throw invalid(
      `${target.root} is the content of the original catalog by another name. Give the copy a place of its own.`,
    )
  }
  return { root, content: owner === original ? content : undefined }
}
