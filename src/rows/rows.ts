import { setTimeout as sleep } from 'node:timers/promises'
import type { Core } from '../catalog/core.ts'
import { CatalogError } from '../errors.ts'
import { holdsForeignRows } from '../locations/declared-only.ts'
import { locationOf, type Place, placeOf } from '../locations/locations.ts'
import { type FoundTable, findTable, lookUpTable, tableNotFound } from '../lookup/names.ts'
import { tableById } from '../lookup/table-record.ts'
import {
  type FoundVersion,
  findVersion,
  headOf,
  nextVersion,
  onBranch,
  putVersion,
} from '../lookup/versions.ts'
import { formatIdentifier, type Identifier } from '../model/identifier.ts'
import type { OperationOptions } from '../operations/framework/operation.ts'
import { recordFormat, type VersionRecord } from '../store/records.ts'
import type { Reader } from '../store/store.ts'
import type {
  Changed,
  ManifestRef,
  Change as RowChange,
  Snapshot,
  TableEngine,
  WorkOptions,
} from '../table/index.ts'
import { type LongTransaction, runLong } from '../transactions/long-transaction.ts'
import { Overtaken } from '../transactions/retry.ts'

/** A table's content, ready to be read or written. */
interface OpenTable {
  readonly table: FoundTable
  readonly place: Place
  readonly engine: TableEngine
}

/** Finds a table and the engine for what lies at its location. */
async function openTable(core: Core, id: Identifier): Promise<OpenTable> {
  const table = await core.store.read((reader) => findTable(reader, id))
  return openPlace(core, id, table)
}

async function openPlace(core: Core, id: Identifier, table: FoundTable): Promise<OpenTable> {
  const location = locationOf(core.places, table.id, table.record)
  const place = placeOf(core.places, location)
  if (place === undefined) {
    throw new CatalogError(
      'InvalidTableState',
      `The content of ${formatIdentifier(id)} lies at ${location}, outside what this catalog reads and writes. Open it there with the engine that wrote it, or add its folder to locationRoots.`,
    )
  }
  return { table, place, engine: await core.engine(place.content) }
}

/** The rows of one version; `version` absent means the latest. */
export async function openVersion(
  core: Core,
  id: Identifier,
  branch: string,
  version: number | undefined,
): Promise<{ table: FoundTable; engine: TableEngine; snapshot: Snapshot; version: number }> {
  const { table, found } = await readRows(core, id, branch, version)
  const { engine, place } = await openPlace(core, id, table)
  const snapshot = await whileThere(core, id, table, () => openManifest(engine, place, found.record))
  return { table, engine, snapshot, version: found.version }
}

/**
 * Runs work on a table that a name led to. Should it fail after the name came to lead elsewhere (the table was
 * dropped, replaced or renamed; or is not any more what `isSame` asks for), the failure is none of the
 * caller's: the operation begins again.
 */
export async function whileThere<T>(
  core: Core,
  id: Identifier,
  table: FoundTable,
  work: () => Promise<T>,
  isSame: (now: FoundTable) => boolean = (now) => now.id === table.id,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    // What was canceled, or lost a race that it may lose, stays so.
    if (!(error instanceof CatalogError) || error.code === 'ConcurrentModification') throw error
    const now = await core.store.read((reader) => lookUpTable(reader, id)).catch(() => table)
    if (now && isSame(now)) throw error
    throw new Overtaken(id, { cause: error })
  }
}

/** A version whose rows our engine wrote; the latest when none is named. */
export async function readRows(
  core: Core,
  id: Identifier,
  branch: string,
  version: number | undefined,
): Promise<{ table: FoundTable; found: FoundVersion }> {
  const { table, found } = await core.store.read((reader) => findRows(reader, id, branch, version))
  if (found) return { table, found }
  throw table.record.registered || (await holdsForeignRows(core, table)) ? foreign(id) : declaredOnly(id)
}

function findRows(
  reader: Reader,
  id: Identifier,
  branch: string,
  version: number | undefined,
): { table: FoundTable; found: FoundVersion | undefined } {
  const table = findTable(reader, id)
  if (version === undefined && headOf(reader, id, table, branch).latest === null)
    return { table, found: undefined }
  const found = findVersion(reader, id, table, branch, version)
  requireOurs(id, found)
  return { table, found }
}

/** Refuses a version that another engine wrote. */
function requireOurs(id: Identifier, { version, branch, record }: FoundVersion): void {
  if (record.rows !== undefined) return
  throw new CatalogError(
    'InvalidTableState',
    `Version ${version} of ${formatIdentifier(id)}${onBranch(branch)} was written by another engine (manifest ${record.manifest_path}). Read and change its rows with that engine, such as Lance, at the table's location.`,
  )
}

/** The rows of a version that our engine wrote. */
export function openManifest(engine: TableEngine, place: Place, record: VersionRecord): Promise<Snapshot> {
  return engine.open(place.prefix, manifestOf(record))
}

/** The manifest of a version. */
export function manifestOf(record: VersionRecord): ManifestRef {
  return { path: record.manifest_path, size: record.manifest_size ?? 0, etag: record.e_tag ?? '' }
}

/** Which rows to change, and as what the change is recorded. */
export interface RowsChange {
  readonly operation: string
  readonly id: Identifier
  readonly branch: string
  /** Refuses what must be so, and must still be so when the change is committed. */
  readonly require?: ((reader: Reader, table: FoundTable) => void) | undefined
}

/**
 * Makes the next version of a table: from what is there now, or (undefined) as its first one. Giving the base
 * itself back makes none.
 */
