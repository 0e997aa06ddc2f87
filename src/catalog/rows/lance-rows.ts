import type { Identifier } from '../../base/model/identifier.ts'
import { noIndex } from '../../base/model/missing-index.ts'
import { keys, type VersionRecord } from '../../base/store/records.ts'
import type { DatasetToCompare, DatasetToRead, DatasetVersions } from '../../engine/lance/index.ts'
import { layoutOf } from '../lance/layout.ts'
import { ownCredentials } from '../locations/credentials.ts'
import { nameOf, versionOfName } from '../locations/lance-files.ts'
import { locationOf } from '../locations/locations.ts'
import type { FoundTable } from '../lookup/names.ts'
import type { FoundVersion } from '../lookup/versions.ts'
import type { AnyRowsContext } from './context.ts'
import { LanceGuard } from './lance-guard.ts'
import { readManifest, shownAs } from './lance-manifest.ts'
import { latestPublished } from './published.ts'
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
  const guard = new LanceGuard(core, id, table)
  return {
    location,
    branch,
    version,
    shown: shownAs(id, found),
    key: JSON.stringify([table.id, branch, version, manifest_path, e_tag, transaction_id, staging]),
    guard,
    versions: readVersions(core, id, table, found, guard),
    storageOptions: () => ownCredentials(core, location, id),
  }
}

/** The versions as their records say. The wanted one is the latest of its branch: nothing after it is looked at. */
function readVersions(
  core: AnyRowsContext,
  id: Identifier,
  table: FoundTable,
  wanted: FoundVersion,
  guard: LanceGuard,
): DatasetVersions {
  return {
    async latest(branch) {
      if (branch === wanted.branch) return guard.tell(wanted)
      const latest = await latestPublished(core, id, table, branch)
      return latest && guard.tell(latest)
    },
    async find(branch, version) {
      if (branch === wanted.branch && version === wanted.version) return guard.tell(wanted)
      const record = await core.store.read((reader) =>
        reader.get<VersionRecord>(keys.version(table.id, branch, version)),
      )
      return record && guard.tell({ branch, version, record })
    },
  }
}
