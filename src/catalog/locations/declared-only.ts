import type { SharedFiles } from '../../base/content/content.ts'
import type { TableRecord } from '../../base/store/records.ts'
import type { FoundTable } from '../lookup/names.ts'
import type { LocationContext } from './context.ts'
import { versionOfName, versionsFolderOf } from './lance-files.ts'
import { type ContentFolder, contentFolderOf, isManaged, locationOf, type Roots } from './locations.ts'
import { registrationFolder } from './registration.ts'

/*
 * A client may write rows at the location of a declared table without notice to the catalog, as Lance's clients do.
 * Such a table has no version in the catalog, and still counts as created.
 */

/** Whether a table's record alone shows that the table is more than declared. */
export function isCreated({ registered, main }: TableRecord): boolean {
  return registered || main.latest !== null
}

/**
 * Checks whether a table is more than declared, though its record does not show it. Undefined when the record decides,
 * since the catalog cannot reach the location.
 */
export function inspectionOf(core: LocationContext, table: FoundTable): (() => Promise<boolean>) | undefined {
  const folder = unversionedFolder(core, table)
  if (folder === undefined) return undefined
  if (!isManaged(core, table.record)) return () => hasForeignObjects(folder)
  // Clients that keep versions through the catalog write rows first: the first version makes the table.
  return () => hasManifests(folder.content.shared!, folder.prefix)
}

/** Whether a folder holds a dataset of Lance, which keeps at least the latest manifest of the main branch. */
export async function hasManifests(shared: SharedFiles, prefix: string): Promise<boolean> {
  const names = await shared.names(prefix + versionsFolderOf(''))
  return names.some((name) => versionOfName(name) !== undefined)
}

/** Whether another engine wrote rows at a table's location without notice to the catalog. */
export async function hasForeignRows(core: Roots, table: FoundTable): Promise<boolean> {
  const folder = unversionedFolder(core, table)
  return folder !== undefined && hasForeignObjects(folder)
}

/** The folder of a table that never had a version, if the catalog can reach its location. */
function unversionedFolder(core: Roots, { id, record }: FoundTable): ContentFolder | undefined {
  if (record.registered || record.main.last !== null) return undefined
  return contentFolderOf(core.contentRoots, locationOf(core.contentRoots, id, record))
}

/** Whether a folder holds an object that our own engine did not write. Stops at the first one. */
async function hasForeignObjects({ content, prefix }: ContentFolder): Promise<boolean> {
  const { isEngineObject } = await import('../../engine/table/storage/objects.ts')
  for await (const { path } of content.list(prefix)) {
    const name = path.slice(prefix.length)
    // Engines leave objects behind when a crash interrupts them before the first version: our own, and Lance.
    if (!isEngineObject(name) && !name.startsWith(registrationFolder) && !isBeforeManifest(name)) return true
  }
  return false
}

/** Whether an object is one that Lance writes before the first manifest, which makes the dataset. */
function isBeforeManifest(name: string): boolean {
  const folder = versionsFolderOf('')
  if (name.startsWith(folder)) return versionOfName(name.slice(folder.length)) === undefined
  // Until a file is whole, its name is `.tmp` with six characters, or ends in `#` and a number.
  return /^(?:data|_transactions)\/(?:[^/]+\.(?:lance|txn)(?:#\d+)?|\.tmp\w{6})$/.test(name)
}
