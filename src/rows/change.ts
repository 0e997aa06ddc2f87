import { setTimeout as sleep } from 'node:timers/promises'
import type { Core } from '../catalog/core.ts'
import { CatalogError } from '../errors.ts'
import { hasForeignRows } from '../locations/declared-only.ts'
import type { ContentFolder } from '../locations/locations.ts'
import { type FoundTable, findTable, tableNotFound } from '../lookup/names.ts'
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
import type { VersionRecord } from '../store/records.ts'
import type { Reader } from '../store/store.ts'
import type {
  ApplyOptions,
  Change,
  Changed,
  Snapshot,
  TableEngine,
  WorkOptions,
  WritingEngine,
} from '../table/index.ts'
import { type LongTransaction, runLong } from '../transactions/long-transaction.ts'
import type { Rows } from './input.ts'
import {
  declaredOnly,
  foreign,
  openManifest,
  requireOurs,
  requirePlace,
  versionOf,
  whileThere,
} from './rows.ts'

/** A table whose rows are to be changed, as it was found at first. */
export interface TableToChange {
  readonly id: Identifier
  readonly table: FoundTable
  readonly place: ContentFolder
  readonly engine: TableEngine
  /** Its latest version; undefined when the table is declared only. */
  readonly base: Snapshot | undefined
}

/** The same table, with the engine that writes for the change. */
export interface TableToWrite extends TableToChange {
  readonly engine: WritingEngine
}

/** A change of a table's rows: as what it is recorded, and its steps. */
export interface RowsChange<Checked, Prepared> {
  readonly operation: string
  readonly id: Identifier
  readonly branch: string
  /** Refuses what must be so at first, and must still be so when the change is committed. */
  readonly require?: (reader: Reader, table: FoundTable) => void
  /** Refuses what can be refused before anything is recorded. What it answers is there for `prepare`. */
  readonly check?: (found: TableToChange) => Checked | Promise<Checked>
  /** Does the slow work, once. */
  readonly prepare: (
    found: TableToChange,
    options: WorkOptions,
    checked: Checked,
  ) => Prepared | Promise<Prepared>
  /**
   * Makes the next version out of the one that is there now (undefined: none yet), or gives that one back to make none.
   * It runs again when somebody else commits first, so that changes which do not truly conflict all succeed.
   */
  readonly apply: (
    found: TableToChange,
    prepared: Prepared,
    current: Snapshot | undefined,
    options: ApplyOptions,
  ) => Promise<Changed>
}

/** What a change of rows came to. */
export interface RowsChanged extends Changed {
  readonly version: number
  /** The version that the change was applied to. */
  readonly base: Snapshot | undefined
}

const mostAttempts = 200

/** Changes rows of a table in a transaction of its own. */
export async function changeRows<Checked, Prepared>(
  core: Core,
  options: OperationOptions,
  change: RowsChange<Checked, Prepared>,
): Promise<RowsChanged & { transaction_id: string }> {
  if (core.staging === undefined) return changeIn(core, options, change)
  const soft = core.staging.softly()
  try {
    return await changeIn({ ...core, store: soft.store }, options, change)
  } catch (error) {
    // The failure may follow from rows that others replace before the commit.
    soft.harden()
    throw error
  }
}

async function changeIn<Checked, Prepared>(
  core: Core,
  options: OperationOptions,
  change: RowsChange<Checked, Prepared>,
): Promise<RowsChanged & { transaction_id: string }> {
  const { id } = change
  const { table, place, current } = await core.store.read((reader) => {
    const table = findTable(reader, id)
    // First: where the content is out of reach, nothing else matters.
    const place = requirePlace(core, id, table)
    return { table, place, ...headIn(reader, change, table) }
  })
  return whileThere(core, id, table, async () => {
    const engine = await core.engine(place.content)
    // Rows of two engines at one location would be taken for leftovers of one another.
    if (current === undefined && (await hasForeignRows(core, table))) throw foreign(id)
    const base = current && (await openManifest(engine, place, current.record))
    const found: TableToChange = { id, table, place, engine, base }
    const checked = (await change.check?.(found)) as Checked
    const about = { operation: change.operation, subject: id, subjectId: table.id }
    return runLong(core, options, about, async (transaction, work) => {
      const writing: TableToWrite = { ...found, engine: engine.writtenBy(transaction.id) }
      const prepared = await change.prepare(writing, work, checked)
      return core.inTurn(`${table.id}/${change.branch}`, () =>
        commitVersion(core, change, writing, prepared, transaction, work),
      )
    })
  })
}

