import { rm } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { invalid, unsupported } from '../../../base/errors.ts'
import type { Identifier } from '../../../base/model/identifier.ts'
import { folderUrl, locationBelow } from '../../locations/locations.ts'
import { isPointer } from '../../locations/pointers.ts'
import type { MaintenanceContext } from '../context.ts'
import { createFolderAtomically, requireFolderPath } from '../folders.ts'
import { relocate } from '../relocate.ts'
import type { KnownTable } from '../tables.ts'
import { withBackupLease } from '../with-backup-lease.ts'
import { copiedPaths } from './copied-paths.ts'
import { copyFiles } from './copy-files.ts'
import { moveDatasets } from './move-datasets.ts'

export interface BackupOptions {
  /**
   * Makes hard links to files that never change, instead of copies, where the file system can. That takes no time
   * and no space. Such a backup survives drops, but not the loss of the disk.
   */
  readonly links?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((report: BackupReport) => void) | undefined
}

/** An option of restoring only: the new path of the folder that the copy replaces. */
interface Replacing {
  readonly aside?: string | undefined
}

export interface BackupReport {
  readonly tables: number
  /** The number of copied files, and their bytes. */
  readonly objects: number
  readonly bytes: number
  /** Tables with content outside of the catalog's directory: their records are copied, their content is not. */
  readonly elsewhere: number
  /** The first 1,000 of these tables, and their locations. */
  readonly outside: readonly { readonly id: Identifier; readonly location: string }[]
  /**
   * The first 1,000 tables whose copied files name each other by URLs below another place, as those of Iceberg do. They
   * can be used once the catalog is restored at that place.
   */
  readonly pinned: readonly { readonly id: Identifier; readonly place: string }[]
}

const maxOutside = 1_000

/** Copies the catalog of a directory into another directory; see `LocalCatalog.backup`. */
export async function backup(
  core: MaintenanceContext,
  given: string,
  { aside, ...options }: BackupOptions & Replacing = {},
): Promise<BackupReport> {
  const target = requireFolderPath(given)
  const root = core.contentRoots[0]!
  if (core.store.copyTo === undefined || !root.url.startsWith('file:')) {
    const where = core.catalog.content === undefined ? '' : ` This one has its rows at ${root.url}.`
    throw unsupported(
      `Only a catalog with records and rows in one directory can be backed up.${where}`,
      'Export this catalog with its history, and import it where it is needed.',
    )
  }
  const source = fileURLToPath(root.url)
  if (isWithin(source, target) || isWithin(resolve(target), source)) {
    throw invalid(`${target} lies within the catalog, or contains it. Give a folder elsewhere.`)
  }
  const fill = (folder: string, final: string) =>
    withBackupLease(
      core,
      (signal) => copy(core, source, folder, final, { ...options, signal }),
      options.signal,
    )
  return createFolderAtomically(target, fill, aside)
}

function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, resolve(path))
  return way === '' || !(way.startsWith('..') || resolve(way) === way)
}

/** Copies the records, then the content they refer to. Then adapts the copied records to the new folder. */
async function copy(
  core: MaintenanceContext,
  source: string,
  folder: string,
  final: string,
  { links = false, signal, onProgress }: BackupOptions & { signal: AbortSignal },
): Promise<BackupReport> {
  signal.throwIfAborted()
  await core.store.copyTo!(folder)
  const { openLmdbStore, storeFiles } = await import('../../../stores/lmdb/index.ts')
  const store = await openLmdbStore(folder)
  const outside: { id: Identifier; location: string }[] = []
  const pinned: { id: Identifier; place: string }[] = []
  const report = { tables: 0, objects: 0, bytes: 0, elsewhere: 0, outside, pinned }
  try {
    const copied: MaintenanceContext = { ...core, store }
    const paths = copiedPaths(copied, (table, isInside) => {
      report.tables++
      const place = isInside ? placeOf(core, table) : undefined
      if (place !== undefined && place !== folderUrl(final) && pinned.length < maxOutside)
        pinned.push({ id: table.id ?? [], place })
      if (isInside) return
      report.elsewhere++
      if (outside.length < maxOutside) outside.push({ id: table.id ?? [], location: table.location })
    })
    const onFile = (bytes: number) => {
      report.objects++
      report.bytes += bytes
      onProgress?.({ ...report })
    }
    await copyFiles(source, folder, paths, { links, signal, onFile })
    await moveDatasets(copied, folder, folderUrl(final))
    await store.write((writer) => relocate(writer, core.contentRoots, folderUrl(final)))
  } finally {
    await store.close()
  }
  // The lock files belong to this process; opening the copy makes new ones.
  for (const name of storeFiles.slice(1)) await rm(join(folder, name), { force: true })
  return report
}

/** The root below which the versions of a table point at files; undefined when they point at none. */
function placeOf(
  { contentRoots }: MaintenanceContext,
  { location, versions }: KnownTable,
): string | undefined {
  const latest = versions.findLast(({ record }) => isPointer(record.manifest_path))
  if (latest === undefined) return undefined
  const url = latest.record.manifest_path
  const rest = locationBelow(contentRoots, location, url)
  if (rest === undefined) return undefined
  const folder = location.slice(contentRoots[0]!.url.length)
  return url.slice(0, url.length - rest.length - folder.length - 1)
}
