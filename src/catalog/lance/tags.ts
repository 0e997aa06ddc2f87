import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import { findTable } from '../lookup/names.ts'
import {
  findVersion,
  findWanted,
  onBranch,
  tagExists,
  tagNotFound,
  type WantedVersion,
} from '../lookup/versions.ts'
import type { LanceContext } from './context.ts'
import {
  checkRefName,
  type Dataset,
  findDataset,
  isThere,
  manifestPathOf,
  requireOutside,
} from './dataset.ts'
import { reconcile } from './reconcile.ts'
import { readRef, refBytes, refPath, type TagFile } from './ref-files.ts'

/* Tags of datasets: Lance's own files are changed, so that its clients see the tags and its cleanup keeps the versions. */

/** The version that a tag is to name. */
interface Target {
  readonly id: Identifier
  readonly tag: string
  readonly branch: string
  readonly version: number
}

/** A tag of a dataset. Throws `TableTagNotFound`. */
export async function requireTag({ folder }: Dataset, id: Identifier, tag: string): Promise<TagFile> {
  const found = await readRef(folder, 'tags', tag)
  if (found === undefined) throw tagNotFound(id, tag)
  return found
}

export async function createTag(core: LanceContext, dataset: Dataset, target: Target): Promise<void> {
  const { folder } = dataset
  const { id, tag } = target
  requireOutside(core, id, 'tags')
  checkRefName('tag', tag)
  const existing = await readRef(folder, 'tags', tag)
  if (existing) throw tagExists(id, tag, existing.version)
  const size = await findManifest(core, target)
  const now = new Date(core.now()).toISOString()
  const file = { ...fieldsOf(target, size), createdAt: now, updatedAt: now, metadata: {} }
  try {
    await folder.content.put(refPath(folder, 'tags', tag), refBytes(file))
  } catch (error) {
    const other = await readRef(folder, 'tags', tag)
    throw other ? tagExists(id, tag, other.version) : error
  }
  try {
    await requireManifest(core, dataset, target)
  } catch (error) {
    await folder.content.remove(refPath(folder, 'tags', tag))
    throw error
  }
}

export async function moveTag(core: LanceContext, dataset: Dataset, target: Target): Promise<void> {
  requireOutside(core, target.id, 'tags')
  const { folder, table } = dataset
  await core.inTurn(`${table.id}/tag/${target.tag}`, async () => {
    const existing = await requireTag(dataset, target.id, target.tag)
    const size = await findManifest(core, target)
    const updatedAt = new Date(core.now()).toISOString()
    const file = { ...existing, ...fieldsOf(target, size), updatedAt }
    await folder.shared.replace(refPath(folder, 'tags', target.tag), refBytes(file))
  })
}

export async function deleteTag(
  core: LanceContext,
  dataset: Dataset,
  id: Identifier,
  tag: string,
): Promise<void> {
  requireOutside(core, id, 'tags')
  await requireTag(dataset, id, tag)
  await dataset.folder.content.remove(refPath(dataset.folder, 'tags', tag))
}

function fieldsOf({ branch, version }: Target, manifestSize: number) {
  return { branch: branch === '' ? null : branch, version, manifestSize }
}

/** The size of the manifest of a version. Throws what looking for the version throws. */
async function findManifest(core: LanceContext, { id, branch, version }: Target): Promise<number> {
  await reconcile(core, id, branch)
  const { record } = await core.store.read((reader) =>
    findVersion(reader, id, findTable(reader, id), branch, version),
  )
  return record.manifest_size ?? 0
}

/** A cleanup may have removed a version while it was tagged. */
async function requireManifest(
  core: LanceContext,
  { folder }: Dataset,
  { id, branch, version }: Target,
): Promise<void> {
  const { record } = await core.store.read((reader) =>
    findVersion(reader, id, findTable(reader, id), branch, version),
  )
  const path = manifestPathOf(folder, branch, record.manifest_path)
  if (await isThere(folder.content, path)) return
  throw new CatalogError(
    'TableVersionNotFound',
    `Version ${version} of the table ${formatIdentifier(id)}${onBranch(branch)} was removed by a cleanup while it was tagged. List its versions to see which exist.`,
  )
}

/** The version that the name of a tag or a branch means; a tag comes first. Undefined where there is neither. */
export async function wantedByRef(
  core: LanceContext,
  id: Identifier,
  name: string,
): Promise<WantedVersion | undefined> {
  const dataset = await findDataset(core, id)
  if (dataset === undefined) return undefined
  if (await readRef(dataset.folder, 'tags', name)) return { branch: '', tag: name }
  return (await readRef(dataset.folder, 'branches', name)) && { branch: name }
}

/**
 * Reconciles the branch of the requested version. A tag that Lance keeps is replaced by its version in the returned
 * request. `newest` is what {@link reconcile} resolves with.
 */
export async function reconcileWanted<Wanted extends WantedVersion>(
  core: LanceContext,
  id: Identifier,
  wanted: Wanted,
): Promise<{ resolved: Wanted; newest: number | undefined }> {
  const { tag, version, at, branch } = wanted
  const isByTag = tag != null && version == null && at == null && branch === ''
  const dataset = isByTag ? await findDataset(core, id) : undefined
  const resolved = dataset ? await byVersion(dataset, id, wanted) : wanted
  return { resolved, newest: await reconcile(core, id, resolved.branch) }
}

/** The number of a version that a request names, perhaps by a time. The branch is reconciled for a time only. */
export async function settleVersion(
  core: LanceContext,
  id: Identifier,
  wanted: Omit<WantedVersion, 'tag'>,
): Promise<{ branch: string; version: number }> {
  const { branch, version, at } = wanted
  if (version != null && at == null) return { branch, version }
  await reconcile(core, id, branch)
  return core.store.read((reader) => findWanted(reader, id, findTable(reader, id), wanted, core.now()))
}

async function byVersion<Wanted extends WantedVersion>(dataset: Dataset, id: Identifier, wanted: Wanted) {
  const { version, branch } = await requireTag(dataset, id, wanted.tag!)
  return { ...wanted, tag: undefined, version, branch: branch ?? '' }
}
