import type { ApplyOptions, Change, ChangeResult, Overwrite, Snapshot } from '../../engine/table/index.ts'
import { hasForeignRows } from '../locations/declared-only.ts'
import { inlineOf } from '../locations/inline-objects.ts'
import { findTable } from '../lookup/names.ts'
import { runLong } from '../transactions/long-transaction.ts'
import { type VacuumsBefore, vacuumsBegun } from '../transactions/work-record.ts'
import { headIn, openBase } from './attempt.ts'
import type {
  BranchAtWork,
  KnownHead,
  RowsChange,
  RowsChanged,
  TableToChange,
  TableToWrite,
} from './change-types.ts'
import { requireReadable } from './client-columns.ts'
import { clientRules } from './client-rules.ts'
import { commitWaiting } from './commit-waiting.ts'
import type { RowsContext, RowsOptions } from './context.ts'
import type { Rows } from './input.ts'
import { declaredOnly, foreign, requireContentFolder, retryIfReplaced } from './rows.ts'

/** The table at the start of a change of rows. */
export interface Start extends TableToChange {
  readonly head: KnownHead
  readonly vacuums: VacuumsBefore
}

/** Changes rows of a table in a transaction of its own, which begins with what `start` found, if that is given. */
export async function changeRows<Checked, Prepared>(
  core: RowsContext,
  options: RowsOptions,
  change: RowsChange<Checked, Prepared>,
  start?: Start,
): Promise<RowsChanged & { transaction_id: string }> {
  if (core.staging === undefined) return changeIn(core, options, change, start)
  const tolerant = core.staging.partialReads()
  try {
    return await changeIn({ ...core, store: tolerant.store }, options, change, start)
  } catch (error) {
    // The failure may follow from rows that others replace before the commit.
    tolerant.harden()
    throw error
  }
}

/** Finds a table whose rows are to be changed, with one read. Refuses one whose rows are another engine's. */
export async function findToChange(
  core: RowsContext,
  change: Pick<RowsChange<unknown, unknown>, 'id' | 'branch' | 'require' | 'ifUnreadable'>,
): Promise<Start> {
  const { id } = change
  const { table, folder, head, vacuums } = await core.store.read((reader) => {
    const table = findTable(reader, id)
    // First: if the content is out of reach, nothing else matters.
    const folder = requireContentFolder(core, id, table)
    const vacuums: VacuumsBefore = core.staging ? 'harmless' : vacuumsBegun(reader)
    return { table, folder, head: headIn(reader, change, table), vacuums }
  })
  return retryIfReplaced(core, id, table, async () => {
    const engine = await core.engine(folder.content)
    // Each of two engines at one location would take the rows of the other for leftovers.
    if (head.current === undefined && (await hasForeignRows(core, table))) throw foreign(id)
    const base = head.current && (await openBase(engine, folder, change, head.current.record))
    return { id, table, folder, engine, base, head, vacuums }
  })
}

async function changeIn<Checked, Prepared>(
  core: RowsContext,
  options: RowsOptions,
  change: RowsChange<Checked, Prepared>,
  given: Start | undefined,
): Promise<RowsChanged & { transaction_id: string }> {
  const { id } = change
  const start = given ?? (await findToChange(core, change))
  const { table } = start
  const key = `${table.id}/${change.branch}`
  const branch: BranchAtWork = core.branches.get(key) ?? {
    changes: 0,
    head: start.head,
    waiting: [],
  }
  core.branches.set(key, branch)
  branch.changes++
  // Others in this process may have committed since a read that began earlier.
  if (start.head.version > branch.head.version) branch.head = start.head
  try {
    return await retryIfReplaced(core, id, table, async () => {
      const checked = (await change.check?.(start)) as Checked
      const about = {
        operation: change.operation,
        subject: id,
        subjectId: table.id,
        vacuums: start.vacuums,
      }
      return runLong(core, options, about, async (transaction, work) => {
        const { content } = start.folder
        const small = core.staging ? core.staging.inlineOf(content) : inlineOf(core, content)
        const found: TableToWrite = { ...start, engine: start.engine.writtenBy(transaction.id, small) }
        // A transaction over many operations keeps the small objects of all of them.
        const inline = core.staging ? undefined : small
        // A source may be slow. Memory bounds how many of them there are.
        if (change.awaitsSource) transaction.releaseSlot()
        const prepare = async () => change.prepare(found, work, checked)
        const prepared = await prepare().catch((error) => {
          inline?.release()
          throw error
        })
        const attempt = {
          change: options[clientRules] ? refusingUnreadable(change, options) : change,
          found,
          prepared,
          inline,
          transaction,
          work,
        }
        const made = await commitWaiting(core, key, branch, attempt)
        return { ...made, transaction_id: transaction.id }
      })
    })
  } finally {
    if (--branch.changes === 0) core.branches.delete(key)
  }
}

/** The change, which refuses to leave columns that the requesting client cannot read. */
function refusingUnreadable<Checked, Prepared>(
  change: RowsChange<Checked, Prepared>,
  options: RowsOptions,
): RowsChange<Checked, Prepared> {
  return {
    ...change,
    apply: async (found, prepared, current, work) => {
      const changed = await change.apply(found, prepared, current, work)
      await requireReadable(options, changed.snapshot.schema, current?.schema)
      return changed
    },
  }
}

/** Applies a change that needs rows to be there. */
export async function applyToRows(
  { id }: TableToChange,
  change: Change,
  current: Snapshot | undefined,
  options: ApplyOptions,
): Promise<ChangeResult> {
  if (current === undefined) throw declaredOnly(id)
  return change.apply(current, options)
}

/** Gives a table that is declared only its first rows, which are written. */
export async function createRows(written: Overwrite, options: ApplyOptions): Promise<ChangeResult> {
  const snapshot = await written.create(options)
  return { snapshot, affected: snapshot.rows }
}

/** Gives a table that is declared only the columns of some rows, and changes it at once. */
export async function createAnd(
  { id, engine, folder }: TableToChange,
  { schema }: Pick<Rows, 'schema'>,
  inserts: boolean,
  change: (base: Snapshot) => Promise<Change>,
  options: ApplyOptions,
): Promise<ChangeResult> {
  if (!inserts) throw declaredOnly(id)
  const { toArrowTable } = await import('../../engine/table/index.ts')
  const empty = await engine.create(folder.prefix, await toArrowTable([], { schema }))
  return (await change(empty)).apply(empty, options)
}
