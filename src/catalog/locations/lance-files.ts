/*
 * Where Lance keeps what: a dataset is a folder, and each branch but the main one is a folder within it. A version is
 * a manifest in `_versions` of its branch. Writers look for conflicts by listing the manifests there.
 *
 * A writer that commits through a catalog writes the manifest beside its final name first, as
 * `_versions/NAME.manifest-UUID`, and asks the catalog to commit that.
 */

/** The folder of a branch, within the folder of the dataset. */
export const branchFolderOf = (branch: string) => (branch === '' ? '' : `tree/${branch}/`)

/** The folder of a branch's manifests, within the folder of the dataset. */
export function versionsFolderOf(branch: string): string {
  return `${branchFolderOf(branch)}_versions/`
}

/** The folder of the files in which a branch's writers say what they changed, within the folder of the dataset. */
export function transactionsFolderOf(branch: string): string {
  return `${branchFolderOf(branch)}_transactions/`
}

/** The greatest number of 64 bits, in two halves: names of 20 digits count down from it. */
const newest = [1_844_674_407, 3_709_551_615] as const
const half = 10_000_000_000

/** The version that a manifest's file name stands for; undefined for other files. */
export function versionOfName(name: string): number | undefined {
  const digits = /^(\d+)\.manifest$/.exec(name)?.[1]
  if (digits === undefined) return undefined
  const version = digits.length === 20 ? fromNewest(digits) : Number(digits)
  return Number.isSafeInteger(version) && version >= 0 ? version : undefined
}

/** Names of 20 digits count down, so that the latest version is listed first. Halves are faster than a BigInt. */
function fromNewest(digits: string): number {
  return (newest[0] - Number(digits.slice(0, 10))) * half + (newest[1] - Number(digits.slice(10)))
}

/** The name of the manifest of the version before, in the same form. */
export const nameBefore = (name: string) => nameBeyond(name, -1n)

/** The name of the manifest of the version after, in the same form. */
export const nameAfter = (name: string) => nameBeyond(name, 1n)

function nameBeyond(name: string, versions: bigint): string {
  const digits = name.slice(0, name.indexOf('.'))
  const number = BigInt(digits) + (digits.length === 20 ? -versions : versions)
  return `${number.toString().padStart(digits.length === 20 ? 20 : 1, '0')}.manifest`
}

const stagedPattern = /^(\d+\.manifest)-[0-9a-f-]{32,36}$/i

/** The final name of a manifest that was written beside it; undefined for other files. */
export function finalNameOf(stagedName: string): string | undefined {
  return stagedPattern.exec(stagedName)?.[1]
}

/** The folder, within that of a dataset, of manifests that wait for the commit of a transaction over many operations. */
export const waitingFolder = '_staged/'

/**
 * Where a manifest waits for the commit of its transaction, within the folder of the dataset. Lance opens the version
 * there: the name is the final one, as Lance takes other names for unfinished manifests and finishes them itself. The
 * folder is the manifest's own, since several writers may try the same version.
 */
export function waitingPathOf(transactionId: string, stagedName: string): string {
  const name = finalNameOf(stagedName)!
  const unique = stagedName.slice(name.length + 1)
  return `${waitingFolder}${encodeURIComponent(transactionId)}.${unique}/${name}`
}

const waitingPattern = /(?:^|\/)_staged\/([^/]+)\.([0-9a-f-]{32,36})\/(\d+\.manifest)$/i

/** The encoded id of the transaction that a manifest waits for, and the name that its writer gave it, if it waits. */
export function waitingAt(
  path: string,
): { readonly transaction: string; readonly stagedName: string } | undefined {
  const [, transaction, unique, name] = waitingPattern.exec(path) ?? []
  return transaction === undefined ? undefined : { transaction, stagedName: `${name}-${unique}` }
}

const arrivingPattern = /(?:^|\/)_staged\/([^/]+)\.[0-9a-f-]{36}\.rows\//i

/** The folder of rows that arrive for a transaction, within the folder of the dataset. `unique` is a UUID. */
export function arrivingFolderOf(transactionId: string, unique: string): string {
  return `${waitingFolder}${encodeURIComponent(transactionId)}.${unique}.rows/`
}

/** The encoded id of the transaction for which the rows in a file arrived, before its commit. */
export function arrivingAt(path: string): string | undefined {
  return arrivingPattern.exec(path)?.[1]
}

/** Whether a path is that of a manifest that a writer wants committed under its final name. */
export function isStaged(path: string): boolean {
  return finalNameOf(nameOf(path)) !== undefined
}

/** The last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
