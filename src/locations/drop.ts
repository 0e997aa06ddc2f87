import type { Core } from '../catalog/core.ts'
import { readTable, removeTable } from '../lookup/table-record.ts'
import { keys, type TableRecord } from '../store/records.ts'
import type { Key, Writer } from '../store/store.ts'
import type { Change } from '../transactions/commit.ts'
import { locationOf, releaseLocation, segmentsOf } from './locations.ts'
import { markRemoval } from './removal.ts'

/**
 * Drops a table within a change. Answers with its location, whose content is removed after the commit and
 * which nobody gets until then.
 */
export function dropTable(
  core: Core,
  { writer, now }: Change,
  internalId: string,
  record: TableRecord,
): string {
  takeOutTable(core, writer, internalId, record)
  return markRemoval(writer, locationOf(core.places, internalId, record), now)
}

/** Removes a table's records: its name, versions, tags, branches and claim on a location. */
export function takeOutTable(core: Core, writer: Writer, internalId: string, record: TableRecord): void {
  removeTable(writer, internalId, record)
  releaseLocation(writer, record)
  for (const family of ['v', 'g', 'b']) removeAll(writer, [family, internalId])
  writer.remove(keys.registration(segmentsOf(locationOf(core.places, internalId, record))))
}

/** Drops all tables and namespaces in a namespace, which itself stays. Answers with the tables' locations. */
export function dropEverythingIn(core: Core, change: Change, namespace: string): string[] {
  const { writer } = change
  const locations: string[] = []
  const open = [namespace]
  for (let parent = open.pop(); parent !== undefined; parent = open.pop()) {
    for (const { key, value } of [...writer.range<string>({ prefix: keys.namespaceNames(parent) })]) {
      writer.remove(key)
      writer.remove(keys.namespace(value))
      open.push(value)
    }
    for (const { key } of [...writer.range({ prefix: keys.tables(parent), keysOnly: true })]) {
      const { id, record } = readTable(writer, parent, String(key[3]))!
      locations.push(dropTable(core, change, id, record))
    }
  }
  return locations
}

function removeAll(writer: Writer, prefix: Key): void {
  // Collected first: what is being walked must not change underneath.
  for (const key of Array.from(writer.range({ prefix, keysOnly: true }), (entry) => entry.key))
    writer.remove(key)
}
