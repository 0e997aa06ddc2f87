import { CatalogError } from '../../../base/errors.ts'
import type { Identifier } from '../../../base/model/identifier.ts'
import {
  type BranchRecord,
  type Head,
  keys,
  recordFormat,
  type TableRecord,
  type TagRecord,
} from '../../../base/store/records.ts'
import type { Reader, Writer } from '../../../base/store/store.ts'
import type { Snapshot, TableEngine } from '../../../engine/table/index.ts'
import { isReachedByLance, objectPathOf } from '../../lance/dataset.ts'
import { claimLocation, requireOwnFile } from '../../locations/claim.ts'
import { type ContentFolder, checkLocation, contentFolderOf, locationOf } from '../../locations/locations.ts'
import { removeUnused } from '../../locations/removal.ts'
import {
  findNamespace,
  lookUpNamespace,
  lookUpTable,
  putTable,
  requireFreeName,
  tableById,
} from '../../lookup/names.ts'
import { versionOf } from '../../rows/rows.ts'
import type { ChangeContext } from '../../transactions/commit.ts'
import { type LongTransaction, runLong } from '../../transactions/long-transaction.ts'
import type { MaintenanceContext } from '../context.ts'
import type { TableInPlace } from './export.ts'
import type { NamespaceJson, TableJson } from './format.ts'
import { type ExportItem, exportItems } from './read-export.ts'

export interface ImportOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((report: ImportReport) => void) | undefined
}

export interface ImportReport {
  /** Namespaces that the import created. */
  readonly namespaces: number
  readonly tables: number
  readonly versions: number
  readonly rows: number
  /** The first 1,000 tables whose rows the export left out. The import declares them. */
  readonly withoutRows: readonly Identifier[]
  /** The first 1,000 tables of other formats, whose versions point at the same files as those of the original. */
  readonly inPlace: readonly TableInPlace[]
}

/** A table whose rows are written, but whose records are not committed yet. */
interface Prepared {
  readonly id: Identifier
  readonly internalId: string
  readonly json: TableJson
  readonly folder: ContentFolder
  /** The snapshot of each version with exported rows, by branch and number. */
  readonly snapshots: ReadonlyMap<string, Snapshot>
  /** The manifest of each version of Lance that was copied, by branch and number. */
  readonly manifests: ReadonlyMap<string, CopiedManifest>
  rowsOfLance: number
}

interface CopiedManifest {
  readonly manifest_path: string
  readonly manifest_size: number
}

const maxListed = 1_000

/** Imports an export into a catalog, whole or not at all; see `LocalCatalog.importFrom`. */
export function importFrom(
  core: MaintenanceContext,
  source: string,
  options?: ImportOptions,
): Promise<ImportReport> {
  return importItems(core, exportItems(source), options)
}

/** Imports namespaces and tables into a catalog, whole or not at all. `check` may refuse to commit. */
export function importItems(
  core: MaintenanceContext,
  items: AsyncIterable<ExportItem>,
  { signal, onProgress }: ImportOptions = {},
  check?: (reader: Reader) => void,
): Promise<ImportReport> {
  // While the transaction is running, a vacuum keeps the objects that the import writes.
  const about = { operation: 'ImportCatalog', subject: [] }
  return runLong(core, signal ? { signal } : {}, about, (transaction, work) =>
    importAll(core, items, transaction, { signal: work.signal, onProgress }, check),
  )
}

async function importAll(
  core: MaintenanceContext,
  items: AsyncIterable<ExportItem>,
  transaction: LongTransaction,
  { signal, onProgress }: ImportOptions,
  check?: (reader: Reader) => void,
): Promise<ImportReport> {
  const namespaces: { id: Identifier; json: NamespaceJson }[] = []
  const tables: Prepared[] = []
  const withoutRows: Identifier[] = []
  const inPlace: TableInPlace[] = []
  const report = { namespaces: 0, tables: 0, versions: 0, rows: 0, withoutRows, inPlace }
  let isCommitted = false
  try {
    for await (const item of items) {
      signal?.throwIfAborted()
      if (item.kind === 'namespace') {
        namespaces.push(item)
        continue
      }
      await core.store.read((reader) => {
        if (lookUpTable(reader, item.id))
          requireFreeName(reader, findNamespace(reader, item.id.slice(0, -1)), item.id, 'TableAlreadyExists')
      })
      const prepared = await prepare(core, transaction.id, item, signal, (table) => tables.push(table))
      report.tables++
      const { versions, location } = item.json
      const kept = versions.filter((entry) => isKept(prepared, entry)).length
      report.versions += kept
      for (const { rows } of new Set(prepared.snapshots.values())) report.rows += rows
      report.rows += prepared.rowsOfLance
      const hadRows = versions.length > 0 || location !== undefined
      if (
        kept > prepared.snapshots.size + prepared.manifests.size &&
        location !== undefined &&
        inPlace.length < maxListed
      )
        inPlace.push({ id: item.id, location })
      if (kept === 0 && hadRows && withoutRows.length < maxListed) withoutRows.push(item.id)
      onProgress?.({ ...report })
    }
    signal?.throwIfAborted()
    await transaction.commit((change) => {
      check?.(change.writer)
      report.namespaces = 0
      for (const { id, json } of namespaces) report.namespaces += putNamespace(core, change, id, json)
      for (const table of tables) putImported(core, change, table)
      return {}
    })
    isCommitted = true
    return report
  } finally {
    if (!isCommitted) await removeUntilFailure(core, tables)
  }
}

