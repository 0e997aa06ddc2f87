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
import { concernsFound } from '../transactions/commit.ts'
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

/** Where a branch is, as far as this process knows. A commit compares it with the truth. */
interface KnownHead {
  /** Its latest version; undefined when the table is declared only. */
  readonly current: FoundVersion | undefined
  /** The number of the next version. */
  readonly version: number
}

/** A table as a change of rows begins with it. */
export interface Start extends TableToChange {
  readonly head: KnownHead
}

/** A branch whose rows are being changed in this process. */
export interface BranchAtWork {
  /** How many changes are under way. */
  changes: number
  head: KnownHead
}

const mostAttempts = 200

/** Changes rows of a table in a transaction of its own, which begins with what `start` found, if that is given. */
export async function changeRows<Checked, Prepared>(
  core: Core,
  options: OperationOptions,
  change: RowsChange<Checked, Prepared>,
  start?: Start,
): Promise<RowsChanged & { transaction_id: string }> {
  if (core.staging === undefined) return changeIn(core, options, change, start)
  const soft = core.staging.softly()
  try {
    return await changeIn({ ...core, store: soft.store }, options, change, start)
  } catch (error) {
    // The failure may follow from rows that others replace before the commit.
    soft.harden()
    throw error
  }
}

/** Finds a table whose rows are to be changed, with one read. Refuses one whose rows are another engine's. */
export async function findToChange(
  core: Core,
  change: Pick<RowsChange<unknown, unknown>, 'id' | 'branch' | 'require'>,
): Promise<Start> {
  const { id } = change
  const { table, place, head } = await core.store.read((reader) => {
    const table = findTable(reader, id)
    // First: where the content is out of reach, nothing else matters.
    const place = requirePlace(core, id, table)
    return { table, place, head: headIn(reader, change, table) }
  })
  return whileThere(core, id, table, async () => {
    const engine = await core.engine(place.content)
    // Rows of two engines at one location would be taken for leftovers of one another.
    if (head.current === undefined && (await hasForeignRows(core, table))) throw foreign(id)
    const base = head.current && (await openManifest(engine, place, head.current.record))
    return { id, table, place, engine, base, head }
  })
}

async function changeIn<Checked, Prepared>(
  core: Core,
  options: OperationOptions,
  change: RowsChange<Checked, Prepared>,
  given: Start | undefined,
): Promise<RowsChanged & { transaction_id: string }> {
  const { id } = change
  const start = given ?? (await findToChange(core, change))
  const { table } = start
  const key = `${table.id}/${change.branch}`
  const branch = core.branches.get(key) ?? { changes: 0, head: start.head }
  core.branches.set(key, branch)
  branch.changes++
  // Others in this process may have committed since a read that began earlier.
  if (start.head.version > branch.head.version) branch.head = start.head
  try {
    return await whileThere(core, id, table, async () => {
      const checked = (await change.check?.(start)) as Checked
      const about = { operation: change.operation, subject: id, subjectId: table.id }
      return runLong(core, options, about, async (transaction, work) => {
        const found: TableToWrite = { ...start, engine: start.engine.writtenBy(transaction.id) }
        const prepared = await change.prepare(found, work, checked)
        const attempt = { found, prepared, transaction, work }
        return core.inTurn(key, () => commitVersion(core, change, attempt, branch))
      })
    })
  } finally {
    if (--branch.changes === 0) core.branches.delete(key)
  }
}

/** Makes and commits the next version, on what others committed first if need be. */
async function commitVersion<Checked, Prepared>(
  core: Core,
  change: RowsChange<Checked, Prepared>,
  attempt: Attempt<Prepared> & { readonly transaction: LongTransaction },
  branch: BranchAtWork,
): Promise<RowsChanged & { transaction_id: string }> {
  const { found, prepared, transaction, work } = attempt
  for (let n = 0; n < mostAttempts; n++) {
    work.signal?.throwIfAborted()
    // Where others commit all the time, what the last refusal told is old after the pause.
    const known = n < 2 ? branch.head : undefined
    const { made, head }: Attempted = await attemptVersion(core, change, attempt, known)
    branch.head = head
    if (made) {
      const { version, affected, counts } = made
      core.staging?.changed({
        change,
        found,
        prepared,
        transactionId: transaction.id,
        version,
        affected,
        counts,
      })
      return { ...made, transaction_id: transaction.id }
    }
    if (n > 0) await sleep(Math.random() * Math.min(n, 20), undefined, { signal: work.signal })
  }
  throw new CatalogError(
    'ConcurrentModification',
    `Other writers committed first ${mostAttempts} times in a row to ${formatIdentifier(change.id)}${onBranch(change.branch)}. Try again when there is less going on.`,
  )
}

/** What is to be committed as the next version, and how. */
export interface Attempt<Prepared> {
  readonly found: TableToWrite
  readonly prepared: Prepared
  readonly transaction: Pick<LongTransaction, 'commit'>
  readonly work: WorkOptions
}

/** What an attempt made, unless somebody else was first, and where the branch is now. */
export interface Attempted {
  readonly made: RowsChanged | undefined
  readonly head: KnownHead
}

/** One try to make and commit the next version, on the head that is known or else on the one that a read finds. */
export async function attemptVersion<Checked, Prepared>(
  core: Core,
  change: RowsChange<Checked, Prepared>,
  { found, prepared, transaction, work }: Attempt<Prepared>,
  known?: KnownHead,
): Promise<Attempted> {
  const { id, branch } = change
  const { engine, place } = found
  const { current, version } =
    known ??
    (await core.store.read((reader) => headIn(reader, change, currentTable(reader, id, found.table))))
  const base = current && (await openManifest(engine, place, current.record))
  const changed = await change.apply(found, prepared, base, { ...work, version })
  await engine.sync()
  work.signal?.throwIfAborted()
  let head: KnownHead | undefined
  const committed = await transaction.commit((committing) => {
    const { writer, now, transactionId } = committing
    const table = currentTable(writer, id, found.table)
    concernsFound(committing, table, found.table)
    head = headIn(writer, change, table)
    // A branch that was deleted and created anew may have the same number, but not the same content.
    if (head.version !== version || !isSame(head.current, current)) return undefined
    if (current && changed.snapshot === base) return { version: current.version }
    const record = versionOf(changed.snapshot, transactionId, now)
    putVersion(writer, table, branch, version, record)
    head = { current: { branch, version, record }, version: version + 1 }
    return { version }
  })
  return { made: committed && { ...changed, ...committed, base }, head: head! }
}

function isSame(a: FoundVersion | undefined, b: FoundVersion | undefined): boolean {
  return (
    a?.version === b?.version &&
    a?.record.manifest_path === b?.record.manifest_path &&
    a?.record.transaction_id === b?.record.transaction_id
  )
}

/** A branch as it is now. */
function headIn(
  reader: Reader,
  { id, branch, require }: Pick<RowsChange<unknown, unknown>, 'id' | 'branch' | 'require'>,
  table: FoundTable,
): KnownHead {
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

/** Gives a table that is declared only the columns of some rows, and changes it at once. */
export async function createAnd(
  { id, engine, place }: TableToChange,
  rows: Rows,
  inserts: boolean,
  change: (base: Snapshot) => Promise<Change>,
  options: ApplyOptions,
): Promise<Changed> {
  if (!inserts) throw declaredOnly(id)
  const { toArrowTable } = await import('../table/index.ts')
  const empty = await engine.create(place.prefix, await toArrowTable([], { schema: rows.schema }))
  return (await change(empty)).apply(empty, options)
}
