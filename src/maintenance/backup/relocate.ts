import { segmentsOf } from '../../locations/locations.ts'
import { changeTable, tableById } from '../../lookup/table-record.ts'
import { keys, type RemovalRecord } from '../../store/records.ts'
import type { Entry, Key, Store, Writer } from '../../store/store.ts'

/**
 * Makes the store of a copy speak of the copy: locations below the root it was copied from come to lie below
 * the new one, and what was under way when it was copied (holds, removals) is over.
 */
export async function relocate(store: Store, from: string, to: string): Promise<void> {
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
