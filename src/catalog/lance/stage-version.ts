import { nameAfter, transactionsFolderOf, versionsFolderOf } from '../locations/lance-files.ts'
import type { DatasetFolder } from './dataset.ts'
import type { MadeVersion } from './own-version.ts'

/** The final name of the manifest of a dataset's first version. */
export const firstName = nameAfter('18446744073709551615.manifest')

/** A version to write. */
export interface VersionToStage {
  readonly branch: string
  /** The final name of its manifest. */
  readonly name: string
  /** The id of its transaction, a UUID. */
  readonly uuid: string
  readonly made: MadeVersion
}

/** Writes the manifest of a version beside its final name, as Lance does, and the file of its transaction. */
export async function stageVersion(
  { content, prefix, objectPath }: DatasetFolder,
  { branch, name, uuid, made: { manifest, transactionFile } }: VersionToStage,
): Promise<{ readonly branch: string; readonly manifest_path: string; readonly manifest_size: number }> {
  const path = `${versionsFolderOf(branch)}${name}-${uuid}`
  await Promise.all([
    content.put(prefix + path, manifest),
    transactionFile &&
      content.put(prefix + transactionsFolderOf(branch) + transactionFile.name, transactionFile.bytes),
  ])
  return { branch, manifest_path: objectPath + path, manifest_size: manifest.length }
}
