import type { VersionRecord } from '../../../base/store/records.ts'
import type { QueryOptions, Snapshot, TableEngine } from '../../../engine/table/index.ts'
import type { DatasetCopy } from '../../lance/copy-dataset.ts'
import { holdsObjects } from '../../locations/locations.ts'
import { isPointer } from '../../locations/pointers.ts'
import { manifestOf } from '../../rows/rows.ts'
import type { MaintenanceContext } from '../context.ts'
import type { KnownVersion } from '../tables.ts'
import { folderName } from './folder-names.ts'
import type { RowFormat, TableJson } from './format.ts'
import { datasetOf } from './lance.ts'
import type { TableWithRefs } from './namespace-tree.ts'

/** The target size of a row file. More rows go into further files. */
const fileBytes = 128 << 20

/** A table as plain files, which are made one by one when they are read. */
export interface TableFiles {
  readonly json: TableJson
  /** Whether its rows lie out of reach, or are another engine's. */
  readonly isElsewhere: boolean
  /** Whether all that is elsewhere can be found again, since each version points at it. */
  readonly isInPlace: boolean
  readonly rows: number
  /** The files of Lance that have the rows instead of row files. */
  readonly dataset?: DatasetCopy | undefined
  /** The names of the row files. */
  readonly names: readonly string[]
  /** The rows of a row file as an Arrow IPC file. */
  read(name: string, signal: AbortSignal): Promise<Uint8Array>
  /** The same in parts, if there are many rows. */
  stream(name: string, signal: AbortSignal): Promise<Uint8Array | AsyncIterable<Uint8Array>>
}

type Entry = TableJson['versions'][number]

/** Some rows of a version. */
interface Part {
  readonly version: VersionRecord
  readonly offset: number
  readonly limit: number
}

interface FilesWanted {
  readonly history: boolean
  readonly format?: RowFormat | undefined
  readonly signal?: AbortSignal | undefined
}

/** Describes the files of a table: of the latest version of its main branch or, with `history`, of all versions. */
export async function filesOf(
  core: MaintenanceContext,
  table: TableWithRefs,
  { history, format = 'arrow', signal }: FilesWanted,
): Promise<TableFiles> {
  const { record, folder, versions, fromOwnEngine } = table
  const engine = folder && fromOwnEngine ? await core.engine(folder.content) : undefined
  const dataset = engine === undefined ? await datasetOf(table, history, signal) : undefined
  const copied = new Set(dataset?.versions.map(({ branch, version }) => `${version} ${branch}`))
  const isElsewhere = engine === undefined && (versions.length > 0 || (await isForeign(table)))
  const parts = new Map<string, Part>()
  const known = new Map<string, Pick<Entry, 'files' | 'indices'>>()
  let rows = 0
  const entries: Entry[] = []
  for (const version of versions) {
    const [, , branch, number] = version.key as [string, string, string, number]
    if (dataset && !copied.has(`${number} ${branch}`)) continue
    const isLatest = branch === '' && number === record.main.latest
    let content: Pick<Entry, 'files' | 'indices'> | undefined
    if (engine && (isLatest || history)) {
      // Versions with the same rows share one set of files.
      content = known.get(version.record.manifest_path)
      if (content === undefined) {
        const base = isLatest
          ? 'rows'
          : `versions/${folderName(branch === '' ? 'main' : branch)}-${number}-${known.size}`
        const found = await partsOf(engine, folder!.prefix, version.record)
        const files = found.parts.map((_, i) => `${base}${i === 0 ? '' : `-part${i + 1}`}.${format}`)
        for (const [i, name] of files.entries()) parts.set(name, found.parts[i]!)
        rows += found.rows
        content = { files, ...(found.indices.length > 0 && { indices: found.indices }) }
        known.set(version.record.manifest_path, content)
      }
    }
    entries.push({ ...entryOf(version), ...content })
  }
  const json: TableJson = {
    name: record.name,
    properties: record.properties,
    created_at: record.created_at,
    ...(isElsewhere ? { location: table.location } : {}),
    main: record.main,
    branches: table.branches.map(([name, { v: _, ...branch }]) => ({ name, ...branch })),
    tags: table.tags.map(([name, { branch, version }]) => ({ name, branch, version })),
    versions: entries,
  }
  const answer =
    <T>(query: (engine: TableEngine, snapshot: Snapshot, options: QueryOptions) => Promise<T>) =>
    async (name: string, signal: AbortSignal) => {
      const { version, offset, limit } = parts.get(name)!
      const snapshot = await engine!.open(folder!.prefix, manifestOf(version))
      return query(engine!, snapshot, { offset, limit, signal, isOnce: true })
    }
  const read = answer((engine, snapshot, options) => engine.queryRows(snapshot, options))
  const stream = answer((engine, snapshot, options) => engine.streamRows(snapshot, options))
  const isInPlace = entries.length > 0 && entries.every(({ manifest_path }) => manifest_path !== undefined)
  return { json, dataset, isElsewhere, isInPlace, rows, names: [...parts.keys()], read, stream }
}

/** Whether the rows of a table without versions may be another engine's: out of reach, or something lies there. */
async function isForeign({ folder }: TableWithRefs): Promise<boolean> {
  return folder === undefined || holdsObjects(folder)
}

async function partsOf(
  engine: TableEngine,
  prefix: string,
  version: VersionRecord,
): Promise<{ parts: Part[]; rows: number; indices: NonNullable<Entry['indices']> }> {
  const snapshot = await engine.open(prefix, manifestOf(version))
  const { rows, bytes } = snapshot
  const indices = engine.indicesOf(snapshot).map(({ field: _, ...index }) => index)
  const limit = Math.max(1, Math.floor(fileBytes / Math.max(1, bytes / Math.max(1, rows))))
  const parts: Part[] = []
  for (let offset = 0; offset === 0 || offset < rows; offset += limit) parts.push({ version, offset, limit })
  return { parts, rows, indices }
}

function pointerOf({ manifest_path, manifest_size }: VersionRecord) {
  return { manifest_path, ...(manifest_size !== undefined && { manifest_size }) }
}

function entryOf({ key, record }: KnownVersion): Entry {
  return {
    branch: String(key[2]),
    version: Number(key[3]),
    timestamp_millis: record.timestamp_millis,
    ...(record.metadata === undefined ? {} : { metadata: { ...record.metadata } }),
    ...(record.rows === undefined ? {} : { rows: record.rows }),
    ...(record.rows === undefined && isPointer(record.manifest_path) && pointerOf(record)),
  }
}
