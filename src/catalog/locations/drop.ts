import { keys, type TableRecord } from '../../base/store/records.ts'
import type { Key, Writer } from '../../base/store/store.ts'
import { type FoundTable, isNameOnly, readTable, removeTable } from '../lookup/names.ts'
import type { ChangeContext } from '../transactions/commit.ts'
import { locationOf, type Roots, releaseLocation } from './locations.ts'
import { markRemoval } from './removal.ts'
import { removeSharesOf } from './shared-content.ts'
import { removeWaiting } from './waiting.ts'

/**
 * Drops a table within a change, and returns its location. The content is removed after the commit, and no other
 * table gets the location before.
 */
export function dropTable(
  core: Roots,
  { writer, now }: ChangeContext,
  internalId: string,
  record: TableRecord,
): string {
  removeTableRecords(core, writer, { id: internalId, record })
  const location = locationOf(core.contentRoots, internalId, record)
  removeSharesOf(core, writer, location)
  return markRemoval(writer, location, now)
}

/**
 * Removes all records of a table: its name, versions, tags, branches and its claim on a location. Its shares in other
 * tables' files stay. `parts` has the keys of its versions, tags and branches, if they were read.
 */
export function removeTableRecords(
  core: Roots,
  writer: Writer,
  { id, record }: FoundTable,
  parts: Iterable<Key> = keysOfParts(writer, id, record),
): void {
  removeTable(writer, id, record)
  releaseLocation(writer, record)
  for (const key of parts) writer.remove(key)
  removeWaiting(core, writer, locationOf(core.contentRoots, id, record))
}

/** Drops all tables and namespaces in a namespace, but not the namespace itself. Returns the tables' locations. */
export function dropEverythingIn(core: Roots, change: ChangeContext, namespace: string): string[] {
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

/** The keys of a table's versions, tags and branches. All are read at once: no walk must meet its own changes. */
function keysOfParts(writer: Writer, id: string, record: TableRecord): Key[] {
  if (isNameOnly(record)) return []
  const prefixes = [keys.allVersions(id), keys.tags(id), keys.branches(id)]
  return prefixes.flatMap((prefix) => Array.from(writer.range({ prefix, keysOnly: true }), ({ key }) => key))
}
