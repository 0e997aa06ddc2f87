import { CatalogError } from '../../base/errors.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { recordFormat, type VersionRecord } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import type { ApplyOptions, Snapshot } from '../../engine/table/index.ts'
import { isWaiting, objectPathOf } from '../lance/dataset.ts'
import type { CopiedVersion } from '../lance/dataset-files.ts'
import { type ContentFolder, locationOf } from '../locations/locations.ts'
import { folderIn } from '../locations/shared-content.ts'
import type { FoundTable } from '../lookup/names.ts'
import type { FoundVersion, WantedVersion } from '../lookup/versions.ts'
import type { AnyRowsContext } from './context.ts'
import { findOfLance, rowsOf } from './read.ts'
import { NotOurs, openVersion, versionOf } from './rows.ts'

/** A version to clone. Without a snapshot, Lance wrote it. */
export interface CloneSource {
  readonly table: FoundTable
  readonly found: FoundVersion
  readonly snapshot?: Snapshot
}

/** The version to clone. `check` may refuse where our own engine wrote it, in the same read. */
export async function findCloneSource(
  core: AnyRowsContext,
  id: Identifier,
  wanted: WantedVersion,
  check: (reader: Reader) => void,
): Promise<CloneSource> {
  try {
    return await openVersion(core, id, wanted, check)
  } catch (error) {
    const lances = await findOfLance(core, id, wanted).catch((other) => {
      // What the records lack, the files of Lance may have. Else it is not there.
      throw error instanceof NotOurs ? other : error
    })
    if (lances === undefined) throw error
    await core.store.read(check)
    return lances
  }
}

/** The columns of a version of Lance. */
export async function schemaOfLance(core: AnyRowsContext, id: Identifier, { table, found }: CloneSource) {
  return (await rowsOf(core, id, table, found).describe()).schema
}

/** Where a clone is written, and of what. */
interface Cloning {
  readonly from: ContentFolder
  readonly target: { readonly location: string; readonly folder: ContentFolder }
  readonly work: ApplyOptions
}

/** What was written for a clone. */
export interface ClonedRows {
  readonly version: number
  /** The folders of other tables whose files the clone names. */
  readonly folders: readonly ContentFolder[]
  record(transactionId: string, now: number): VersionRecord
  sync?(): Promise<void>
}

export async function cloneOfOurs(
  core: AnyRowsContext,
  source: Snapshot,
  {
    from,
    target,
    isShallow,
    transactionId,
    work,
  }: Cloning & { readonly isShallow: boolean; readonly transactionId: string },
): Promise<ClonedRows> {
  const { prefix, content } = target.folder
  const writing = (await core.engine(content)).writtenBy(transactionId)
  const given = { ...work, version: 1 }
  const snapshot = isShallow
    ? await writing.shareRows(prefix, source, given)
    : await writing.copyRows(prefix, source, from.content, given)
  return {
    version: 1,
    folders: (snapshot.manifest.bases ?? []).map((base) => folderIn(target.folder, base)),
    record: (transactionId, now) => versionOf(snapshot, transactionId, now),
    sync: () => writing.sync(),
  }
}

/** Manifests of Lance name other datasets by absolute URLs, and its cleanup knows of no clones: so files are copied. */
export async function cloneOfLance(
  core: AnyRowsContext,
  { table, found }: CloneSource,
  { from, target, work }: Cloning,
): Promise<ClonedRows> {
  if (isWaiting(core, found.record)) {
    throw new CatalogError(
      'InvalidTableState',
      `Version ${found.version} of the table to clone waits for the commit of this transaction. Clone it after the transaction.`,
    )
  }
  const location = locationOf(core.contentRoots, table.id, table.record)
  const { copyOfVersion } = await import('../lance/copy-dataset.ts')
  const copy = await copyOfVersion({ ...from, location }, found, work.signal)
  const [{ version, path }] = copy.versions as [CopiedVersion]
  const sizes = await copy.writeTo({ ...target.folder, location: target.location }, work.signal)
  return {
    version,
    folders: [],
    record: (transaction_id, timestamp_millis) => ({
      v: recordFormat,
      manifest_path: objectPathOf(target.location) + path,
      manifest_size: sizes.get(path)!,
      timestamp_millis,
      transaction_id,
    }),
  }
}