/**
 * Removes what was written for tables that do not exist. With an unavailable service, each attempt takes seconds, and
 * the caller waits for all of them. So the first failure leaves the rest to a vacuum.
 */
async function removeUntilFailure(core: MaintenanceContext, tables: readonly Prepared[]): Promise<void> {
  for (const { internalId, folder } of tables) if (!(await removeUnused(core, internalId, folder))) return
}

/** Writes the rows of a table to its future location. */
async function prepare(
  core: MaintenanceContext,
  transactionId: string,
  { id, json, rows, dataset, where }: Extract<ExportItem, { readonly kind: 'table' }>,
  signal: AbortSignal | undefined,
  began: (table: Prepared) => void,
): Promise<Prepared> {
  const internalId = core.newTableId()
  const location = locationOf(core.contentRoots, internalId, { location: null } as TableRecord)
  const folder = contentFolderOf(core.contentRoots, location)!
  const snapshots = new Map<string, Snapshot>()
  const manifests = new Map<string, CopiedManifest>()
  const table: Prepared = { id, internalId, json, folder, snapshots, manifests, rowsOfLance: 0 }
  began(table)
  // Lance could read nothing elsewhere.
  const copied = isReachedByLance(core, { id: internalId, record: { location: null } })
    ? await dataset?.(signal)
    : undefined
  if (copied !== undefined) {
    const sizes = await copied.writeTo({ ...folder, location }, signal)
    for (const { branch, version, path, rows } of copied.versions) {
      const manifest = { manifest_path: objectPathOf(location) + path, manifest_size: sizes.get(path)! }
      manifests.set(versionKey(branch, version), manifest)
      table.rowsOfLance += rows
    }
    return table
  }
  const engine = (await core.engine(folder.content)).writtenBy(transactionId)
  const byFiles = new Map<string, Snapshot>()
  for (const entry of json.versions) {
    const { branch, version, files, indices } = entry
    if (files === undefined) continue
    if (branch !== '' && !json.branches.some(({ name }) => name === branch)) {
      throw new CatalogError(
        'InvalidInput',
        `${where} has a version of the branch ${branch}, which it does not list. Export again.`,
      )
    }
    const key = JSON.stringify([files, indices])
    const known = byFiles.get(key) ?? (await writeVersion(engine, folder, { ...entry, files }, rows, signal))
    byFiles.set(key, known)
    snapshots.set(versionKey(branch, version), known)
  }
  await engine.sync()
  return table
}

async function writeVersion(
  engine: TableEngine,
  { prefix }: ContentFolder,
  {
    version,
    files,
    indices = [],
  }: Pick<TableJson['versions'][number], 'version' | 'indices'> & { readonly files: readonly string[] },
  rows: Extract<ExportItem, { readonly kind: 'table' }>['rows'],
  signal: AbortSignal | undefined,
): Promise<Snapshot> {
  const { openRowStream, toArrowTable } = await import('../../../engine/table/index.ts')
  let snapshot: Snapshot | undefined
  for (const name of files) {
    const given = await rows(name)
    const table =
      given instanceof Uint8Array ? await toArrowTable(given) : await openRowStream(given, { signal })
    if (snapshot === undefined) {
      snapshot = await engine.create(prefix, table, { version, signal })
    } else {
      const change = await engine.insertRows(snapshot, table, { signal })
      snapshot = (await change.apply(snapshot, { version, signal })).snapshot
    }
  }
  if (indices.length === 0) return snapshot!
  const recorded = engine.createIndices(
    indices.map(({ created_at, ...index }) => ({ ...index, createdAt: created_at })),
  )
  return (await recorded.apply(snapshot!, { version, signal })).snapshot
}

