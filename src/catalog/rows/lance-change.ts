import { randomUUID } from 'node:crypto'
import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import { keys, type VersionRecord } from '../../base/store/records.ts'
import type {
  DatasetToChange,
  DatasetVersion,
  HeadOfBranch,
  RowsChanged,
  StagedVersion,
} from '../../engine/lance/index.ts'
import { datasetFolderOf, type StagedManifests } from '../lance/dataset.ts'
import type { MakeManifest } from '../lance/own-version.ts'
import { publishing } from '../lance/publish.ts'
import { reconcile } from '../lance/reconcile.ts'
import { createVersion, type VersionEntry } from '../lance/record-version.ts'
import { stageVersion } from '../lance/stage-version.ts'
import { isLastPublished } from '../lance/unchanged-files.ts'
import { ownCredentials } from '../locations/credentials.ts'
import { hasForeignRows } from '../locations/declared-only.ts'
import { nameAfter, nameOf } from '../locations/lance-files.ts'
import { locationOf } from '../locations/locations.ts'
import { type FoundTable, findTable } from '../lookup/names.ts'
import { type FoundVersion, findVersion, headOf } from '../lookup/versions.ts'
import { type ChangeContext, commit } from '../transactions/commit.ts'
import { type LongTransaction, runLong } from '../transactions/long-transaction.ts'
import { isRetryable, TargetReplaced } from '../transactions/retry.ts'
import type { RowsChange } from './change-types.ts'
import type { AnyRowsContext, RowsOptions } from './context.ts'
import { isForLance } from './format.ts'
import { insertArrived } from './lance-arriving.ts'
import { createDeclaredByLance } from './lance-create.ts'
import { LanceGuard } from './lance-guard.ts'
import { readManifest, shownAs } from './lance-manifest.ts'
import { toRead } from './lance-read.ts'
import { isOfLance } from './lance-rows.ts'
import { latestPublished } from './published.ts'
import { requireContentFolder, retryIfReplaced } from './rows.ts'
import { inVersionRow } from './version-row.ts'

/** A change of rows, as far as Lance needs it. It has one of `lances` and `lancesManifest`. */
interface LanceChange
  extends Pick<
    RowsChange<unknown, unknown>,
    'operation' | 'id' | 'branch' | 'require' | 'first' | 'awaitsSource' | 'lances' | 'lancesManifest'
  > {
  /** Whether Lance makes several versions, each of which is recorded by a commit of its own. */
  readonly makesSeveral?: boolean
}

/** The result of a change by Lance. */
export interface LanceChanged extends RowsChanged {
  readonly version: number
  readonly transaction_id: string
  /** Whether the change made a version. */
  readonly hasVersion: boolean
}

/**
 * Changes rows that Lance wrote, in a transaction of its own. Lance writes the next version and asks for it to be
 * recorded. That record is the commit of the transaction, so there is one record of the change, under the operation's
 * name. Resolves to undefined where no dataset of Lance is.
 */
export async function changeLance(
  core: AnyRowsContext,
  options: RowsOptions,
  change: LanceChange,
): Promise<LanceChanged | undefined> {
  const { id, branch, operation } = change
  const { table, latest } = await findLatest(core, change)
  if (latest === undefined) return createFirst(core, options, change, table)
  if (!isOfLance(latest.record)) return undefined
  requireContentFolder(core, id, table)
  requirePublishable(core, id, table)
  return retryIfReplaced(core, id, table, async () => {
    const { lances, lancesManifest } = change
    const lance = lances && (await core.lance())
    // The files of Lance are taken by no vacuum while they are young.
    const about = { operation, subject: id, subjectId: table.id, vacuums: 'harmless' as const }
    return runLong(core, options, about, async (transaction, work) => {
      const commits = new Commits(core, change, table, transaction, work.signal)
      // Changes of this process would only refuse each other's versions.
      const inTurn = <T>(make: () => Promise<T>) => core.inTurn(`${table.id}/lance/${branch}`, make)
      const byLance = (make: NonNullable<typeof lances>) =>
        inTurn(() =>
          lance!
            .change(commits.dataset(latest), (schema) => make(schema, work), work)
            .catch((error) => {
              throw commits.failure ?? error
            }),
        )
      const written = async (): Promise<RowsChanged> => {
        if (lancesManifest) return inTurn(async () => commits.write(await lancesManifest()))
        if (!change.awaitsSource) return byLance(lances!)
        // A source may be slow, and must not keep others from their work.
        transaction.releaseSlot()
        const arriving = await lances!(await lance!.columns(toRead(core, id, table, latest)), work)
        if (arriving.kind !== 'insert') return byLance(() => arriving)
        const target = { id, table, latest, transactionId: transaction.id, overwrite: arriving.overwrite }
        return insertArrived(core, target, arriving.rows, work, {
          held: (rows) => byLance(() => ({ ...arriving, rows })),
          made: async (make, affected) => {
            await inTurn(() => commits.write(make))
            return { affected }
          },
        })
      }
      const changed = await written().finally(() => commits.durable())
      const hasVersion = commits.made !== undefined
      // The transaction of a change without effect ends without a version.
      if (!hasVersion || change.makesSeveral) await transaction.commit(() => ({}))
      const version = commits.made ?? latest.version
      return { ...changed, version, hasVersion, transaction_id: transaction.id }
    })
  })
}

