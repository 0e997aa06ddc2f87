import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import { nameOf, versionOfName } from '../locations/lance-files.ts'
import { onBranch } from '../lookup/versions.ts'
import type { LanceContext } from './context.ts'
import { type Dataset, findDataset, manifestPathOf } from './dataset.ts'
import { reconcile } from './reconcile.ts'
import { readRefs } from './ref-files.ts'
import { waitingManifests } from './waiting.ts'

/* Versions of a dataset are deleted with their manifests: otherwise they would be adopted again. */

/** A branch of a dataset whose versions are to be deleted. */
export interface VersionDeletion {
  readonly dataset: Dataset
  readonly branch: string
  /** The versions that must stay, and what needs them. */
  readonly needed: ReadonlyMap<number, string>
}

/** Prepares deleting versions of a branch. Undefined when the table is not Lance's. */
export async function prepareDeletion(
  core: LanceContext,
  { id, branch }: { readonly id: Identifier; readonly branch: string },
): Promise<VersionDeletion | undefined> {
  const dataset = await findDataset(core, id)
  if (dataset === undefined) return undefined
  await reconcile(core, id, branch)
  return { dataset, branch, needed: await neededVersions(dataset, branch) }
}

async function neededVersions({ folder }: Dataset, branch: string): Promise<Map<number, string>> {
  const needed = new Map<number, string>()
  for (const [name, file] of await readRefs(folder, 'branches'))
    if ((file.parentBranch ?? '') === branch)
      needed.set(file.parentVersion, `The branch ${name} begins with it`)
  for (const [name, file] of await readRefs(folder, 'tags'))
    if ((file.branch ?? '') === branch) needed.set(file.version, `The tag ${name} names it`)
  return needed
}

/** Refuses to delete a version that something needs, and the latest one: Lance counts on from it. */
export function requireDeletable(
  { branch, needed }: VersionDeletion,
  id: Identifier,
  versions: Iterable<number>,
  latest: number | null,
): void {
  for (const version of versions) {
    const reason =
      needed.get(version) ?? (version === latest ? 'It is the latest, from which Lance counts on' : undefined)
    if (reason === undefined) continue
    throw new CatalogError(
      'InvalidTableState',
      `Version ${version} of the table ${formatIdentifier(id)}${onBranch(branch)} cannot be deleted. ${reason}. Leave it out.`,
    )
  }
}

/** Removes the manifests of deleted versions, inside of a transaction over many operations after its commit. */
export async function removeManifests(
  core: LanceContext,
  prepared: VersionDeletion,
  paths: readonly string[],
): Promise<void> {
  if (core.staging) {
    waitingManifests(core.staging).check(() => requireStillDeletable(prepared, paths))
    const { outside } = core.staging
    return core.staging.afterCommit(() => removeManifests(outside, prepared, paths))
  }
  const {
    dataset: { folder },
    branch,
  } = prepared
  for (const path of paths) await folder.content.remove(manifestPathOf(folder, branch, path))
}

/** Lance may have tagged a version, or begun a branch with it, while the transaction was under way. */
async function requireStillDeletable(
  { dataset, branch }: VersionDeletion,
  paths: readonly string[],
): Promise<void> {
  const needed = await neededVersions(dataset, branch)
  for (const path of paths) {
    const version = versionOfName(nameOf(path))
    const reason = version === undefined ? undefined : needed.get(version)
    if (reason === undefined) continue
    throw new CatalogError(
      'ConcurrentModification',
      `Version ${version}${onBranch(branch)} of a table cannot be deleted any more. ${reason}. Run the transaction again without it.`,
    )
  }
}