/** Whether a version comes with its rows, or points at them. */
function isKept(
  { snapshots, manifests }: Pick<Prepared, 'snapshots' | 'manifests'>,
  { branch, version, manifest_path }: TableJson['versions'][number],
): boolean {
  const key = versionKey(branch, version)
  return manifest_path !== undefined || snapshots.has(key) || manifests.has(key)
}

function versionKey(branch: string, version: number): string {
  return `${version} ${branch}`
}

/** Creates a namespace, unless it exists. Returns the number of created namespaces. */
function putNamespace(
  core: MaintenanceContext,
  { writer, noted }: ChangeContext,
  id: Identifier,
  json: NamespaceJson,
): number {
  if (lookUpNamespace(writer, id) !== undefined) return 0
  const parent = findNamespace(writer, id.slice(0, -1))
  requireFreeName(writer, parent, id, 'NamespaceAlreadyExists')
  const internalId = core.newId()
  const { name, properties, created_at } = json
  noted.noteSubject(internalId, id)
  writer.put(keys.namespaceName(parent, name), internalId)
  writer.put(keys.namespace(internalId), { v: recordFormat, parent, name, properties, created_at })
  return 1
}

function putImported(
  core: MaintenanceContext,
  { writer, transactionId, noted }: ChangeContext,
  table: Prepared,
): void {
  const { id, internalId, json, snapshots, manifests } = table
  const parent = findNamespace(writer, id.slice(0, -1))
  requireFreeName(writer, parent, id, 'TableAlreadyExists')
  const isElsewhere = json.location !== undefined && manifests.size === 0
  const location = isElsewhere ? checkLocation(core.contentRoots, json.location!) : null
  if (location !== null) claimLocation(core, writer, location, internalId)
  noted.noteSubject(internalId, id)
  putTable(writer, internalId, {
    parent,
    name: json.name,
    location,
    properties: json.properties,
    created_at: json.created_at,
    main: headOf(table, '', json.main),
    registered: false,
  })
  for (const { branch, version, timestamp_millis, metadata, manifest_path, manifest_size } of json.versions) {
    const snapshot = snapshots.get(versionKey(branch, version))
    const more = metadata === undefined ? {} : { metadata }
    const key = keys.version(internalId, branch, version)
    const manifest = manifests.get(versionKey(branch, version))
    if (manifest !== undefined) {
      writer.put(key, {
        v: recordFormat,
        ...manifest,
        ...more,
        timestamp_millis,
        transaction_id: transactionId,
      })
    } else if (snapshot !== undefined) {
      writer.put(key, { ...versionOf(snapshot, transactionId, timestamp_millis), ...more })
    } else if (manifest_path !== undefined) {
      requireOwnFile(core, writer, tableById(writer, internalId)!, manifest_path)
      const size = manifest_size === undefined ? {} : { manifest_size }
      const pointer = { v: recordFormat, manifest_path, ...size, ...more } as const
      writer.put(key, { ...pointer, timestamp_millis, transaction_id: transactionId })
    }
  }
  putNames(writer, table)
}

/** Stores the branches and tags whose versions are kept. */
function putNames(writer: Writer, table: Prepared): void {
  const { internalId, json } = table
  const versions = json.versions.filter((entry) => isKept(table, entry))
  for (const { name, head, ...rest } of json.branches) {
    const kept = headOf(table, name, head)
    if (kept.latest === null) continue
    const record: BranchRecord = { v: recordFormat, head: kept, ...rest }
    writer.put(keys.branch(internalId, name), record)
  }
  for (const { name, branch, version } of json.tags) {
    if (!versions.some((entry) => entry.branch === branch && entry.version === version)) continue
    const record: TagRecord = { v: recordFormat, branch, version }
    writer.put(keys.tag(internalId, name), record)
  }
}

/** The head of a branch, counting only versions that are kept. */
function headOf(table: Prepared, branch: string, { last }: Head): Head {
  const numbers = table.json.versions
    .filter((entry) => entry.branch === branch && isKept(table, entry))
    .map(({ version }) => version)
  if (numbers.length === 0) return { latest: null, last: null }
  const latest = Math.max(...numbers)
  if (last === null || last < latest) {
    throw new CatalogError(
      'InvalidInput',
      `The export has a version ${latest}, but says that the last version is ${last}. Export again.`,
    )
  }
  return { latest, last }
}
