import type { Core } from '../catalog/core.ts'
import { keys, type RemovalRecord, recordFormat } from '../store/records.ts'
import type { Reader, Writer } from '../store/store.ts'
import { leaseMillis } from '../transactions/transaction-record.ts'
import { isHeld } from './backup-lease.ts'
import { awayPlaceOf, type Place, placeOf, segmentsOf } from './locations.ts'

/**
 * Marks the location of a table that is being dropped, within the change that drops it, and answers with the
 * location: nobody gets it before {@link removeContent} has emptied it, so that nothing new is removed with
 * the old.
 */
export function markRemoval(writer: Writer, location: string, now: number): string {
  const record: RemovalRecord = { v: recordFormat, removing: location, until: now + leaseMillis }
  writer.put(keys.location(segmentsOf(location)), record)
  return location
}

/**
 * Removes the content of dropped tables, and sets their locations free. What cannot be removed now stays
 * marked, and is removed by whoever wants the location or by a vacuum: the drop itself has succeeded.
 */
export async function removeContent(core: Core, locations: readonly string[]): Promise<void> {
  if (locations.length === 0 || (await leftToOthers(core, locations))) return
  const emptied: string[] = []
  for (const location of locations) {
    // What the catalog keeps of a location out of reach goes like content within it.
    const place = placeOf(core.places, location) ?? awayPlaceOf(core.places, location)
    if (await removePlace(place)) emptied.push(location)
  }
  if (emptied.length === 0) return
  await core.store
    .write((writer) => {
      for (const location of emptied) {
        const key = keys.location(segmentsOf(location))
        if (typeof writer.get(key) === 'object') writer.remove(key)
      }
    })
    .catch(() => {})
}

/**
 * While somebody copies what was dropped, it stays and is marked as abandoned, so that whoever comes later may
 * remove it. Tells whether that is so.
 */
async function leftToOthers(core: Core, locations: readonly string[]): Promise<boolean> {
  const now = core.now()
  if (!(await core.store.read((reader) => isHeld(reader, now)))) return false
  await core.store
    .write((writer) => {
      for (const location of locations) {
        const key = keys.location(segmentsOf(location))
        const mark = writer.get<string | RemovalRecord>(key)
        if (typeof mark === 'object' && mark.until > 0) writer.put(key, { ...mark, until: 0 })
      }
    })
    .catch(() => {})
  return true
}

/** Removes content that no table ever owned; tells whether that went well. */
export async function removePlace({ content, prefix }: Place): Promise<boolean> {
  return content.remove(prefix).then(
    () => true,
    () => false,
  )
}

/** The locations whose removal was begun by a process that is gone. */
export function abandonedRemovals(reader: Reader, now: number): string[] {
  const entries = reader.range<string | RemovalRecord>({ prefix: keys.locations })
  return Array.from(entries, ({ value }) => value)
    .filter((value) => typeof value === 'object')
    .filter(({ until }) => until < now)
    .map(({ removing }) => removing)
}
