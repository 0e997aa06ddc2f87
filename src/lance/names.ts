/*
 * Where Lance keeps what: a dataset is a folder, and each branch but the main one is a folder within it. A version is
 * a manifest in `_versions` of its branch. Writers look for conflicts by listing the manifests there.
 *
 * A writer that commits through a catalog writes the manifest beside its final name first, as
 * `_versions/NAME.manifest-UUID`, and asks the catalog to commit that.
 */

/** The folder of a branch's manifests, within the folder of the dataset. */
export function versionsFolderOf(branch: string): string {
  return branch === '' ? '_versions/' : `tree/${branch}/_versions/`
}

const newestNumber = 18_446_744_073_709_551_615n

/** The version that a manifest's file name stands for; undefined for other files. */
export function versionOfName(name: string): number | undefined {
  const digits = /^(\d+)\.manifest$/.exec(name)?.[1]
  if (digits === undefined) return undefined
  // Names of 20 digits count down, so that the latest version is listed first.
  const version = digits.length === 20 ? Number(newestNumber - BigInt(digits)) : Number(digits)
  return Number.isSafeInteger(version) && version >= 0 ? version : undefined
}

const stagedPattern = /^(\d+\.manifest)-[0-9a-f-]{32,36}$/i

/** The final name of a manifest that was written beside it; undefined for other files. */
export function finalNameOf(stagedName: string): string | undefined {
  return stagedPattern.exec(stagedName)?.[1]
}

/** Whether a path is that of a manifest that a writer wants committed under its final name. */
export function isStaged(path: string): boolean {
  return finalNameOf(nameOf(path)) !== undefined
}

/** The last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