/** The latest version of the branch, also where others published it past the catalog. */
async function findLatest(core: AnyRowsContext, { id, branch, require }: LanceChange) {
  const find = () =>
    core.store.read((reader) => {
      const table = findTable(reader, id)
      require?.(reader, table)
      const isEmpty = headOf(reader, id, table, branch).latest === null
      return { table, latest: isEmpty ? undefined : findVersion(reader, id, table, branch) }
    })
  // What is not there, or refuses the change, may be so because of what the records lack.
  const first = await find().catch(() => undefined)
  if (first?.latest) {
    const { table, latest } = first
    if (!isOfLance(latest.record) || (await isLastPublished(core, table, latest))) return first
  }
  await reconcile(core, id, branch)
  return find()
}

/** Makes the first version of a table that is declared for Lance, if the change brings rows for it. */
async function createFirst(
  core: AnyRowsContext,
  options: RowsOptions,
  { operation, id, branch, first, awaitsSource = false }: LanceChange,
  table: FoundTable,
): Promise<LanceChanged | undefined> {
  if (first === undefined || branch !== '' || !isForLance(core, table.record.properties)) return undefined
  if (table.record.registered || (await hasForeignRows(core, table))) return undefined
  const pending = await first()
  const made = await createDeclaredByLance(core, options, { operation, id, pending, awaitsSource }, table)
  return { ...made, hasVersion: true }
}

function requirePublishable(core: AnyRowsContext, id: Identifier, table: FoundTable): void {
  if (datasetFolderOf(core, table) !== undefined) return
  throw new CatalogError(
    'InvalidTableState',
    `The versions of ${formatIdentifier(id)} cannot be published where its content lies. Change its rows with Lance, at the table's location.`,
  )
}

/** How often a version is written that other writers are faster than. Lance tries as often. */
const mostAttempts = 20

/** The versions of a dataset for one change of it, which ends in one commit. */
class Commits {
  /** The version that was made. */
  made: number | undefined
  madeAs: DatasetVersion | undefined
  /** Why a version could not be recorded, where Lance cannot mend that by another try. */
  failure: CatalogError | undefined
  readonly #core: AnyRowsContext
  readonly #change: LanceChange
  readonly #table: FoundTable
  readonly #transaction: LongTransaction
  readonly #signal: AbortSignal | undefined
  readonly #guard: LanceGuard
  /** Versions that Lance was told of, whose names may not be durable. */
  readonly #named: Promise<unknown>[] = []

  constructor(
    core: AnyRowsContext,
    change: LanceChange,
    table: FoundTable,
    transaction: LongTransaction,
    signal: AbortSignal | undefined,
  ) {
    this.#core = core
    this.#change = change
    this.#table = table
    this.#transaction = transaction
    this.#signal = signal
    this.#guard = new LanceGuard(core, change.id, table)
  }

