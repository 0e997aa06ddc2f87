import { CatalogError } from '../../base/errors.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import type { VersionRecord } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import type { ChangeResult, Snapshot, TableEngine } from '../../engine/table/index.ts'
import type { ContentFolder } from '../locations/locations.ts'
import { type FoundTable, lookUpTable, tableById, tableNotFound } from '../lookup/names.ts'
import { findVersion, headOf, nextVersion, putVersion } from '../lookup/versions.ts'
import { noteFoundSubject } from '../transactions/commit.ts'
import { TargetReplaced } from '../transactions/retry.ts'
import type { Attempt, KnownHead, RowsChange, RowsChanged } from './change-types.ts'
import type { RowsContext } from './context.ts'
import { foreign, manifestOf, requireOurs, versionOf } from './rows.ts'

/** A next version that is written, and that no record names yet. */
export interface Draft {
  /** The head that the commit requires. */
  readonly from: KnownHead
  /** The head after the commit. */
  readonly to: KnownHead
  readonly base: Snapshot | undefined
  readonly changed: ChangeResult
}

/** What a commit made, unless another one was first, and the current head. */
export interface Committed {
  readonly made: RowsChanged | undefined
  readonly head: KnownHead
}

/** Reads the head of the branch of an attempt. */
export function readHead(core: RowsContext, { change, found }: Attempt): Promise<KnownHead> {
  return core.store.read((reader) => headIn(reader, change, currentTable(reader, change.id, found.table)))
}

/** Writes the next version of a branch. The files are durable once the engine of the attempt has synced. */
export async function writeDraft(
  core: RowsContext,
  { change, found, prepared, transaction, work }: Attempt,
  from: KnownHead,
): Promise<Draft> {
  const { current, version } = from
  const base =
    current && (from.snapshot ?? (await openBase(found.engine, found.folder, change, current.record)))
  const changed = await change.apply(found, prepared, base, { ...work, version })
  transaction.releaseSlot()
  if (current && changed.snapshot === base) return { from, to: from, base, changed }
  const record = versionOf(changed.snapshot, transaction.id, core.now())
  const { snapshot } = changed
  const to = { current: { branch: change.branch, version, record }, snapshot, version: version + 1 }
  return { from, to, base, changed }
}

/** The rows of the latest version, for a change of them. */
export function openBase(
  engine: Pick<TableEngine, 'open'>,
  { prefix }: ContentFolder,
  { ifUnreadable }: Pick<RowsChange<unknown, unknown>, 'ifUnreadable'>,
  record: VersionRecord,
): Promise<Snapshot> {
  return engine.open(prefix, manifestOf(record)).catch((error) => {
    const isBroken = error instanceof CatalogError && error.code === 'InvalidTableState'
    if (isBroken && ifUnreadable !== undefined) return ifUnreadable
    throw error
  })
}

/** Commits a version that is written and synced, if the head is as required. */
export async function commitDraft(
  { change, found, inline, transaction }: Attempt,
  { from, to, base, changed }: Draft,
): Promise<Committed> {
  const { id, branch } = change
  let head = to
  const committed = await transaction.commit((committing) => {
    const { writer, now, transactionId } = committing
    // A change follows its table to another name, but begins with the one that has the name now.
    if (found.isGuess && lookUpTable(writer, id)?.id !== found.table.id) throw new TargetReplaced(id)
    const table = currentTable(writer, id, found.table)
    noteFoundSubject(committing, table, found.table)
    head = headIn(writer, change, table)
    if (!isSame(head, from)) return undefined
    // A change without effect makes no version.
    if (to === from) return { version: from.current!.version }
    inline?.record(writer, [changed.snapshot.manifest.path])
    // From the store: the head in memory may have the time of its draft, and not of its commit.
    const before = head.current?.record
    putVersion(
      writer,
      { table, branch, before },
      from.version,
      versionOf(changed.snapshot, transactionId, now),
    )
    head = to
    return { version: from.version }
  })
  return { made: committed && { ...changed, ...committed, base }, head }
}

/**
 * Whether two heads are the same. A branch that was deleted and created again may have the same number, but not the
 * same content.
 */
export function isSame(a: KnownHead, b: KnownHead): boolean {
  return (
    a.version === b.version &&
    a.current?.version === b.current?.version &&
    a.current?.record.manifest_path === b.current?.record.manifest_path &&
    a.current?.record.transaction_id === b.current?.record.transaction_id
  )
}

/** The current head of a branch; without a latest version when the table is declared only. */
export function headIn(
  reader: Reader,
  { id, branch, require }: Pick<RowsChange<unknown, unknown>, 'id' | 'branch' | 'require'>,
  table: FoundTable,
): KnownHead {
  require?.(reader, table)
  const head = headOf(reader, id, table, branch)
  const version = nextVersion(head)
  if (head.latest === null) {
    if (table.record.registered) throw foreign(id)
    return { current: undefined, version }
  }
  const current = findVersion(reader, id, table, branch)
  requireOurs(id, current)
  return { current, version }
}

/** The same table as it is now, perhaps with another name. */
function currentTable(reader: Reader, id: Identifier, table: FoundTable): FoundTable {
  const current = tableById(reader, table.id)
  if (current === undefined) throw tableNotFound(reader, id)
  return current
}
