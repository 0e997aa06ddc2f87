import { isDatabaseUrl } from '../base/model/location.ts'
import type {
  Catalog,
  CopyReport,
  ImportOptions,
  ImportReport,
  RestoreOptions,
  RestoreReport,
  VerifyOptions,
  VerifyReport,
} from '../catalog/index.ts'
import { coreOf, type LocalCatalog } from './local-handle.ts'
import { type DirectoryCatalogOptions, openCatalog } from './open.ts'

/*
 * Maintenance of catalogs that are not open, because they may be damaged or will be replaced.
 */

export interface VerifyCatalogOptions extends VerifyOptions, Pick<DirectoryCatalogOptions, 'locationRoots'> {}

/**
 * As `verify` of an open catalog, for a directory or the URL of a database. The store file of a directory is inspected
 * first. If it is damaged, the report says so and nothing is opened, because a damaged file can crash the process.
 *
 * ```ts
 * const { ok, findings } = await verifyCatalog('./catalog')
 * ```
 */
export async function verifyCatalog(
  given: string,
  { locationRoots, ...options }: VerifyCatalogOptions = {},
): Promise<VerifyReport> {
  const opening = locationRoots === undefined ? {} : { locationRoots }
  if (isDatabaseUrl(given)) {
    await using catalog = await openCatalog(given, opening)
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
  await using catalog = await openCatalog(directory, opening)
  return await catalog.verify({ ...options, store: moved })
}

/**
 * Restores a backup into a directory: verifies it, and copies it atomically. The directory must not exist, unless
 * `replace` is set; then the old directory is kept beside the new one. Close the replaced catalog wherever it is open.
 * `InvalidTableState` when the backup has problems.
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
  // The old directory stays until the copy is complete, so a killed process leaves it unchanged.
  const aside = await asideOf(directory, options)
  const work = { signal, links, onProgress, aside }
  const report = await source.backup(directory, work)
  return aside === undefined ? report : { ...report, replaced: aside }
}

/**
 * Imports the latest rows of an export into any catalog, also one behind a server. Creates missing namespaces, and each
 * table with its properties and indexes. Versions, tags and branches are not imported; `importFrom` of a local catalog
 * imports those, too. An error states how many tables were imported before it.
 * `Unsupported` where a table comes as files of Lance, before anything is imported.
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
  /** Where the copy keeps its rows, as the option `content` of `openCatalog`. Only for a target that is a location. */
  readonly content?: string | undefined
}

/**
 * Copies a snapshot of a catalog, with all versions, tags and branches, into an empty one: from a directory into a
 * database or back, or from one content into another. Each is a location as for `openCatalog`, or an open catalog. The
 * copy appears in one atomic change. After an interruption, run it again, and vacuum the target to remove the rest.
 *
 * The rows of each version are rewritten, one export file at a time. Tables of Lance are copied file by file. Those with
 * unreachable rows, or rows of another engine, are declared at their locations, without versions: `withoutRows` names them. Tables of Iceberg come with their
 * versions, which point at the same files as those of the source: `inPlace` names them.
 *
 * ```ts
 * await copyCatalog('./catalog', 'postgres://app@db.example/tables', { content: 's3://bucket/prefix' })
 * ```
 */
export async function copyCatalog(
  source: string | LocalCatalog,
  target: string | LocalCatalog,
  { content, ...options }: CopyOptions = {},
): Promise<CopyReport> {
  const { copyInto } = await import('../catalog/maintenance/plain-files/copy.ts')
  return withOpen(source, {}, (from) =>
    withOpen(target, content === undefined ? {} : { content }, (to) =>
      copyInto(coreOf(from), coreOf(to), options),
    ),
  )
}

/** Runs `work` with an open catalog, or with one that is opened for this call. */
async function withOpen<T>(
  given: string | LocalCatalog,
  options: DirectoryCatalogOptions,
  work: (catalog: LocalCatalog) => Promise<T>,
): Promise<T> {
  if (typeof given !== 'string') return work(given)
  await using catalog = await openCatalog(given, options)
  return await work(catalog)
}