export type MakeVersion = (
  base: Snapshot | undefined,
  options: WorkOptions & { version: number },
) => Promise<Changed>

const attempts = 200

/**
 * Changes rows of a table in a transaction of its own. `check` refuses what can be refused before anything is
 * recorded; what it answers does the slow work once, and that in turn answers with what makes a version of
 * whatever base is there. When somebody else commits first, only the last is done again, so that changes
 * which do not truly conflict all succeed.
 */
export async function changeRows(
  core: Core,
  options: OperationOptions,
  change: RowsChange,
  check: (
    open: OpenTable & { base: Snapshot | undefined },
  ) => Promise<(work: WorkOptions) => Promise<MakeVersion>>,
): Promise<Changed & { version: number; transaction_id: string }> {
  const opened = await openTable(core, change.id)
  return whileThere(core, change.id, opened.table, async () => {
    const { table, engine, place } = opened
    const { current } = await readHead(core, change, table)
    // Rows of two engines at one location would be taken for leftovers of one another.
    if (current === undefined && (await holdsForeignRows(core, table))) throw foreign(change.id)
    const base = current && (await openManifest(engine, place, current.record))
    const prepare = await check({ ...opened, base })
    const about = { operation: change.operation, subject: change.id, subjectId: table.id }
    return runLong(core, options, about, async (transaction, work) => {
      const make = await prepare(work)
      return core.inTurn(`${table.id}/${change.branch}`, () =>
        commitVersion(core, change, opened, transaction, make, work),
      )
    })
  })
}

/** Makes and commits the next version, on what others committed first if need be. */
async function commitVersion(
  core: Core,
  change: RowsChange,
  opened: OpenTable,
  transaction: LongTransaction,
  make: MakeVersion,
  work: WorkOptions,
): Promise<Changed & { version: number; transaction_id: string }> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    work.signal?.throwIfAborted()
    const result = await attemptVersion(core, change, opened, transaction, make, work)
    if (result) return { ...result, transaction_id: transaction.id }
    await sleep(Math.random() * Math.min(attempt, 20), undefined, { signal: work.signal })
  }
  throw new CatalogError(
    'ConcurrentModification',
    `Other writers committed first ${attempts} times in a row to ${formatIdentifier(change.id)}${onBranch(change.branch)}. Try again when there is less going on.`,
  )
}

/** One try to make and commit the next version; undefined when somebody else was first. */
async function attemptVersion(
  core: Core,
  change: RowsChange,
  { table, engine, place }: OpenTable,
  transaction: LongTransaction,
  make: MakeVersion,
  work: WorkOptions,
): Promise<(Changed & { version: number }) | undefined> {
  const { id, branch, require } = change
  const { current, version } = await readHead(core, change, table)
  const base = current && (await openManifest(engine, place, current.record))
  const changed = await make(base, { ...work, version })
  work.signal?.throwIfAborted()
  const committed = await transaction.commit(({ writer, now, transactionId }) => {
    const found = currentTable(writer, id, table)
    const head = headOf(writer, id, found, branch)
    if (head.latest !== (current?.version ?? null) || nextVersion(head) !== version) return undefined
    // A branch that was deleted and created anew may have the same number, but not the same content.
    if (current && !isSame(current.record, findVersion(writer, id, found, branch).record)) return undefined
    require?.(writer, found)
    if (current && changed.snapshot === base) return { version: current.version }
    putVersion(writer, found, branch, version, versionOf(changed.snapshot, transactionId, now))
    return { version }
  })
  return committed && { ...changed, ...committed }
}

function isSame(a: VersionRecord, b: VersionRecord): boolean {
  return a.manifest_path === b.manifest_path && a.transaction_id === b.transaction_id
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
  }
}

/** A branch as it is now: its latest version (none when the table is declared only), and the next number. */
function readHead(core: Core, { id, branch, require }: RowsChange, table: FoundTable) {
  return core.store.read((reader) => {
    const current = currentTable(reader, id, table)
    require?.(reader, current)
    return {
      current: readBase(reader, id, current, branch),
      version: nextVersion(headOf(reader, id, current, branch)),
    }
  })
}

/** The latest version of a branch, or undefined when the table is declared only. */
function readBase(
  reader: Reader,
  id: Identifier,
  table: FoundTable,
  branch: string,
): FoundVersion | undefined {
  if (headOf(reader, id, table, branch).latest === null) {
    if (table.record.registered) throw foreign(id)
    return undefined
  }
  const found = findVersion(reader, id, table, branch)
  requireOurs(id, found)
  return found
}

/** The table as it is now: renamed perhaps, but the same one. */
function currentTable(reader: Reader, id: Identifier, table: FoundTable): FoundTable {
  const current = tableById(reader, table.id)
  if (current === undefined) throw tableNotFound(id)
  return current
}

function foreign(id: Identifier): CatalogError {
  return new CatalogError(
    'InvalidTableState',
    `The content of ${formatIdentifier(id)} is another engine's and is not this catalog's to read or change. Use the engine that wrote it, such as Lance, at the table's location.`,
  )
}

/** Makes a version out of a change of rows that needs a base. */
export function applying(id: Identifier, change: RowChange): MakeVersion {
  return (base, options) => {
    if (base === undefined) throw declaredOnly(id)
    return change.apply(base, options)
  }
}

function declaredOnly(id: Identifier): CatalogError {
  return new CatalogError(
    'InvalidTableState',
    `The table ${formatIdentifier(id)} is declared and has no rows or columns yet. Insert rows first.`,
  )
}
