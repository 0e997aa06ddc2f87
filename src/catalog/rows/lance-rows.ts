import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import { keys, type VersionRecord } from '../../base/store/records.ts'
import type { DatasetToRead, DatasetVersions } from '../../engine/lance/index.ts'
import { toVersionFor } from '../lance/dataset.ts'
import { nameOf, versionOfName } from '../locations/lance-files.ts'
import { locationOf } from '../locations/locations.ts'
import type { FoundTable } from '../lookup/names.ts'
import { type FoundVersion, onBranch } from '../lookup/versions.ts'
import type { AnyRowsContext } from './context.ts'
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
  const shown = `version ${found.version} of ${formatIdentifier(id)}${onBranch(found.branch)}`
  const dataset = { ...toRead(core, id, table, found), shown }
  return {
    count: async (predicate, work) => (await core.lance()).count(dataset, predicate, work),
    query: async (asked) => (await core.lance()).query(dataset, asked),
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
    async indexes(names) {
      const all = await (await core.lance()).indexes(dataset)
      return names.map((wanted) => {
        const index = all.find(({ name }) => name === wanted)
        if (index === undefined) throw noIndex(id, wanted, all)
        const { createdAt, segments, ...rest } = index
        return { ...rest, files: segments, createdAt: createdAt?.getTime() ?? record.timestamp_millis }
      })
    },
  }
}

function toRead(
  core: AnyRowsContext,
  id: Identifier,
  table: FoundTable,
  { branch, version, record }: FoundVersion,
): Omit<DatasetToRead, 'shown'> {
  const location = locationOf(core.contentRoots, table.id, table.record)
  const { manifest_path, e_tag = '', transaction_id } = record
  const staging = core.staging?.transactionId ?? ''
  return {
    location,
    branch,
    version,
    key: JSON.stringify([table.id, branch, version, manifest_path, e_tag, transaction_id, staging]),
    versions: readVersions(core, id, table, { branch, version, record }),
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

function noIndex(id: Identifier, wanted: string, all: readonly { readonly name: string }[]): CatalogError {
  const names = all.map(({ name }) => name).join(', ')
  return new CatalogError(
    'TableIndexNotFound',
    `The table ${formatIdentifier(id)} has no index ${JSON.stringify(wanted.slice(0, 64))}. ${names === '' ? 'It has none' : `It has ${names.slice(0, 1_000)}`}.`,
  )
}