  dataset(latest: FoundVersion): DatasetToChange {
    const { id, branch } = this.#change
    const { id: internalId, record } = this.#table
    const location = locationOf(this.#core.contentRoots, internalId, record)
    // Within a transaction, others are at work on the same branch outside.
    const isKept = this.#core.staging === undefined
    return {
      ...(isKept && {
        head: this.#headAt(latest.version, latest.record),
        headAfter: () => this.#headAfter(latest),
      }),
      location,
      storageOptions: () => ownCredentials(this.#core, location, id),
      branch,
      guard: this.#guard,
      shown: shownAs(id, latest),
      versions: {
        latest: (branch) => this.#latest(branch),
        find: (branch, version) => this.#find(branch, version),
        create: (staged) => this.#create(staged),
      },
    }
  }

  /** Makes the version after the latest one by a manifest that is written here. */
  async write(make: MakeManifest): Promise<RowsChanged> {
    for (let attempt = 1; ; attempt++) {
      const staged = await this.#stage(make)
      try {
        await this.#create(staged)
        return { affected: 0 }
      } catch (error) {
        const isLate = error instanceof CatalogError && error.code === 'ConcurrentModification'
        if (!isLate || isRetryable(error) || attempt === mostAttempts) throw error
      }
    }
  }

  /** Writes the manifest of the next version beside its final name, as Lance does. */
  async #stage(make: MakeManifest): Promise<StagedVersion> {
    const { id, branch } = this.#change
    const latest = await latestPublished(this.#core, id, this.#table, branch)
    if (latest === undefined) throw new TargetReplaced(id)
    const uuid = randomUUID()
    const made = await readManifest(this.#core, id, this.#table, latest, (manifest) =>
      make({ version: latest.version, manifest }, { uuid, millis: this.#core.now() }),
    )
    if (made === undefined) {
      throw new CatalogError(
        'InvalidTableState',
        `The manifest of ${shownAs(id, latest)} uses what this release does not know of Lance's format. Make this change with Lance, at the table's location.`,
      )
    }
    const name = nameAfter(nameOf(latest.record.manifest_path))
    const folder = datasetFolderOf(this.#core, this.#table)!
    return { version: latest.version + 1, ...(await stageVersion(folder, { branch, name, uuid, made })) }
  }

  /** What identifies a version of the branch as its latest one. */
  #headAt(version: number, { manifest_path, e_tag = '' }: DatasetVersion | VersionRecord): HeadOfBranch {
    const branch = JSON.stringify([this.#table.id, this.#change.branch])
    return { branch, version, key: JSON.stringify([version, manifest_path, e_tag]) }
  }

  #headAfter(before: FoundVersion): HeadOfBranch | undefined {
    const { made, madeAs } = this
    return made === undefined
      ? this.#headAt(before.version, before.record)
      : madeAs && this.#headAt(made, madeAs)
  }

  async #latest(branch: string): Promise<DatasetVersion | undefined> {
    const latest = await latestPublished(this.#core, this.#change.id, this.#table, branch)
    return latest && this.#tell(latest)
  }

  async #find(branch: string, version: number): Promise<DatasetVersion | undefined> {
    const key = keys.version(this.#table.id, branch, version)
    const record = await this.#core.store.read((reader) => reader.get<VersionRecord>(key))
    return record && this.#tell({ branch, version, record })
  }

  /** Lance may read the files of each version that it is told of. */
  async #tell(found: FoundVersion): Promise<DatasetVersion> {
    try {
      const told = await this.#guard.tell(found)
      await this.#guard.allow([...this.#guard.places])
      return told
    } catch (error) {
      if (error instanceof CatalogError) this.failure = error
      throw error
    }
  }

  async #create(staged: StagedVersion): Promise<DatasetVersion> {
    const { id } = this.#change
    const { branch, version, manifest_path, manifest_size, e_tag, naming_scheme } = staged
    const entry: VersionEntry = { id, branch, version, manifest_path, manifest_size, e_tag, naming_scheme }
    try {
      this.#signal?.throwIfAborted()
      await this.#guard.requireSame()
      const record = (manifests: StagedManifests) =>
        inVersionRow(this.#core, entry, this.#signal, () => this.#record(entry, manifests))
      const made = await this.#publish(entry, record)
      this.made = version
      this.madeAs = made
      return made
    } catch (error) {
      if (error instanceof CatalogError && error.code === 'ConcurrentModification') {
        // Lance tries again, on what others published meanwhile.
        await reconcile(this.#core, id, branch)
      } else if (error instanceof CatalogError) this.failure = error
      throw error
    }
  }

  /** Lance goes on once a manifest has its name, while that is synced: the change itself waits for {@link durable}. */
  #publish(
    entry: VersionEntry,
    record: (manifests: StagedManifests) => Promise<DatasetVersion>,
  ): Promise<DatasetVersion> {
    return new Promise((resolve, reject) => {
      const onNamed = (made: DatasetVersion) => {
        this.#named.push(published)
        resolve(made)
      }
      const published = publishing(this.#core, [entry], record, { isReconciled: true, onNamed })
      published.then(resolve, reject)
    })
  }

  /** Waits until the names of the versions that were made are durable, and those that Lance gave them are gone. */
  async durable(): Promise<void> {
    await Promise.all(this.#named)
  }

  /** Records a version by the commit of the transaction. A version that is refused leaves the transaction open. */
  async #record(entry: VersionEntry, manifests: StagedManifests): Promise<DatasetVersion> {
    const create = (committing: ChangeContext) => {
      this.#change.require?.(committing.writer, this.#table)
      return createVersion(this.#core, committing, entry, undefined, manifests)
    }
    if (this.#change.makesSeveral) {
      return (await commit(this.#core, this.#change.operation, this.#change.id, create)).version
    }
    let refusal: unknown
    const made = await this.#transaction.commit((committing) => {
      try {
        return create(committing)
      } catch (error) {
        refusal = error
        return undefined
      }
    })
    if (made === undefined) throw refusal
    return made.version
  }
}
