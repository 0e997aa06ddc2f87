import { once } from '../../base/once.ts'
import type { Reader } from '../../base/store/store.ts'
import type { ApplyOptions, Change, ChangeResult, Overwrite, Snapshot } from '../../engine/table/index.ts'
import { hasForeignRows } from '../locations/declared-only.ts'
import { inlineOf } from '../locations/inline-objects.ts'
import { type FoundTable, findTable } from '../lookup/names.ts'
import { type LongTransaction, runLong } from '../transactions/long-transaction.ts'
import { TargetReplaced } from '../transactions/retry.ts'
import { type VacuumsBefore, vacuumsBegun } from '../transactions/work-record.ts'
import { headIn, openBase } from './attempt.ts'
import type {
  Attempt,
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
import type { AnyRowsContext, RowsContext, RowsOptions } from './context.ts'
import { isForLance } from './format.ts'
import type { Rows } from './input.ts'
import { byItsEngine, declaredOnly, foreign, NotOurs, requireContentFolder, retryIfReplaced } from './rows.ts'

/** The table at the start of a change of rows. */
export interface Start extends TableToChange {
  readonly head: KnownHead
  readonly vacuums: VacuumsBefore
}

/** The result of a change of rows, whoever wrote them. */
export interface TableChanged extends Pick<ChangeResult, 'affected' | 'counts'> {
  readonly version: number
  readonly transaction_id: string
  /** The new version, where it is our own engine's. */
  readonly snapshot?: Snapshot
}

const lanceChange = /* @__PURE__ */ once(() => import('./lance-change.ts'))

/** Changes rows of a table, by the engine that wrote them, in a transaction of its own. */
export async function changeTable<Checked, Prepared>(
  core: AnyRowsContext,
  options: RowsOptions,
  change: RowsChange<Checked, Prepared>,
): Promise<TableChanged> {
  const byOurs = async () => {
    const made = await changeRows(core, options, change)
    core.background?.changed(change, made.version)
    return made
  }
  return byItsEngine<TableChanged>(byOurs, async () => {
    if (change.lances === undefined && change.lancesManifest === undefined) return undefined
    const { changeLance } = await lanceChange()
    return changeLance(core, options, change)
  })
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
export async function findToChange(core: RowsContext, change: Finding): Promise<Start> {
  const found = await core.store.read((reader) => findIn(core, reader, change))
  return retryIfReplaced(core, change.id, found.table, () => opened(core, change, found))
}

type Finding = Pick<RowsChange<unknown, unknown>, 'id' | 'branch' | 'require' | 'ifUnreadable'>

/** A table as records describe it. */
type Found = Pick<Start, 'table' | 'folder' | 'head' | 'vacuums'>

function findIn(core: RowsContext, reader: Reader, change: Finding): Found {
  const table = findTable(reader, change.id)
  // First: if the content is out of reach, nothing else matters.
  const folder = requireContentFolder(core, change.id, table)
  const vacuums: VacuumsBefore = core.staging ? 'harmless' : vacuumsBegun(reader)
  return { table, folder, head: headIn(reader, change, table), vacuums }
}

async function opened(core: RowsContext, change: Finding, found: Found): Promise<Start> {
  const { id } = change
  const { table, folder, head } = found
  const engine = await core.engine(folder.content)
  // Each of two engines at one location would take the rows of the other for leftovers.
  if (head.current === undefined && (await hasForeignRows(core, table))) throw foreign(id)
  if (head.current === undefined && isForLance(core, table.record.properties))
    throw new NotOurs(declaredOnly(id).message)
  const base = head.current && (await openBase(engine, folder, change, head.current.record))
  return { id, engine, base, ...found }
}

/**
 * Makes a change from a guess of its table and head, which saves the trip that would read them: the commit compares
 * them. Resolves to undefined where nothing can be guessed, or the guess was outdated. No error follows from a guess
 * alone.
 */
async function changeGuessed<Checked, Prepared>(
  core: RowsContext,
  options: RowsOptions,
  change: RowsChange<Checked, Prepared>,
): Promise<(RowsChanged & { transaction_id: string }) | undefined> {
  // A progress listener learns of a transaction at once, so nothing may begin anew.
  if (!change.mayGuess || change.branch !== '' || options.onProgress || core.staging) return undefined
  const found = core.store.guess?.((reader) => findIn(core, reader, change))
  if (found?.head.current === undefined) return undefined
  const head = { ...found.head, isGuess: true }
  const start = await opened(core, change, { ...found, head }).catch(() => undefined)
  if (start === undefined) return undefined
  try {
    return await changeFrom(core, options, change, { ...start, isGuess: true })
  } catch (error) {
    if (error instanceof TargetReplaced) return undefined
    throw error
  }
}

/** Whether a table and the head of its main branch are as they were guessed. */
function isAsGuessed({ table }: Start, now: FoundTable): boolean {
  const { latest, last } = table.record.main
  return now.id === table.id && now.record.main.latest === latest && now.record.main.last === last
}

async function changeIn<Checked, Prepared>(
  core: RowsContext,
  options: RowsOptions,
  change: RowsChange<Checked, Prepared>,
  given: Start | undefined,
): Promise<RowsChanged & { transaction_id: string }> {
  const made = given === undefined ? await changeGuessed(core, options, change) : undefined
  return made ?? changeFrom(core, options, change, given ?? (await findToChange(core, change)))
}

async function changeFrom<Checked, Prepared>(
  core: RowsContext,
  options: RowsOptions,
  change: RowsChange<Checked, Prepared>,
  start: Start,
): Promise<RowsChanged & { transaction_id: string }> {
  const { id } = change
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
  const isSame = start.isGuess ? (now: FoundTable) => isAsGuessed(start, now) : undefined
  const unlessReplaced = <T>(work: () => Promise<T>) => retryIfReplaced(core, id, table, work, isSame)
  try {
    return await unlessReplaced(async () => {
      const checked = (await change.check?.(start)) as Checked
      const { operation } = change
      const about = { operation, subject: id, subjectId: table.id, vacuums: start.vacuums }
      return runLong(core, options, about, (transaction, work) => {
        const made = async () => {
          const attempt = await attemptOf(core, options, change, start, { transaction, work, checked })
          const made = await commitWaiting(core, key, branch, attempt)
          return { ...made, transaction_id: transaction.id }
        }
        // What follows from an outdated guess is no failure to record.
        return start.isGuess ? unlessReplaced(made) : made()
      })
    })
  } finally {
    if (--branch.changes === 0) core.branches.delete(key)
  }
}

/** Does the slow work of a change. */
async function attemptOf<Checked, Prepared>(
  core: RowsContext,
  options: RowsOptions,
  change: RowsChange<Checked, Prepared>,
  start: Start,
  { transaction, work, checked }: Pick<Attempt, 'work'> & { transaction: LongTransaction; checked: Checked },
): Promise<Attempt> {
  const { content } = start.folder
  const small = core.staging ? core.staging.inlineOf(content) : inlineOf(core, content)
  const found: TableToWrite = { ...start, engine: start.engine.writtenBy(transaction.id, small) }
  // A transaction over many operations keeps the small objects of all of them.
  const inline = core.staging ? undefined : small
  // A source may be slow. Memory bounds how many of them there are.
  if (change.awaitsSource) transaction.releaseSlot()
  const prepare = async () => change.prepare(found, work, checked)
  return {
    change: options[clientRules] ? refusingUnreadable(change, options) : change,
    found,
    prepared: await prepare().catch((error) => {
      inline?.release()
      throw error
    }),
    inline,
    transaction,
    work,
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
      await requireReadable(options, changed.snapshot.schema, { before: current?.schema, isOfLance: false })
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
