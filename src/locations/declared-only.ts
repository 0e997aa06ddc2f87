import type { Core } from '../catalog/core.ts'
import type { FoundTable } from '../lookup/names.ts'
import type { TableRecord } from '../store/records.ts'
import { locationOf, type Place, placeOf } from './locations.ts'
import { registrationFolder } from './registration.ts'

/*
 * A client may write rows where a table was declared for it and tell nobody, as Lance's clients do. Such a
 * table has no version here and is created all the same.
 */

/** Whether a table's record says that it is more than declared. */
export function isCreated({ registered, main }: TableRecord): boolean {
  return registered || main.latest !== null
}

/**
 * Where to look whether a table is more than declared; undefined when its record decides. It does so where
 * clients keep versions through the catalog, and where the location is out of reach.
 */
export function undecidedPlace(core: Core, table: FoundTable): Place | undefined {
  return core.settings.managedVersioning ? undefined : unversionedPlace(core, table)
}

/** Whether another engine wrote rows where the table was declared, and told nobody. */
export async function holdsForeignRows(core: Core, table: FoundTable): Promise<boolean> {
  const place = unversionedPlace(core, table)
  return place !== undefined && isWritten(place)
}

/** Where another engine may have written, if the table never had a version and is within reach. */
function unversionedPlace(core: Core, { id, record }: FoundTable): Place | undefined {
  if (record.registered || record.main.last !== null) return undefined
  return placeOf(core.places, locationOf(core.places, id, record))
}

/** Whether another engine has written at a place. The first object found answers it. */
export async function isWritten({ content, prefix }: Place): Promise<boolean> {
  const { isEngineObject } = await import('../table/storage/object-names.ts')
  for await (const { path } of content.list(prefix)) {
    const name = path.slice(prefix.length)
    // Our own engine leaves objects behind when it is interrupted before the first version.
    if (!isEngineObject(name) && !name.startsWith(registrationFolder)) return true
  }
  return false
}
