import { randomBytes } from 'node:crypto'
import type { Content } from '../base/content/content.ts'
import { CatalogError, invalid } from '../base/errors.ts'
import { isElsewhere, type StoreHome } from '../base/store/home.ts'
import { type CatalogRecord, keys } from '../base/store/records.ts'
import type { Store, Writer } from '../base/store/store.ts'
import { wallClock } from '../base/time.ts'
import { checkRecord, placeOf, readRecord } from '../catalog/handle/catalog-record.ts'
import { makeCore } from '../catalog/handle/open-core.ts'
import type { AdoptCounts, AdoptReport } from '../catalog/maintenance/adopt/report.ts'
import { adoptedContent, originalContent } from './adopted-content.ts'

export interface AdoptOptions {
  /**
   * Says that the database is a copy, where nothing tells: a physical one, such as of a snapshot of its disk, or one of a
   * catalog that no release has opened for writing which remembers where it lives. Default: false.
   */
  readonly isCopy?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  /** Called with the progress after each object. */
  readonly onProgress?: ((report: AdoptReport) => void) | undefined
}

/**
 * Gives a copy of a catalog, such as a dump that was restored into another database, an id of its own and the content at
 * a URL. Objects that lie there already stay, and others are copied from the content of the original, of which nothing is
 * changed. When it ends in the middle, do it again: the copy is readable as before until all is there, and changes in one
 * transaction. Close the copy wherever it is open before, and open it anew.
 *
 * `InvalidTableState` names an object that is missing. `InvalidInput` when the database is no copy.
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
  const isCopy = isElsewhere(original.home, store.home?.())
  if (!isCopy && placeOf(original.content) === placeOf(url)) return report
  if (!isCopy && options.isCopy !== true) throw noCopy()
  const from = requireApart(original, url)
  const { id, isBegun } = await announce(store, original, url)
  const target = await adoptedContent(url, { original: original.id, copy: id }, isBegun)
  const source = await originalContent(from, original.id, target)
  const coreOver = (content: Content) =>
    makeCore(store, original, [{ url: source.root, content, reserved: new Set() }], { threads: 0 })
  const contents = { target: target.content, source: source.content }
  const { fillContent, moveRecords } = await import('../catalog/maintenance/adopt/adopt.ts')
  await fillContent(coreOver, contents, report, { signal, onProgress: () => onProgress?.({ ...report }) })
  signal?.throwIfAborted()
  await target.claim()
  const { contentRoots } = coreOver(target.content)
  await store.write(moving(store, id, url, (writer) => moveRecords(writer, contentRoots, target.root)))
  return report
}

/** The change by which a copy becomes a catalog of its own. */
function moving(store: Store, id: string, url: string, move: (writer: Writer) => void) {
  const secret = randomBytes(16).toString('hex')
  const home = store.home?.()
  const now = store.now?.() ?? wallClock()
  return (writer: Writer) => {
    const { adopting, ...record } = writer.get<CatalogRecord>(keys.catalog)!
    // Another run with the same content was first.
    if (record.id === id) return
    if (adopting?.id !== id) {
      throw new CatalogError(
        'ConcurrentModification',
        'The copy was given to another content meanwhile. Look which one it has, and do this again if it is not the right one.',
      )
    }
    move(writer)
    const own = { id, secret, content: url, adopted_at: now, ...(home !== undefined && { home }) }
    writer.put(keys.catalog, { ...record, ...own })
  }
}

/**
 * Notes the id that a copy will have, so that every further run goes on with it. A run with another content begins anew.
 */
async function announce(
  store: Store,
  original: CatalogRecord,
  content: string,
): Promise<{ readonly id: string; readonly isBegun: boolean }> {
  const drawn = randomBytes(8).toString('hex')
  return store.write((writer) => {
    const { adopting, ...record } = writer.get<CatalogRecord>(keys.catalog)!
    if (record.id !== original.id) throw overtaken()
    if (adopting?.content === content) return { id: adopting.id, isBegun: true }
    writer.put(keys.catalog, { ...record, adopting: { id: drawn, content } })
    return { id: drawn, isBegun: false }
  })
}

/**
 * Lets a catalog live in the database that a copy of it lies in, with the content that it has. The database where it lived
 * must be gone for good: both would remove each other's rows. Where it is still there on the same server, this is refused.
 * Returns whether anything had to be changed.
 *
 * ```ts
 * await keepContent('postgres://owner@new.example/tables')
 * ```
 */
export async function keepContent(location: string): Promise<boolean> {
  const { isPlaceThere, openPostgresStore } = await import('../stores/postgres/index.ts')
  const store = await openPostgresStore(location)
  try {
    const found = await requireRecord(store)
    const here = store.home?.()
    if (!isElsewhere(found.home, here)) return false
    if (here !== undefined && (await isPlaceThere(location, found.home!, here)))
      throw invalid(
        `The database that this one was copied from is still there, on the same server (${describe(found.home!)}). Drop it first; or give this copy rows of its own by --adopt-content.`,
      )
    return await store.write((writer) => {
      const { adopting: _, home: __, ...record } = writer.get<CatalogRecord>(keys.catalog)!
      if (record.id !== found.id) throw overtaken()
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

/** The content of the original, which must not contain that of the copy, nor lie in it. */
function requireApart({ content }: CatalogRecord, url: string): string {
  if (content === undefined) {
    throw new CatalogError(
      'Unsupported',
      'The catalog has its rows in a content that a program opens for it, and no URL. Copy the catalog with that program (copyCatalog).',
    )
  }
  const [old, own] = [placeOf(content)!, placeOf(url)!]
  if (!old.startsWith(own) && !own.startsWith(old)) return content
  throw invalid(
    `${own} is where the original catalog keeps its rows, or lies within, or contains that place (${old}). Give the copy a place of its own.`,
  )
}

function noCopy(): CatalogError {
  return invalid(
    'This database is the one that the catalog lives in, as far as it can tell. If it is a copy all the same, such as one of a snapshot of a disk, say so with --is-copy. To move the rows of a catalog, copy it into a new one (tabularium copy, or copyCatalog).',
  )
}

function overtaken(): CatalogError {
  return new CatalogError(
    'ConcurrentModification',
    'The catalog was given an id of its own meanwhile. Look at it again.',
  )
}
