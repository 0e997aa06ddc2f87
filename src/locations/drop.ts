import type { Core } from '../catalog/core.ts'
import { readTable, removeTable } from '../lookup/table-record.ts'
import { keys, type TableRecord } from '../store/records.ts'
import type { Key, Writer } from '../store/store.ts'
import type { ChangeContext } from '../transactions/commit.ts'
import { locationOf, releaseLocation } from './locations.ts'
import { markRemoval } from './removal.ts'
import { removeSharesOf } from './shared-content.ts'
import { removeWaiting } from './waiting.ts'

/**
 * Drops a table within a change, and returns its location. The content is removed after the commit, and no other
 * table gets the location before.
 */
export function dropTable(
  core: Core,
  { writer, now }: ChangeContext,
  internalId: string,
  record: TableRecord,
): string {
  removeTableRecords(core, writer, internalId, record)
  const location = locationOf(core.contentRoots, internalId, record)
  removeSharesOf(core, writer, location)
  return markRemoval(writer, location, now)
}

/**
 * Removes all records of a table: its name, versions, tags, branches and its claim on a location. What it named of other
 * tables' files stays noted.
 */
export function removeTableRecords(
  core: Core,
  writer: Writer,
  internalId: string,
  record: TableRecord,
): void {
  removeTable(writer, internalId, record)
  releaseLocation(writer, record)
  for (const family of ['v', 'g', 'b']) removeAll(writer, [family, internalId])
  removeWaiting(core, writer, locationOf(core.contentRoots, internalId, record))
}

/** Drops all tables and namespaces in a namespace, but not the namespace itself. Returns the tables' locations. */
export function dropEverythingIn(core: Core, change: ChangeContext, namespace: string): string[] {
  const { writer } = change
  const locations: string[] = []
  const pending = [namespace]
  for (let parent = pending.pop(); parent !== undefined; parent = pending.pop()) {
    for (const { key, value } of [...writer.range<string>({ prefix: keys.namespaceNames(parent) })]) {
      writer.remove(key)
      writer.remove(keys.namespace(value))
      pending.push(value)
    }
    for (const { key } of [...writer.range({ prefix: keys.tables(parent), keysOnly: true })]) {
      const { id, record } = readTable(writer, parent, String(key[3]))!
      locations.push(dropTable(core, change, id, record))
    }
  }
  return locations
}

function removeAll(writer: Writer, prefix: Key): void {
  // All keys are read first: the walk must not meet its own changes.
  for (const key of Array.from(writer.range({ prefix, keysOnly: true }), (entry) => entry.key))
    writer.remove(key)
}
