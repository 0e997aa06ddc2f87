import type { Identifier } from '../../base/model/identifier.ts'
import { keys, type VersionRecord } from '../../base/store/records.ts'
import type { DatasetToCompare, DatasetToRead, DatasetVersions } from '../../engine/lance/index.ts'
import { layoutOf } from '../lance/layout.ts'
import { ownCredentials } from '../locations/credentials.ts'
import { locationOf } from '../locations/locations.ts'
import type { FoundTable } from '../lookup/names.ts'
import type { FoundVersion } from '../lookup/versions.ts'
import type { AnyRowsContext } from './context.ts'
import { LanceGuard } from './lance-guard.ts'
import { readManifest, shownAs } from './lance-manifest.ts'
import { latestPublished } from './published.ts'

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
