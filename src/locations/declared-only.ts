import type { Core } from '../catalog/core.ts'
import type { FoundTable } from '../lookup/names.ts'
import type { TableRecord } from '../store/records.ts'
import { type ContentFolder, contentFolderOf, locationOf } from './locations.ts'
import { registrationFolder } from './registration.ts'

/*
 * A client may write rows at the location of a declared table without telling the catalog, as Lance's clients do.
 * Such a table has no version in the catalog, and still counts as created.
 */

/** Whether a table's record alone shows that the table is more than declared. */
export function isCreated({ registered, main }: TableRecord): boolean {
  return registered || main.latest !== null
}

/**
 * The folder whose objects tell whether a table is more than declared. Undefined when the table's record decides:
 * where clients keep versions through the catalog, and where the catalog cannot reach the location.
 */
export function folderToInspect(core: Core, table: FoundTable): ContentFolder | undefined {
  return core.settings.managedVersioning ? undefined : unversionedPlace(core, table)
}

/** Whether another engine wrote rows at a table's location without telling the catalog. */
export async function hasForeignRows(core: Core, table: FoundTable): Promise<boolean> {
  const place = unversionedPlace(core, table)
  return place !== undefined && hasForeignObjects(place)
}

/** The folder of a table that never had a version, if the catalog can reach its location. */
function unversionedPlace(core: Core, { id, record }: FoundTable): ContentFolder | undefined {
  if (record.registered || record.main.last !== null) return undefined
  return contentFolderOf(core.contentRoots, locationOf(core.contentRoots, id, record))
}

/** Whether a folder holds an object that our own engine did not write. Stops at the first one. */
export async function hasForeignObjects({ content, prefix }: ContentFolder): Promise<boolean> {
  const { isEngineObject } = await import('../table/storage/object-names.ts')
  for await (const { path } of content.list(prefix)) {
    const name = path.slice(prefix.length)
    // Our own engine leaves objects behind when a crash interrupts it before the first version.
    if (!isEngineObject(name) && !name.startsWith(registrationFolder)) return true
  }
  return false
}
