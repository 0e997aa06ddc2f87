import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier } from '../../base/model/identifier.ts'
import { keys, type TransactionRecord, type VersionRecord } from '../../base/store/records.ts'
import { finalNameOf, nameOf, versionsFolderOf, waitingPathOf } from '../locations/lance-files.ts'
import { tableById } from '../lookup/names.ts'
import { onBranch } from '../lookup/versions.ts'
import type { Participant } from '../transactions/context.ts'
import type { LanceStaging } from './context.ts'
import { type WaitingVersion, waitingVersions } from './dataset.ts'
import { linkAll } from './link-all.ts'
import { reconcile } from './reconcile.ts'

/*
 * Inside of a transaction over many operations, manifests wait for its commit outside of the folders that Lance lists.
 * Records inside already have the final names. Answers name the waiting file, so that writers of the transaction open
 * it.
 */

const participants = new WeakMap<LanceStaging, WaitingManifests>()

/** The waiting manifests of a transaction. */
export function waitingManifests(staging: LanceStaging): WaitingManifests {
  const found = participants.get(staging)
  if (found !== undefined) return found
  const made = new WaitingManifests(staging)
  participants.set(staging, made)
  staging.join(made)
  return made
}

class WaitingManifests implements Participant {
  readonly #staging: LanceStaging
  readonly #versions: Map<string, WaitingVersion>
  readonly #checks: (() => Promise<void>)[] = []

  constructor(staging: LanceStaging) {
    this.#staging = staging
    this.#versions = waitingVersions(staging)
  }

  /** Adds a check to be made right before the commit. */
  check(check: () => Promise<void>): void {
    this.#checks.push(check)
  }

  /**
   * Defers the publication of a manifest. Its writer's file stays until {@link removeOriginal}. Returns false for a
   * retry, whose manifest waits already, or when there is no such file.
   */
  async add(version: WaitingVersion): Promise<boolean> {
    const { staging_path } = version
    const isNew = !this.#versions.has(staging_path)
    if (isNew) this.#versions.set(staging_path, version)
    const { from, to } = this.#paths(version)
    const linked = await version.folder.shared.link(from, to)
    if (isNew && linked === 'missing') this.#versions.delete(staging_path)
    return isNew && linked !== 'missing'
  }

  /** Removes a waiting manifest, since its version was refused. */
  async withdraw(version: WaitingVersion): Promise<void> {
    this.#versions.delete(version.staging_path)
    await this.#remove(version)
  }

  /** Removes the name that the writer gave. */
  async removeOriginal(version: WaitingVersion): Promise<void> {
    await version.folder.content.remove(this.#paths(version).from).catch(() => {})
  }

  async prepare(): Promise<void> {
    await Promise.all(this.#checks.map((check) => check()))
    await Promise.all(this.#branches().map((version) => this.#prepareBranch(version)))
  }

  /** Versions that were published past the catalog meanwhile count: the transaction fails before it commits. */
  async #prepareBranch(version: WaitingVersion): Promise<void> {
    const { branch, table, folder } = version
    const { outside } = this.#staging
    await this.#reconcile(version)
    if ((await outside.store.read((reader) => tableById(reader, table))) !== undefined) return
    // Nothing is recorded of a table that the transaction makes.
    const published = new Set(await folder.shared.names(folder.prefix + versionsFolderOf(branch)))
    for (const other of this.#versions.values()) {
      const isOfBranch = other.table === table && other.branch === branch
      if (isOfBranch && published.has(finalNameOf(nameOf(other.staging_path))!)) throw taken(other)
    }
  }

  #reconcile({ id, branch, table }: WaitingVersion): Promise<unknown> {
    return reconcile(this.#staging.outside, id, branch, (reader) => tableById(reader, table))
  }

  async committed(): Promise<void> {
    const { outside } = this.#staging
    const recorded = await outside.store.read((reader) =>
      [...this.#versions.values()].filter(({ table, branch, version, staging_path }) => {
        // The versions of a deregistered table stay with it. Those of a dropped table are removed.
        if (tableById(reader, table) === undefined) return true
        const record = reader.get<VersionRecord>(keys.version(table, branch, version))
        return record?.staging_path === staging_path
      }),
    )
    recorded.sort((a, b) => a.version - b.version)
    const remove = (versions: Iterable<WaitingVersion>) =>
      Promise.all(Array.from(versions, (version) => this.#remove(version)))
    if (await linkAll(recorded.map((version) => this.#publication(version)))) {
      await remove(this.#versions.values())
      return
    }
    // Another process published some, or the disk fails. The next request publishes the rest.
    const isRecorded = new Set(recorded)
    await remove([...this.#versions.values()].filter((version) => !isRecorded.has(version)))
    await Promise.allSettled(this.#branches().map((version) => this.#reconcile(version)))
    await this.#requirePublished(recorded)
  }

  async givenUp(): Promise<void> {
    if (this.#versions.size === 0) return
    // A commit may fail and still have succeeded, as when its answer is lost. Then its versions are published.
    const { outside, transactionId } = this.#staging
    const record = await outside.store.read((reader) =>
      reader.get<TransactionRecord>(keys.transaction(transactionId)),
    )
    if (record?.status === 'Succeeded') return this.committed()
    await Promise.all(Array.from(this.#versions.values(), (version) => this.#remove(version)))
  }

  async #requirePublished(versions: readonly WaitingVersion[]): Promise<void> {
    const lost = await this.#staging.outside.store.read((reader) =>
      versions.find(({ table, branch, version, staging_path }) => {
        const record = reader.get<VersionRecord>(keys.version(table, branch, version))
        return record !== undefined && record.staging_path !== staging_path
      }),
    )
    if (lost === undefined) return
    throw new CatalogError(
      'InvalidTableState',
      `The transaction ${this.#staging.transactionId} is committed, but not whole. Another program published ${describeVersion(lost)} at the same moment, without asking the catalog, and its version counts. Write that table's changes again, and let all programs ask the catalog.`,
    )
  }

  /** One version of each branch. */
  #branches(): readonly WaitingVersion[] {
    const byBranch = new Map<string, WaitingVersion>()
    for (const version of this.#versions.values())
      byBranch.set(JSON.stringify([version.table, version.branch]), version)
    return [...byBranch.values()]
  }

  /** Where a manifest is, and where it waits. */
  #paths({ folder: { prefix }, branch, staging_path }: WaitingVersion) {
    const name = nameOf(staging_path)
    return {
      from: prefix + versionsFolderOf(branch) + name,
      to: prefix + waitingPathOf(this.#staging.transactionId, name),
    }
  }

  #publication(version: WaitingVersion) {
    const { content, prefix } = version.folder
    const final = finalNameOf(nameOf(version.staging_path))!
    return { content, from: this.#paths(version).to, to: prefix + versionsFolderOf(version.branch) + final }
  }

  async #remove(version: WaitingVersion): Promise<void> {
    const { to } = this.#paths(version)
    await version.folder.content.remove(to.slice(0, to.lastIndexOf('/') + 1)).catch(() => {})
  }
}

function taken(version: WaitingVersion): CatalogError {
  return new CatalogError(
    'ConcurrentModification',
    `Another program published ${describeVersion(version)}, without asking the catalog. Open the table again, and do the transaction on what is there.`,
  )
}

function describeVersion({ id, branch, version }: WaitingVersion): string {
  return `version ${version} of the table ${formatIdentifier(id)}${onBranch(branch)}`
}
