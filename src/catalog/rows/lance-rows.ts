import { CatalogError, unsupported } from '../../base/errors.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import { noIndex } from '../../base/model/missing-index.ts'
import { keys, type VersionRecord } from '../../base/store/records.ts'
import type { DatasetToCompare, DatasetToRead, DatasetVersions } from '../../engine/lance/index.ts'
import { isWaiting, toVersionFor } from '../lance/dataset.ts'
import { layoutOf } from '../lance/layout.ts'
import { ownCredentials } from '../locations/credentials.ts'
import { nameOf, versionOfName, versionsFolderOf, waitingPathOf } from '../locations/lance-files.ts'
import { locationOf } from '../locations/locations.ts'
import type { FoundTable } from '../lookup/names.ts'
import { type FoundVersion, onBranch } from '../lookup/versions.ts'
import type { AnyRowsContext } from './context.ts'
import { latestPublished } from './published.ts'
import { requireContentFolder } from './rows.ts'
import type { VersionRows } from './version-rows.ts'

/** Whether Lance wrote a version: its manifest has a name that Lance gives. */
export function isOfLance({ rows, manifest_path, metadata }: VersionRecord): boolean {
  if (rows !== undefined || metadata?.table_type !== undefined) return false
  return versionOfName(nameOf(manifest_path)) !== undefined
}

/** Rows of Lance, by Lance itself. It opens the very manifest that the record of the version names. */
export function lanceRows(
  core: AnyRowsContext,
  id: Identifier,
  table: FoundTable,
  found: FoundVersion,
): VersionRows {
  const { record } = found
  const dataset = toRead(core, id, table, found)
  return {
    count: async (predicate, work) => (await core.lance()).count(dataset, predicate, work),
    query: async (asked) => (await core.lance()).query(dataset, asked),
    blobs: async (wanted, work) => (await core.lance()).blobs(dataset, wanted, work),
    explain: async (asked) => (await core.lance()).explain(dataset, asked),
    async stats() {
      const { totalBytes, numRows, numIndices, fragmentStats } = await (await core.lance()).stats(dataset)
      return {
        bytes: totalBytes,
        rows: numRows,
        indices: numIndices,
        fragments: fragmentStats.numFragments,
        smallFragments: fragmentStats.numSmallFragments,
        lengths: fragmentStats.lengths,
      }
    },
    async describe() {
      const lance = await core.lance()
      const [schema, { fragmentStats }] = await Promise.all([lance.schema(dataset), lance.stats(dataset)])
      return { schema, metadata: schema.metadata ?? new Map(), fragments: fragmentStats.numFragments }
    },
    indexNames: async () => (await (await core.lance()).indexes(dataset)).map(({ name }) => name),
    prewarm: async (name) => (await core.lance()).prewarm(dataset, name),
    writeSpec: async () => (await core.lance()).writeSpec(dataset),
    async indexes(names) {
      const all = await (await core.lance()).indexes(dataset)
      return names.map((wanted) => {
        const index = all.find(({ name }) => name === wanted)
        if (index === undefined) {
          throw noIndex(
            wanted,
            all.map(({ name }) => name),
          )
        }
        return { ...index, createdAt: index.createdAt ?? record.timestamp_millis }
      })
    },
  }
}

/** A version that is to be compared with another one. */
export function toCompare(
  core: AnyRowsContext,
  id: Identifier,
  table: FoundTable,
  found: FoundVersion,
): DatasetToCompare {
  return { ...toRead(core, id, table, found), layout: () => readManifest(core, id, table, found, layoutOf) }
}

/** Most bytes of a manifest that is read here: it is in memory as a whole. */
const mostManifestBytes = 256 << 20

/** Reads the manifest of a version by a function that throws a `RangeError` for one that is damaged. */
export async function readManifest<T>(
  core: AnyRowsContext,
  id: Identifier,
  table: FoundTable,
  found: FoundVersion,
  read: (manifest: Uint8Array) => T,
): Promise<T> {
  const { content, prefix } = requireContentFolder(core, id, table)
  const { manifest_path, manifest_size: size = 0 } = found.record
  if (size > mostManifestBytes) {
    throw unsupported(
      `The manifest of ${shownAs(id, found)} has ${size.toLocaleString('en')} bytes, and one of more than ${mostManifestBytes.toLocaleString('en')} is not read as a whole.`,
      'Optimize the table, which leaves fewer fragments.',
    )
  }
  const manifest = await content.get(prefix + manifestPathOf(core, found))
  try {
    return read(manifest ?? new Uint8Array())
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new CatalogError(
      'InvalidTableState',
      `The manifest of ${shownAs(id, found)} is ${manifest ? 'damaged' : 'missing'} (${manifest_path}). Bring its files back, or use another version.`,
      { cause: error },
    )
  }
}

/** What errors call a version. */
export function shownAs(id: Identifier, { branch, version }: FoundVersion): string {
  return `version ${version} of ${formatIdentifier(id)}${onBranch(branch)}`
}

/** A version that is to be read. */
export function toRead(
  core: AnyRowsContext,
  id: Identifier,
  table: FoundTable,
  found: FoundVersion,
): DatasetToRead {
  const { branch, version, record } = found
  const location = locationOf(core.contentRoots, table.id, table.record)
  const { manifest_path, e_tag = '', transaction_id } = record
  const staging = core.staging?.transactionId ?? ''
  return {
    location,
    branch,
    version,
    shown: shownAs(id, found),
    key: JSON.stringify([table.id, branch, version, manifest_path, e_tag, transaction_id, staging]),
    versions: readVersions(core, id, table, found),
    storageOptions: () => ownCredentials(core, location, id),
  }
}

/** The versions as their records say. The wanted one is the latest of its branch: nothing after it is looked at. */
function readVersions(
  core: AnyRowsContext,
  id: Identifier,
  table: FoundTable,
  wanted: FoundVersion,
): DatasetVersions {
  const pinned = toVersionFor(core, wanted.version, wanted.record)
  return {
    async latest(branch) {
      if (branch === wanted.branch) return pinned
      const latest = await latestPublished(core, id, table, branch)
      return latest && toVersionFor(core, latest.version, latest.record)
    },
    async find(branch, version) {
      if (branch === wanted.branch && version === wanted.version) return pinned
      const record = await core.store.read((reader) =>
        reader.get<VersionRecord>(keys.version(table.id, branch, version)),
      )
      return record && toVersionFor(core, version, record)
    },
  }
}

/** Where the manifest of a version lies, within the folder of its dataset. */
function manifestPathOf(core: AnyRowsContext, { branch, record }: FoundVersion): string {
  if (!isWaiting(core, record)) return versionsFolderOf(branch) + nameOf(record.manifest_path)
  return waitingPathOf(core.staging!.transactionId, nameOf(record.staging_path!))
}
