import { randomUUID } from 'node:crypto'
import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier, type Identifier, quote } from '../../base/model/identifier.ts'
import { keys } from '../../base/store/records.ts'
import { nameOf, versionsFolderOf } from '../locations/lance-files.ts'
import { locationOf } from '../locations/locations.ts'
import { findTable } from '../lookup/names.ts'
import { branchExists, branchNotFound, findVersion } from '../lookup/versions.ts'
import type { LanceContext } from './context.ts'
import { checkRefName, type Dataset, requireOutside } from './dataset.ts'
import { reconcile } from './reconcile.ts'
import { type BranchFile, readRef, readRefs, refBytes, refPath } from './ref-files.ts'
import { shallowClone } from './shallow-clone.ts'

/* Branches of datasets, made as Lance makes them: first the branch's first manifest, then its file. */

/** The name and the origin of a new branch. */
interface BranchStart {
  readonly id: Identifier
  readonly name: string
  readonly from_branch: string
  readonly from_version: number | undefined
}

export async function createBranch(core: LanceContext, dataset: Dataset, start: BranchStart): Promise<void> {
  const { id, name, from_branch } = start
  requireOutside(core, id, 'branches')
  const { folder, table } = dataset
  checkRefName('name', name)
  const folderOfBranch = folder.prefix + versionsFolderOf(name)
  const isThere = async () =>
    (await readRef(folder, 'branches', name)) !== undefined ||
    (await folder.shared.names(folderOfBranch)).length > 0
  if (await isThere()) throw branchExists(id, name)
  await reconcile(core, id, from_branch)
  const { version, record } = await core.store.read((reader) =>
    findVersion(reader, id, findTable(reader, id), from_branch, start.from_version),
  )
  const parent = from_branch === '' ? undefined : await readRef(folder, 'branches', from_branch)
  const file = nameOf(record.manifest_path)
  const manifest = await folder.content.get(folder.prefix + versionsFolderOf(from_branch) + file)
  const location = locationOf(core.contentRoots, table.id, table.record)
  const clone =
    manifest &&
    shallowClone(manifest, {
      source: from_branch === '' ? location : `${location}/tree/${from_branch}`,
      sourceName: from_branch === '' ? undefined : from_branch,
      branch: name,
    })
  if (clone === undefined || (from_branch !== '' && parent?.identifier === undefined)) {
    throw new CatalogError(
      'InvalidTableState',
      `Version ${version} of the table ${formatIdentifier(id)} uses what this release does not know of Lance's format. Make the branch with Lance, at the table's location.`,
    )
  }
  const branchFile = {
    parentBranch: from_branch === '' ? null : from_branch,
    identifier: {
      version_mapping: [
        ...(parent?.identifier?.version_mapping ?? []),
        [version, randomUUID().replaceAll('-', '')],
      ],
    },
    parentVersion: version,
    createAt: Math.floor(core.now() / 1000),
    manifestSize: manifest!.length,
    metadata: {},
  }
  try {
    await folder.content.put(folderOfBranch + file, clone)
    await folder.content.put(refPath(folder, 'branches', name), refBytes(branchFile))
  } catch (error) {
    const isTaken = error instanceof CatalogError && error.code === 'ConcurrentModification'
    throw isTaken ? branchExists(id, name) : error
  }
  await reconcile(core, id, name)
}

export async function deleteBranch(
  core: LanceContext,
  dataset: Dataset,
  id: Identifier,
  name: string,
): Promise<void> {
  requireOutside(core, id, 'branches')
  const { folder, table } = dataset
  const branches = await readRefs(folder, 'branches')
  // A branch that was never finished, or not wholly deleted, has no file.
  const isThere =
    branches.has(name) ||
    (await core.store.read((reader) => reader.get(keys.branch(table.id, name)))) !== undefined
  if (!isThere) throw branchNotFound(id, name)
  for (const [tag, { branch }] of await readRefs(folder, 'tags')) {
    if (branch === name) throw inUse(id, name, `The tag ${tag}`, 'points to')
  }
  for (const [other, file] of branches) {
    if (other !== name && beginsIn(file, branches.get(name)))
      throw inUse(id, name, `The branch ${other}`, 'begins in')
  }
  await folder.content.remove(refPath(folder, 'branches', name))
  const root = `${folder.prefix}tree/${name}/`
  // Branches with longer names lie in folders below.
  const below = [...branches.keys()].filter((other) => other.startsWith(`${name}/`))
  if (below.length === 0) await folder.content.remove(root)
  else {
    const kept = below.map((other) => `${folder.prefix}tree/${other}/`)
    for await (const { path } of folder.content.list(root)) {
      if (!kept.some((prefix) => path.startsWith(prefix))) await folder.content.remove(path)
    }
  }
  await reconcile(core, id, name)
}

/** Whether a branch begins with files of another one. */
function beginsIn(branch: BranchFile, other: BranchFile | undefined): boolean {
  const path = branch.identifier?.version_mapping
  const start = other?.identifier?.version_mapping
  if (path === undefined || start === undefined) return false
  return (
    path.length > start.length &&
    start.every(([version, id], i) => path[i]![0] === version && path[i]![1] === id)
  )
}

function inUse(id: Identifier, name: string, what: string, how: string): CatalogError {
  return new CatalogError(
    'InvalidTableState',
    `${what} of the table ${formatIdentifier(id)} ${how} branch ${quote(name)}. Move or delete it first.`,
  )
}
