import { createHash } from 'node:crypto'
import { tableIdentifier } from '../../base/model/fields.ts'
import { keys, type VersionRecord } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import { locationOf, newLocation } from '../locations/locations.ts'
import { type FoundTable, findNamespace, readTable } from '../lookup/names.ts'
import { adapterOperation } from './internal.ts'

/** A table, and the latest version of its main branch. */
export interface TableHead {
  readonly properties: Readonly<Record<string, string>>
  /** Absent while the table is only declared. */
  readonly latest?: {
    readonly manifestPath: string
    /** In bytes, if it is known. */
    readonly manifestSize?: number | undefined
    readonly metadata: Readonly<Record<string, string>>
  }
  /** The number of the next version. */
  readonly next: number
}

/** Whether there is a table, and when that was. */
export interface LookedUp {
  readonly head: TableHead | undefined
  /** By the clock of the catalog, in milliseconds since the epoch. */
  readonly now: number
  /** Makes UUIDs for what is new, of the catalog's own ids: those of a fake repeat in every run. */
  readonly newUuid: () => string
}

/** Looks up a table and its latest version, in one read. Throws `NamespaceNotFound`. */
export const lookUpHead = adapterOperation({
  like: 'describeTable',
  changes: false,
  request: { id: tableIdentifier },
  run: async (core, { id }): Promise<LookedUp> => {
    const now = core.now()
    const newUuid = () => uuidOf(core.newTableId())
    return core.store.read((reader) => {
      const table = readTable(reader, findNamespace(reader, id.slice(0, -1)), id.at(-1)!)
      return { head: table && headIn(reader, table), now, newUuid }
    })
  },
})

/** A UUID that follows from an id, and does not tell it. It looks like a random one. */
function uuidOf(id: string): string {
  const bytes = Buffer.from(createHash('sha256').update(id).digest().subarray(0, 16))
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** A location for a new table, as the catalog chooses them. Nothing is recorded. */
export const newTableLocation = adapterOperation({
  like: 'declareTable',
  changes: false,
  request: { id: tableIdentifier },
  run: async ({ contentRoots, settings, newTableId }) => {
    const internalId = newTableId()
    const { formatRoot, declaredRoot, tableRoot } = settings
    const location = newLocation(contentRoots, formatRoot ?? declaredRoot ?? tableRoot, internalId)
    return locationOf(contentRoots, internalId, { location })
  },
})

function headIn(reader: Reader, table: FoundTable): TableHead {
  const { main, properties } = table.record
  const version = main.latest
  const record = version === null ? undefined : reader.get<VersionRecord>(keys.version(table.id, '', version))
  return {
    properties,
    next: main.last === null ? 1 : main.last + 1,
    ...(record && {
      latest: {
        manifestPath: record.manifest_path,
        manifestSize: record.manifest_size,
        metadata: record.metadata ?? {},
      },
    }),
  }
}
