import { isDatabaseUrl } from '../base/model/location.ts'
import type { Catalog } from '../catalog/handle/handle.ts'
import type { RestoreOptions, RestoreReport } from '../catalog/maintenance/backup/restore.ts'
import type { ImportOptions, ImportReport } from '../catalog/maintenance/plain-files/import.ts'
import type { VerifyOptions, VerifyReport } from '../catalog/maintenance/verify/report.ts'
import { coreOf, type LocalCatalog } from './local-handle.ts'
import { type DirectoryCatalogOptions, openCatalog } from './open.ts'

/*
 * Upkeep of catalogs that are not open, because nobody dares to open them or they are to be replaced.
 */

/**
 * As `verify` of an open catalog, for the directory of one, or for the URL of one in a database. A directory's store file is looked at before it is opened:
 * where that is damaged, the report says so and nothing is opened, so that it cannot bring the process down.
 *
 * ```ts
 * const { ok, findings } = await verifyCatalog('./catalog')
 * ```
 */
export async function verifyCatalog(given: string, options: VerifyOptions = {}): Promise<VerifyReport> {
  if (isDatabaseUrl(given)) {
    await using catalog = await openCatalog(given)
    return await catalog.verify(options)
  }
  const { requireFolderPath } = await import('../catalog/maintenance/folders.ts')
  const directory = requireFolderPath(given)
  const { inspectLmdbStore } = await import('../stores/lmdb/index.ts')
  const { damagedStore } = await import('../catalog/maintenance/verify/verify.ts')
  options.onProgress?.({ step: 'store', records: 0, objects: 0, bytes: 0 })
  const inspection = await inspectLmdbStore(directory, { signal: options.signal })
  const { moved, records } = inspection
  const isBare = records === 0
  if (!moved && (inspection.damage.length > 0 || isBare)) {
    const damage = isBare && inspection.damage.length === 0 ? ['it holds no records'] : inspection.damage
    return damagedStore(directory, { ...inspection, damage }, options)
  }
  await using catalog = await openCatalog(directory)
  return await catalog.verify({ ...options, store: moved })
}

/**
 * Brings a backup back as the catalog of a directory: verifies it, and copies it as a whole or not at all. The
 * directory must not be there yet, or `replace` must be given; what was there is kept beside it then. Close the
 * catalog that is replaced wherever it is open. `InvalidTableState` when the backup has problems.
 *
 * ```ts
 * await restoreCatalog('./copy', './catalog', { replace: true })
 * ```
 */
export async function restoreCatalog(
  copy: string,
  target: string,
  options: RestoreOptions = {},
): Promise<RestoreReport> {
  const { asideOf, requireSound } = await import('../catalog/maintenance/backup/restore.ts')
  const { requireFolderPath } = await import('../catalog/maintenance/folders.ts')
  const { signal, links, onProgress } = options
  const directory = requireFolderPath(target)
  requireSound(copy, await verifyCatalog(copy, { signal }))
  await using source = await openCatalog(copy)
  // What is there stays until the copy is whole: a process that is killed meanwhile leaves it as it was.
  const aside = await asideOf(directory, options)
  const work = { signal, links, onProgress, aside }
  const report = await source.backup(directory, work)
  return aside === undefined ? report : { ...report, replaced: aside }
}

/**
 * Brings the latest rows of an export into any catalog, also one behind a server: namespaces as far as they are
 * missing, and each table with its properties and indexes as a new one. Versions, tags and branches stay behind;
 * `importFrom` of a catalog that is here brings those, too. An error tells how many tables were imported before.
 */
export async function importTables(
  catalog: Catalog,
  folder: string,
  options: ImportOptions = {},
): Promise<ImportReport> {
  const tables = await import('../catalog/maintenance/plain-files/import-tables.ts')
  return tables.importTables(catalog, folder, options)
}

export interface CopyOptions extends ImportOptions {
  /** Where the rows of the copy are to lie, as the option `content` of `openCatalog`; for a target that is a location. */
  readonly content?: string | undefined
}

/**
 * Copies a catalog, as it is at one moment, with all versions, tags and branches, into an empty one: from a directory
 * into a database or back, or from one content into another. Each is a location as `openCatalog` takes it, or an open
 * catalog. All of the copy is there in one change, or nothing. When it ends in the middle, do it again; a vacuum of
 * the target removes what is left of the first attempt.
 *
 * Rows of each version are written anew, one file of an export at a time. Tables whose rows lie out of reach or are
 * another engine's are declared at their locations, without versions: `withoutRows` names them.
 *
 * ```ts
 * await copyCatalog('./catalog', 'postgres://app@db.example/tables', { content: 's3://bucket/prefix' })
 * ```
 */
export async function copyCatalog(
  source: string | LocalCatalog,
  target: string | LocalCatalog,
  { content, ...options }: CopyOptions = {},
): Promise<ImportReport> {
  const { copyInto } = await import('../catalog/maintenance/plain-files/copy.ts')
  return withOpen(source, {}, (from) =>
    withOpen(target, content === undefined ? {} : { content }, (to) =>
      copyInto(coreOf(from), coreOf(to), options),
    ),
  )
}

/** Works with a catalog that is open, or is opened for this work. */
async function withOpen<T>(
  given: string | LocalCatalog,
  options: DirectoryCatalogOptions,
  work: (catalog: LocalCatalog) => Promise<T>,
): Promise<T> {
  if (typeof given !== 'string') return work(given)
  await using catalog = await openCatalog(given, options)
  return await work(catalog)
}
