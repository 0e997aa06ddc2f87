import { rm } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Core } from '../../catalog/core.ts'
import { CatalogError, invalid } from '../../errors.ts'
import { folderUrl, segmentsOf } from '../../locations/locations.ts'
import { changeTable, tableById } from '../../lookup/table-record.ts'
import type { Identifier } from '../../model/identifier.ts'
import { keys, type RemovalRecord } from '../../store/records.ts'
import type { Entry, Key, Store, Writer } from '../../store/store.ts'
import { appearing, folderPath } from '../folders.ts'
import { holding } from '../hold-backup-lease.ts'
import { copiedPaths } from './copied-paths.ts'
import { copyFiles } from './copy-files.ts'

export interface BackupOptions {
  /**
   * Gives files that never change a second name instead of a copy, where the file system can: at once, and
   * without room. Such a backup outlives what is dropped, and not the disk.
   */
  readonly links?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((report: BackupReport) => void) | undefined
}

/** What only restoring asks for: by which name the folder goes on that is in the place of the copy. */
interface Replacing {
  readonly aside?: string | undefined
}

export interface BackupReport {
  readonly tables: number
  /** Files copied, and their bytes. */
  readonly objects: number
  readonly bytes: number
  /** Tables whose content lies outside of the catalog's directory. It is not copied, their records are. */
  readonly elsewhere: number
  /** Those tables, the first 1,000, and where they lie. */
  readonly outside: readonly { readonly id: Identifier; readonly location: string }[]
}

const mostOutside = 1_000

/** Copies a catalog of a directory into another; see `LocalCatalog.backup`. */
export async function backup(
  core: Core,
  given: string,
  { aside, ...options }: BackupOptions & Replacing = {},
): Promise<BackupReport> {
  const target = folderPath(given)
  const root = core.places.roots[0]!
  if (core.store.copyTo === undefined || !root.url.startsWith('file:')) {
    throw new CatalogError(
      'Unsupported',
      'Only a catalog in a directory can be backed up. Export this one, and import it into one in a directory.',
    )
  }
  const source = fileURLToPath(root.url)
  if (isWithin(source, target) || isWithin(resolve(target), source)) {
    throw invalid(`${target} lies within the catalog, or around it. Give a folder elsewhere.`)
  }
  const fill = (folder: string, final: string) =>
    holding(core, (signal) => copy(core, source, folder, final, { ...options, signal }), options.signal)
  return appearing(target, fill, aside)
}

function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, resolve(path))
  return way === '' || !(way.startsWith('..') || resolve(way) === way)
}

/** Copies the records, then what they reach, then makes the records speak of the copy. */
async function copy(
  core: Core,
  source: string,
  folder: string,
  final: string,
  { links = false, signal, onProgress }: BackupOptions & { signal: AbortSignal },
): Promise<BackupReport> {
  signal.throwIfAborted()
  await core.store.copyTo!(folder)
  const { openLmdbStore, storeFiles } = await import('../../store/lmdb/index.ts')
  const store = await openLmdbStore(folder)
  const outside: { id: Identifier; location: string }[] = []
  const report = { tables: 0, objects: 0, bytes: 0, elsewhere: 0, outside }
  try {
    const copied: Core = { ...core, store }
    const paths = copiedPaths(copied, (table, isInside) => {
      report.tables++
      if (isInside) return
      report.elsewhere++
      if (outside.length < mostOutside) outside.push({ id: table.id ?? [], location: table.location })
    })
    const onFile = (bytes: number) => {
      report.objects++
      report.bytes += bytes
      onProgress?.({ ...report })
    }
    await copyFiles(source, folder, paths, { links, signal, onFile })
    await relocate(store, core.places.roots[0]!.url, folderUrl(final))
  } finally {
    await store.close()
  }
  // Who opens the copy makes one of its own.
  for (const name of storeFiles.slice(1)) await rm(join(folder, name), { force: true })
  return report
}

/**
 * Makes the store of a copy speak of the copy: locations below the root it was copied from come to lie below
 * the new one, and what was under way when it was copied (holds, removals) is over.
 */
async function relocate(store: Store, from: string, to: string): Promise<void> {
  await store.write((writer) => {
    for (const { key } of all(writer, keys.holds)) writer.remove(key)
    const old = segmentsOf(from)
    const replaced = (key: Key): Key => [key[0]!, ...segmentsOf(to), ...key.slice(1 + old.length)]
    // To be emptied is what lies there, which was not copied, or elsewhere, which is the other catalog's to do.
    for (const { key, value } of all<string | RemovalRecord>(writer, keys.locations)) {
      if (typeof value === 'object') writer.remove(key)
    }
    for (const family of [keys.locations, keys.registrations]) {
      for (const { key, value } of all<string>(writer, [...family, ...old])) {
        writer.remove(key)
        writer.put(replaced(key), value)
      }
    }
    for (const { key } of all(writer, keys.tablePointers)) {
      const { id, record } = tableById(writer, String(key[1]))!
      if (!record.location?.startsWith(from)) continue
      changeTable(writer, id, { ...record, location: to + record.location.slice(from.length) })
    }
  })
}

/** Collected first: what is walked must not change underneath. */
function all<V extends object | string = object>(writer: Writer, prefix: Key): Entry<V>[] {
  return Array.from(writer.range<V>({ prefix }))
}
