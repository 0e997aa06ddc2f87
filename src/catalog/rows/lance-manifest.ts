import { CatalogError, unsupported } from '../../base/errors.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import { type TableAt, waitingWithin } from '../lance/dataset.ts'
import { nameOf, versionsFolderOf } from '../locations/lance-files.ts'
import { tableById } from '../lookup/names.ts'
import { type FoundVersion, findVersion, onBranch } from '../lookup/versions.ts'
import type { AnyRowsContext } from './context.ts'
import { requireContentFolder } from './rows.ts'

/** Most bytes of a manifest that is read here: it is in memory as a whole. */
const mostManifestBytes = 256 << 20

/** Reads the manifest of a version by a function that throws a `RangeError` for one that is damaged. */
export async function readManifest<T>(
  core: AnyRowsContext,
  id: Identifier,
  table: TableAt,
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
  const manifest = await content.get(prefix + manifestWithin(core, found))
  if (manifest === undefined) await requireRecorded(core, id, table, found)
  try {
    return read(manifest ?? new Uint8Array())
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    const what = manifest ? `damaged (${manifest_path}). ${error.message}` : `missing (${manifest_path}).`
    throw new CatalogError(
      'InvalidTableState',
      `The manifest of ${shownAs(id, found)} is ${what} Bring its files back, or use another version.`,
      { cause: error },
    )
  }
}

/** Throws that a version is not there, if it was deleted since it was found. */
async function requireRecorded(
  core: AnyRowsContext,
  id: Identifier,
  table: TableAt,
  { branch, version }: FoundVersion,
): Promise<void> {
  await core.store.read((reader) => {
    const now = tableById(reader, table.id)
    if (now) findVersion(reader, id, now, branch, version)
  })
}

/** What errors call a version. */
export function shownAs(id: Identifier, { branch, version }: FoundVersion): string {
  return `version ${version} of ${formatIdentifier(id)}${onBranch(branch)}`
}

/** Where the manifest of a version lies, within the folder of its dataset. */
export function manifestWithin(core: AnyRowsContext, { branch, record }: FoundVersion): string {
  return waitingWithin(core, record) ?? versionsFolderOf(branch) + nameOf(record.manifest_path)
}