/** Makes and commits the next version, on what others committed first if need be. */
async function commitVersion<Checked, Prepared>(
  core: Core,
  change: RowsChange<Checked, Prepared>,
  found: TableToWrite,
  prepared: Prepared,
  transaction: LongTransaction,
  work: WorkOptions,
): Promise<RowsChanged & { transaction_id: string }> {
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    work.signal?.throwIfAborted()
    const result = await attemptVersion(core, change, found, prepared, transaction, work)
    if (result) {
      const { version, affected } = result
      core.staging?.changed({ change, found, prepared, transactionId: transaction.id, version, affected })
      return { ...result, transaction_id: transaction.id }
    }
    await sleep(Math.random() * Math.min(attempt, 20), undefined, { signal: work.signal })
  }
  throw new CatalogError(
    'ConcurrentModification',
    `Other writers committed first ${mostAttempts} times in a row to ${formatIdentifier(change.id)}${onBranch(change.branch)}. Try again when there is less going on.`,
  )
}

/** One try to make and commit the next version; undefined when somebody else was first. */
export async function attemptVersion<Checked, Prepared>(
  core: Core,
  change: RowsChange<Checked, Prepared>,
  found: TableToWrite,
  prepared: Prepared,
  transaction: Pick<LongTransaction, 'commit'>,
  work: WorkOptions,
): Promise<RowsChanged | undefined> {
  const { id, branch, require } = change
  const { table, engine, place } = found
  const { current, version } = await core.store.read((reader) =>
    headIn(reader, change, currentTable(reader, id, table)),
  )
  const base = current && (await openManifest(engine, place, current.record))
  const changed = await change.apply(found, prepared, base, { ...work, version })
  await engine.sync()
  work.signal?.throwIfAborted()
  const committed = await transaction.commit(({ writer, now, transactionId }) => {
    const table = currentTable(writer, id, found.table)
    const head = headOf(writer, id, table, branch)
    if (head.latest !== (current?.version ?? null) || nextVersion(head) !== version) return undefined
    // A branch that was deleted and created anew may have the same number, but not the same content.
    if (current && !isSame(current.record, findVersion(writer, id, table, branch).record)) return undefined
    require?.(writer, table)
    if (current && changed.snapshot === base) return { version: current.version }
    putVersion(writer, table, branch, version, versionOf(changed.snapshot, transactionId, now))
    return { version }
  })
  return committed && { ...changed, ...committed, base }
}

function isSame(a: VersionRecord, b: VersionRecord): boolean {
  return a.manifest_path === b.manifest_path && a.transaction_id === b.transaction_id
}

/** A branch as it is now: its latest version (none when the table is declared only), and the next number. */
function headIn(
  reader: Reader,
  { id, branch, require }: Pick<RowsChange<unknown, unknown>, 'id' | 'branch' | 'require'>,
  table: FoundTable,
) {
  require?.(reader, table)
  return {
    current: readBase(reader, id, table, branch),
    version: nextVersion(headOf(reader, id, table, branch)),
  }
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

/** Applies a change that needs rows to be there. */
export async function applyToRows(
  { id }: TableToChange,
  change: Change,
  current: Snapshot | undefined,
  options: ApplyOptions,
): Promise<Changed> {
  if (current === undefined) throw declaredOnly(id)
  return change.apply(current, options)
}

/** Gives a table that is declared only its first rows. */
export async function createRows(
  { engine, place }: TableToChange,
  rows: Rows,
  options: ApplyOptions,
): Promise<Changed> {
  const snapshot = await engine.create(place.prefix, rows, options)
  return { snapshot, affected: snapshot.rows }
}
