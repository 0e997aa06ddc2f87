import { CatalogError, invalid } from '../../../base/errors.ts'
import type { Identifier } from '../../../base/model/identifier.ts'
import { keys, type TableRecord, type VersionRecord } from '../../../base/store/records.ts'
import type { Reader } from '../../../base/store/store.ts'
import { copyOfAll, copyOfVersion, type DatasetCopy } from '../../lance/copy-dataset.ts'
import { datasetFolderOf } from '../../lance/dataset.ts'
import type { RecordedVersion } from '../../lance/dataset-files.ts'
import { reconcile } from '../../lance/reconcile.ts'
import { readRefs } from '../../lance/ref-files.ts'
import { isOfLance } from '../../rows/lance-rows.ts'
import type { MaintenanceContext } from '../context.ts'
import { tablesWhere } from '../tables.ts'
import type { TableJson } from './format.ts'
import type { TableWithRefs } from './namespace-tree.ts'

/** The folder of a dataset, within that of its table in an export. */
export const datasetFolder = 'dataset/'

/** Records what programs published past the catalog, so that a snapshot of the records has it. */
export async function recordPublished(core: MaintenanceContext): Promise<void> {
  for await (const { internalId, id, record } of tablesWhere(core, mayBeOfLance)) {
    const folder = datasetFolderOf(core, { id: internalId, record })
    if (id === undefined || folder === undefined) continue
    await reconcile(core, id, '')
    for (const branch of (await readRefs(folder, 'branches')).keys()) await reconcile(core, id, branch)
  }
}

/** Whether the latest version is Lance's, or there is none: then nobody asked for those in the folder yet. */
function mayBeOfLance(reader: Reader, internalId: string, { main }: TableRecord): boolean {
  if (main.latest === null) return true
  const latest = reader.get<VersionRecord>(keys.version(internalId, '', main.latest))
  return latest !== undefined && isOfLance(latest)
}

/** A copy of the dataset of a table: of its latest version or, with `history`, of all. Undefined where there is none. */
export async function datasetOf(
  table: TableWithRefs,
  history: boolean,
  signal?: AbortSignal,
): Promise<DatasetCopy | undefined> {
  const { folder, location, record } = table
  if (folder?.content.shared === undefined) return undefined
  const recorded = table.versions
    .filter(({ record }) => isOfLance(record))
    .map(({ key, record }): RecordedVersion => ({ branch: String(key[2]), version: Number(key[3]), record }))
  const latest = recorded.find(({ branch, version }) => branch === '' && version === record.main.latest)
  if (latest === undefined) return undefined
  const from = { ...folder, location }
  const wanted = new Set(recorded.map(({ branch, version }) => `${version} ${branch}`))
  const all = await copyOfAll(from, recorded, (branch, version) => wanted.has(`${version} ${branch}`), signal)
  return all && !history ? copyOfVersion(from, latest, signal) : all
}

/** The dataset in a folder of an export. Fails where it lacks a version that the export lists. */
export async function exportedDataset(
  path: string,
  { dataset, versions }: TableJson,
  signal?: AbortSignal,
): Promise<DatasetCopy | undefined> {
  const { openContent } = await import('../../../contents/open.ts')
  const { pathToFileURL } = await import('node:url')
  const location = pathToFileURL(`${path}/${datasetFolder.slice(0, -1)}`).href
  const from = { content: await openContent(location), prefix: '', location, namedAs: dataset!.location }
  const listed = new Set(versions.map(({ branch, version }) => `${version} ${branch}`))
  const found = await copyOfAll(from, [], (branch, version) => listed.has(`${version} ${branch}`), signal)
  if (found === undefined || found.versions.length < listed.size) {
    throw invalid(
      `${path}/${datasetFolder} lacks versions of Lance that the export lists, or their files. Export the catalog again.`,
    )
  }
  return found
}

/** An error with the name of the table that it is about. */
export function about(id: Identifier, error: unknown, done: string): unknown {
  if (!(error instanceof CatalogError)) return error
  return new CatalogError(error.code, `${id.join('.')} cannot be ${done}: ${error.message}`, { cause: error })
}
