import { CatalogError, unsupported } from '../../base/errors.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import type { StagedVersion } from '../../engine/lance/index.ts'
import type { WorkOptions } from '../../engine/table/index.ts'
import { isReachedByLance, type StagedManifests, type TableAt } from '../lance/dataset.ts'
import { publishing } from '../lance/publish.ts'
import { createVersion, type VersionEntry } from '../lance/record-version.ts'
import { ownCredentials } from '../locations/credentials.ts'
import { locationOf } from '../locations/locations.ts'
import { type FoundTable, lookUpTable } from '../lookup/names.ts'
import type { ChangeContext } from '../transactions/commit.ts'
import { runLong } from '../transactions/long-transaction.ts'
import { TargetReplaced } from '../transactions/retry.ts'
import type { PendingRows } from './change-types.ts'
import { requireReadable } from './client-columns.ts'
import type { AnyRowsContext, RowsOptions } from './context.ts'
import type { Rows } from './input.ts'
import { createArrived } from './lance-arriving.ts'

/** A dataset of Lance to make, for a table that has no version. */
export interface NewDataset {
  readonly id: Identifier
  readonly table: TableAt
  readonly rows: Rows
  readonly transactionId: string
  /** Commits the table with its first version. Resolves to no version if another table has the name. */
  readonly commit: CommitTable
}

/** Commits a table by `putFirst`, which puts its first version and answers with it. */
export type CommitTable = <T>(
  putFirst: (change: ChangeContext, table: FoundTable) => T,
) => Promise<{ readonly first?: T } | undefined>

/** Refuses a table that Lance could not write. */
export function requireLanceReaches(core: AnyRowsContext, id: Identifier, table: TableAt): void {
  if (isReachedByLance(core, table)) return
  const location = locationOf(core.contentRoots, table.id, table.record)
  throw unsupported(
    `The table ${formatIdentifier(id)} would lie at ${location}, where Lance cannot write.`,
    'Leave out the format lance, or open a catalog in a directory or a bucket.',
  )
}

/**
 * Writes rows by Lance, as the first version of a table. Lance asks for that version to be recorded, and this is the
 * commit of the table, too. Answers with the number of rows.
 */
export async function createDataset(
  core: AnyRowsContext,
  { id, table, rows, transactionId, commit }: NewDataset,
  work: WorkOptions,
): Promise<number> {
  let refusal: unknown
  const record = async ({
    branch,
    version,
    manifest_path,
    manifest_size,
    e_tag,
    naming_scheme,
  }: StagedVersion) => {
    const entry: VersionEntry = { id, branch, version, manifest_path, manifest_size, e_tag, naming_scheme }
    const recorded = (manifests: StagedManifests) =>
      commit((change) => createVersion(core, change, entry, undefined, manifests).version)
    try {
      work.signal?.throwIfAborted()
      const made = await publishing(core, [entry], recorded, { find: () => table })
      if (made?.first !== undefined) return made.first
      throw new CatalogError('ConcurrentModification', `Another table has the name ${formatIdentifier(id)}.`)
    } catch (error) {
      refusal ??= error
      throw error
    }
  }
  const lance = await core.lance()
  const shown = `the new table ${formatIdentifier(id)}`
  const location = locationOf(core.contentRoots, table.id, table.record)
  const dataset = {
    location,
    storageOptions: () => ownCredentials(core, location, id),
    branch: '',
    shown,
    versions: { latest: async () => undefined, find: async () => undefined, create: record },
  }
  return createArrived(core, { id, table, transactionId, shown }, rows, work, {
    held: (rows) =>
      lance.create(dataset, rows, work).catch((error) => {
        throw refusal ?? error
      }),
    made: async (staged, count) => {
      await record(staged)
      return count
    },
  })
}

/** The first rows of a table that is declared only. */
export interface FirstRows {
  readonly operation: string
  readonly id: Identifier
  readonly pending: PendingRows
  /** Whether they come from a source that may be slow, and must not keep others from their work. */
  readonly awaitsSource: boolean
}

/** Gives a table that is declared only its first version, by Lance, in a transaction of its own. */
export async function createDeclaredByLance(
  core: AnyRowsContext,
  options: RowsOptions,
  { operation, id, pending, awaitsSource }: FirstRows,
  declared: FoundTable,
): Promise<{ readonly affected: number; readonly version: number; readonly transaction_id: string }> {
  requireLanceReaches(core, id, declared)
  // No vacuum takes what another engine writes at the location of a table.
  const about = { operation, subject: id, subjectId: declared.id, vacuums: 'harmless' as const }
  return runLong(core, options, about, async (transaction, given) => {
    if (awaitsSource) transaction.releaseSlot()
    const { rows, work } = await pending.build(given)
    await requireReadable(options, rows.schema, { isOfLance: true })
    const commit: CommitTable = (putFirst) =>
      transaction.commit((change) => {
        const now = lookUpTable(change.writer, id)
        if (now?.id !== declared.id || now.record.main.latest !== null) throw new TargetReplaced(id)
        return { first: putFirst(change, now) }
      })
    const affected = await createDataset(
      core,
      { id, table: declared, rows, transactionId: transaction.id, commit },
      work,
    )
    return { affected, version: 1, transaction_id: transaction.id }
  })
}
