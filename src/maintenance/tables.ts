import type { Core } from '../catalog/core.ts'
import { locationOf, type Place, placeOf } from '../locations/locations.ts'
import { tableById } from '../lookup/table-record.ts'
import type { Identifier } from '../model/identifier.ts'
import { keys, type TableRecord, type VersionRecord } from '../store/records.ts'
import type { Key, Reader } from '../store/store.ts'
import { idOf } from './verify/record-checks.ts'

export interface KnownVersion {
  readonly key: Key
  readonly record: VersionRecord
}

/** A table as upkeep sees it. */
export interface KnownTable {
  readonly internalId: string
  readonly id: Identifier | undefined
  readonly record: TableRecord
  readonly location: string
  /** Where its content lies, when that is within reach. */
  readonly place: Place | undefined
  /** Its versions on all branches. */
  readonly versions: readonly KnownVersion[]
  /** Whether our own engine wrote them all, and there are some. */
  readonly ours: boolean
}

const tablesAtATime = 100

/** All tables, some at a time, each as it is at one moment. */
export async function* allTables(core: Core): AsyncGenerator<KnownTable> {
  let after: string | undefined
  do {
    const tables = await core.store.read((reader) => {
      const start = after === undefined ? {} : { start: [...keys.tablePointer(after), 0] }
      const pointers = reader.range({ prefix: keys.tablePointers, limit: tablesAtATime, ...start })
      return Array.from(pointers, ({ key }) => {
        const internalId = String(key[1])
        // A damaged catalog may hold one that leads nowhere.
        const found = tableById(reader, internalId)
        return { internalId, known: found && knownTable(core, reader, found.id, found.record) }
      })
    })
    for (const { known } of tables) if (known !== undefined) yield known
    after = tables.length === tablesAtATime ? tables.at(-1)!.internalId : undefined
  } while (after !== undefined)
}

/** A table with all that is known of it. */
export function knownTable(core: Core, reader: Reader, internalId: string, record: TableRecord): KnownTable {
  const versions = Array.from(
    reader.range<VersionRecord>({ prefix: ['v', internalId] }),
    ({ key, value }) => ({
      key,
      record: value,
    }),
  )
  const location = locationOf(core.places, internalId, record)
  return {
    internalId,
    id: idOf(reader, record),
    record,
    location,
    place: placeOf(core.places, location),
    versions,
    ours: versions.length > 0 && versions.every((version) => version.record.rows !== undefined),
  }
}
