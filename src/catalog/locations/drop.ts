import type { Identifier } from '../../base/model/identifier.ts'
import { keys, type TableRecord } from '../../base/store/records.ts'
import type { Key, Writer } from '../../base/store/store.ts'
import { type FoundTable, isNameOnly, readTable, removeTable } from '../lookup/names.ts'
import type { ChangeContext } from '../transactions/commit.ts'
import type { LocationSettings } from './context.ts'
import { holdTable } from './held.ts'
import { locationOf, type Roots, releaseLocation } from './locations.ts'
import { markRemoval } from './removal.ts'
import { removeSharesOf } from './shared-content.ts'
import { removeWaiting } from './waiting.ts'

/**
 * Drops a table within a change. It is held for a time, if the catalog holds dropped tables and the caller does not
 * `purge` it. Otherwise this returns its location: the content is removed after the commit, and no other table gets the
 * location before. `id` is the table's identifier.
 */
export function dropTable(
  core: DropContext,
  change: ChangeContext,
  table: FoundTable,
  id: Identifier,
  purge = false,
): string[] {
  const { retainDropped } = core.settings
  if (purge || retainDropped === 0) return [purgeTable(core, change.writer, table, change.now)]
  holdTable(change, table, id, retainDropped)
  return []
}

/** What a drop needs of its catalog. */
interface DropContext extends Roots {
  readonly settings: Pick<LocationSettings, 'retainDropped'>
}

/** Removes a table for good, and returns its location, whose content is to be removed after the commit. */
export function purgeTable(core: Roots, writer: Writer, table: FoundTable, now: number): string {
  const location = locationOf(core.contentRoots, table.id, table.record)
  removeTableRecords(core, writer, table)
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

/**
 * Drops all tables and namespaces in a namespace, but not the namespace itself. `path` is its identifier. Returns the
 * locations whose content is to be removed.
 */
export function dropEverythingIn(
  core: DropContext,
  change: ChangeContext,
  namespace: string,
  path: Identifier,
): string[] {
  const { writer } = change
  const locations: string[] = []
  const pending: [string, Identifier][] = [[namespace, path]]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [parent, at] = next
    for (const { key, value } of [...writer.range<string>({ prefix: keys.namespaceNames(parent) })]) {
      writer.remove(key)
      writer.remove(keys.namespace(value))
      pending.push([value, [...at, String(key[3])]])
    }
    for (const { key } of [...writer.range({ prefix: keys.tables(parent), keysOnly: true })]) {
      const name = String(key[3])
      const table = readTable(writer, parent, name)!
      locations.push(...dropTable(core, change, table, [...at, name]))
    }
  }
  return locations
}

/** The keys of a table's versions, tags and branches. All are read at once: no walk must meet its own changes. */
function keysOfParts(writer: Writer, id: string, record: TableRecord): Key[] {
  if (isNameOnly(record)) return []
  const prefixes = [keys.allVersions(id), keys.tags(id), keys.branches(id), keys.retiredOf(id)]
  return prefixes.flatMap((prefix) => Array.from(writer.range({ prefix, keysOnly: true }), ({ key }) => key))
}
