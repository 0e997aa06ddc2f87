import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import { recordFormat, type VersionRecord } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import type { ManifestRef, Snapshot, TableEngine } from '../../engine/table/index.ts'
import type { TableAt } from '../lance/dataset.ts'
import { hasForeignRows } from '../locations/declared-only.ts'
import { type ContentFolder, contentFolderOf, locationOf } from '../locations/locations.ts'
import { type FoundTable, findTable, lookUpTable } from '../lookup/names.ts'
import {
  type FoundVersion,
  findVersion,
  headOf,
  onBranch,
  type WantedVersion,
  wantedVersion,
} from '../lookup/versions.ts'
import { TargetReplaced } from '../transactions/retry.ts'
import type { RowsContext } from './context.ts'

/** The folder of a table's content. Throws `InvalidTableState` when it is out of reach. */
export function requireContentFolder(core: RowsContext, id: Identifier, table: TableAt): ContentFolder {
  const location = locationOf(core.contentRoots, table.id, table.record)
  const folder = contentFolderOf(core.contentRoots, location)
  if (folder === undefined) {
    throw new CatalogError(
      'InvalidTableState',
      `The content of ${formatIdentifier(id)} lies at ${location}, outside what this catalog reads and writes. Open it there with the engine that wrote it, or add the place above it to locationRoots.`,
    )
  }
  return folder
}

/** The errors of operations that open a version. */
export const versionErrors = [
  'TableNotFound',
  'TableVersionNotFound',
  'TableTagNotFound',
  'TableBranchNotFound',
  'InvalidTableState',
] as const

/** The rows of one version. `check` may refuse in the same read that finds the version. */
export async function openVersion(
  core: RowsContext,
  id: Identifier,
  wanted: WantedVersion,
  check?: (reader: Reader) => void,
): Promise<{ table: FoundTable; engine: TableEngine; snapshot: Snapshot; found: FoundVersion }> {
  const { table, found } = await readRows(core, id, wanted, check)
  const folder = requireContentFolder(core, id, table)
  const engine = await core.engine(folder.content)
  const snapshot = await retryIfReplaced(core, id, table, () =>
    engine.open(folder.prefix, manifestOf(found.record)),
  )
  return { table, engine, snapshot, found }
}

/**
 * Runs work on a table that was found by its name. The work may fail because others dropped, replaced or renamed the
 * table meanwhile, or because `isSame` no longer holds. Then the operation starts again with the table that now has the
 * name.
 */
export async function retryIfReplaced<T>(
  core: RowsContext,
  id: Identifier,
  table: FoundTable,
  work: () => Promise<T>,
  isSame: (now: FoundTable) => boolean = (now) => now.id === table.id,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    // A canceled operation stays canceled, and so does one that lost to a conflicting change.
    if (!(error instanceof CatalogError) || error.code === 'ConcurrentModification') throw error
    const now = await core.store.read((reader) => lookUpTable(reader, id)).catch(() => table)
    if (now && isSame(now)) throw error
    throw new TargetReplaced(id, { cause: error })
  }
}

/** A version whose rows our engine wrote. */
async function readRows(
  core: RowsContext,
  id: Identifier,
  wanted: WantedVersion,
  check?: (reader: Reader) => void,
): Promise<{ table: FoundTable; found: FoundVersion }> {
  const { table, found } = await core.store.read((reader) => {
    check?.(reader)
    const table = findTable(reader, id)
    const { branch, version } = wantedVersion(reader, id, table, wanted, core.now())
    if (version === undefined && headOf(reader, id, table, branch).latest === null)
      return { table, found: undefined }
    const found = findVersion(reader, id, table, branch, version)
    requireOurs(id, found)
    return { table, found }
  })
  if (found) return { table, found }
  throw table.record.registered || (await hasForeignRows(core, table)) ? foreign(id) : declaredOnly(id)
}

/** The work by our own engine, or by Lance where that wrote the rows: `byLance` resolves to undefined elsewhere. */
export async function byItsEngine<T>(
  byOurs: () => Promise<T>,
  byLance: () => Promise<T | undefined>,
): Promise<T> {
  try {
    return await byOurs()
  } catch (error) {
    // Tables of our own engine, which are most, take no further read to find out.
    const made = error instanceof NotOurs ? await byLance() : undefined
    if (made === undefined) throw error
    return made
  }
}

/** Rows are not our own engine's. Lance may change them. */
export class NotOurs extends CatalogError {
  constructor(message: string) {
    super('InvalidTableState', message)
  }
}

/** Refuses a version that another engine wrote. */
export function requireOurs(id: Identifier, { version, branch, record }: FoundVersion): void {
  if (record.rows !== undefined) return
  const format = record.metadata?.table_type
  throw new NotOurs(
    `Version ${version} of ${formatIdentifier(id)}${onBranch(branch)} was written by another engine (${format === undefined ? '' : `format ${format}, `}manifest ${record.manifest_path}). Read and change its rows with that engine, such as ${enginesOf(format)}, at the table's location.`,
  )
}

/** Engines that read the rows of a format. */
function enginesOf(format: string | undefined): string {
  return format?.startsWith('ICEBERG') ? 'Spark, Trino, DuckDB or PyIceberg' : 'Lance'
}

/** Where the rows of a version are that our engine wrote. */
export function manifestOf(
  record: Pick<VersionRecord, 'manifest_path' | 'manifest_size' | 'e_tag' | 'bases'>,
): ManifestRef {
  return {
    path: record.manifest_path,
    size: record.manifest_size ?? 0,
    etag: record.e_tag ?? '',
    ...(record.bases && { bases: record.bases }),
  }
}

/** The record of a version that our engine made. */
export function versionOf({ manifest, rows }: Snapshot, transactionId: string, now: number): VersionRecord {
  return {
    v: recordFormat,
    manifest_path: manifest.path,
    manifest_size: manifest.size,
    e_tag: manifest.etag,
    timestamp_millis: now,
    transaction_id: transactionId,
    rows,
    ...(manifest.bases && { bases: manifest.bases }),
  }
}

export function foreign(id: Identifier): CatalogError {
  return new NotOurs(
    `The location of ${formatIdentifier(id)} holds no dataset of Lance, and what another engine has there is not this catalog's to read or change. Use the engine that wrote it, at the table's location.`,
  )
}

export function declaredOnly(id: Identifier): CatalogError {
  return new CatalogError(
    'InvalidTableState',
    `The table ${formatIdentifier(id)} is declared and has no rows or columns yet. Insert rows first.`,
  )
}
