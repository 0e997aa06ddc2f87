import { keys, type RemovalRecord } from '../../base/store/records.ts'
import type { Entry, Key, Writer } from '../../base/store/store.ts'
import { type ContentRoot, segmentsOf } from '../locations/locations.ts'
import { isShared } from '../locations/shared-content.ts'
import { changeTable, keptTableById } from '../lookup/names.ts'

/**
 * Adapts the records of a copy to its new root. Locations below the old root, the first of `roots`, move below the new
 * one. Leases and removals, which belong to processes at work on the original, are removed.
 */
export function relocate(writer: Writer, roots: readonly ContentRoot[], to: string): void {
  const from = roots[0]!.url
  for (const { key } of all(writer, keys.backupLeases)) writer.remove(key)
  for (const { key } of all(writer, keys.tasks)) writer.remove(key)
  const old = segmentsOf(from)
  const moved = (location: string) => to + location.slice(from.length)
  const replaced = (key: Key): Key => [key[0]!, ...segmentsOf(to), ...key.slice(1 + old.length)]
  // Content to be removed was not copied, or lies elsewhere, where the original catalog removes it. What clones share
  // of it was copied, and its location stays marked.
  for (const { key, value } of all<string | RemovalRecord>(writer, keys.locations)) {
    if (typeof value === 'object' && !isShared(roots, writer, value.removing)) writer.remove(key)
  }
  for (const family of [keys.locations, keys.registrations]) {
    for (const { key, value } of all<string | RemovalRecord>(writer, [...family, ...old])) {
      writer.remove(key)
      writer.put(
        replaced(key),
        typeof value === 'string' ? value : { ...value, until: 0, removing: moved(value.removing) },
      )
      // The record of a location names the table whose own record has it, too.
      const table =
        family === keys.locations && typeof value === 'string' ? keptTableById(writer, value) : undefined
      if (table?.record.location?.startsWith(from))
        changeTable(writer, table.id, { ...table.record, location: moved(table.record.location) })
    }
  }
}

/** Reads all entries at once, since a walk must not meet its own changes. */
function all<V extends object | string = object>(writer: Writer, prefix: Key): Entry<V>[] {
  return Array.from(writer.range<V>({ prefix }))
}
