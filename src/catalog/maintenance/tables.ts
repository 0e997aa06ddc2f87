import type { Identifier } from '../../base/model/identifier.ts'
import { keys, type TableRecord, type VersionRecord } from '../../base/store/records.ts'
import type { Key, Reader } from '../../base/store/store.ts'
import { type ContentFolder, contentFolderOf, locationOf } from '../locations/locations.ts'
import { keptTableById } from '../lookup/names.ts'
import type { MaintenanceContext } from './context.ts'
import { idOf } from './verify/record-checks.ts'

export interface KnownVersion {
  readonly key: Key
  readonly record: VersionRecord
}

/** A table with what maintenance needs to know of it. */
export interface KnownTable {
  readonly internalId: string
  readonly id: Identifier | undefined
  readonly record: TableRecord
  readonly location: string
  /** The folder of its content; undefined when its location is out of reach. */
  readonly folder: ContentFolder | undefined
  /** The versions on all branches. */
  readonly versions: readonly KnownVersion[]
  /** Whether there are versions, and our own engine wrote all of them. */
  readonly fromOwnEngine: boolean
}

const tablesAtATime = 100

/** All tables, in batches. Each batch is read in one transaction. */
export function allTables(core: MaintenanceContext): AsyncGenerator<KnownTable> {
  return tablesWhere(core, () => true)
}

/** As `allTables`, of those tables for which `isWanted` holds. */
export async function* tablesWhere(
  core: MaintenanceContext,
  isWanted: (reader: Reader, internalId: string, record: TableRecord) => boolean,
): AsyncGenerator<KnownTable> {
  let after: string | undefined
  do {
    const tables = await core.store.read((reader) => {
      const start = after === undefined ? {} : { start: [...keys.tablePointer(after), 0] }
      const pointers = reader.range({ prefix: keys.tablePointers, limit: tablesAtATime, ...start })
      return Array.from(pointers, ({ key }) => {
        const internalId = String(key[1])
        // In a damaged catalog, a pointer may lead to no record.
        const found = keptTableById(reader, internalId)
        const isKnown = found !== undefined && isWanted(reader, found.id, found.record)
        return { internalId, known: isKnown ? knownTable(core, reader, found.id, found.record) : undefined }
      })
    })
    for (const { known } of tables) if (known !== undefined) yield known
    after = tables.length === tablesAtATime ? tables.at(-1)!.internalId : undefined
  } while (after !== undefined)
}

export function knownTable(
  core: MaintenanceContext,
  reader: Reader,
  internalId: string,
  record: TableRecord,
): KnownTable {
  const versions = Array.from(
    reader.range<VersionRecord>({ prefix: ['v', internalId] }),
    ({ key, value }) => ({
      key,
      record: value,
    }),
  )
  const location = locationOf(core.contentRoots, internalId, record)
  return {
    internalId,
    id: idOf(reader, record),
    record,
    location,
    folder: contentFolderOf(core.contentRoots, location),
    versions,
    fromOwnEngine: versions.length > 0 && versions.every((version) => version.record.rows !== undefined),
  }
}
