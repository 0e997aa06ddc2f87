import { isStaged, nameOf, versionOfName, versionsFolderOf, waitingFolder } from '../locations/lance-files.ts'
import { registrationFolder } from '../locations/registration.ts'
import type { DatasetPlace } from './copy-file.ts'
import {
  type CopiedVersion,
  DatasetFiles,
  damaged,
  type FoundManifest,
  nameOfPlace,
  type RecordedVersion,
} from './dataset-files.ts'
import { movedManifest } from './moved-manifest.ts'
import { refBytes } from './ref-files.ts'
import { wholeClone } from './shallow-clone.ts'

/*
 * Copies of datasets, file by file, without Lance: all of one, with its versions, tags, branches and indexes, or one
 * version. A copy is checked before its first file is written: each manifest can be read, and what it names is there.
 */

/** What a copy of a dataset takes. */
export interface DatasetCopy {
  readonly versions: readonly CopiedVersion[]
  readonly files: number
  readonly bytes: number
  /** Writes the copy at a place where nothing is. Answers with its manifests' sizes by their paths. */
  writeTo(to: DatasetPlace, signal: AbortSignal | undefined): Promise<ReadonlyMap<string, number>>
}

/**
 * A copy of all versions for which `isWanted` holds, with their tags and branches. Undefined where no dataset is that
 * can be read, and for one with files of another dataset. Throws `InvalidTableState` where files are missing or damaged.
 */
export async function copyOfAll(
  from: DatasetPlace,
  recorded: readonly RecordedVersion[],
  isWanted: (branch: string, version: number, modified: number) => boolean,
  signal?: AbortSignal,
): Promise<DatasetCopy | undefined> {
  const source = await DatasetFiles.open(from, signal)
  const wanted = source
    .manifests(recorded)
    .filter(({ branch, version, source: path }) =>
      isWanted(branch, version, source.files.get(path)!.modified),
    )
  const versions: CopiedVersion[] = []
  let canBeRead = false
  let damage: unknown
  for (const manifest of wanted) {
    signal?.throwIfAborted()
    try {
      const { bytes, named } = await source.read(manifest)
      canBeRead = true
      if (source.namesOthers(named)) return undefined
      source.requireNamed(manifest, named)
      versions.push(source.copied(manifest, bytes))
    } catch (error) {
      damage ??= error
    }
  }
  if (!canBeRead) return undefined
  if (damage !== undefined) throw damage
  requireRecorded(from, wanted, recorded, isWanted)
  const manifests = new Map(wanted.map((manifest) => [manifest.source, manifest]))
  const isKept = (branch: string, version: number) =>
    versions.some((one) => one.branch === branch && one.version === version)
  const files = [...source.files.keys()].filter((path) => isOfDataset(path) && !manifests.has(path))
  return {
    versions,
    files: files.length + manifests.size,
    bytes: [...files, ...manifests.keys()].reduce((sum, path) => sum + source.files.get(path)!.size, 0),
    async writeTo(to, signal) {
      const sizes = new Map<string, number>()
      await source.copyFiles(
        to,
        files.map((path) => [path, path]),
        signal,
      )
      for (const { source: path, path: target } of wanted) {
        signal?.throwIfAborted()
        const bytes = movedManifest(await source.bytes(path), nameOfPlace(from), nameOfPlace(to))
        await to.content.put(to.prefix + target, bytes)
        sizes.set(target, bytes.length)
      }
      const branches = new Set(versions.map(({ branch }) => branch))
      for (const path of source.files.keys()) {
        const ref = /^_refs\/(tags|branches)\/.*\.json$/.exec(path)
        if (ref === null) continue
        const bytes = await source.bytes(path)
        const named = namedByRef(path, bytes)
        if (named === undefined) continue
        const { name, branch, version, file } = named
        if (ref[1] === 'tags' ? !isKept(branch, version) : !branches.has(name)) continue
        const manifest = wanted.find((one) => one.branch === branch && one.version === version)
        const size = manifest && sizes.get(manifest.path)
        const isSame = size === undefined || size === source.files.get(manifest!.source)!.size
        await to.content.put(to.prefix + path, isSame ? bytes : refBytes({ ...file, manifestSize: size }))
      }
      return sizes
    },
  }
}

/**
 * A copy of one version, as the only one of the main branch. It keeps its number, and has the files and indexes of the
 * version in its own folders. Throws `InvalidTableState` where files are missing, damaged or of another dataset.
 */
export async function copyOfVersion(
  from: DatasetPlace,
  wanted: RecordedVersion,
  signal?: AbortSignal,
): Promise<DatasetCopy> {
  const source = await DatasetFiles.open(from, signal)
  const { branch, version } = wanted
  const manifest = source.manifests([wanted]).find((one) => one.branch === branch && one.version === version)
  if (manifest === undefined) throw damaged(from, `the manifest of version ${version} is missing`)
  const { bytes, named } = await source.read(manifest)
  if (source.namesOthers(named)) {
    throw damaged(from, `version ${version} names files of another dataset`, 'Copy it by Lance')
  }
  source.requireNamed(manifest, named)
  const clone = wholeClone(bytes)
  if (clone === undefined) {
    throw damaged(
      from,
      `version ${version} uses what this release does not know of Lance's format`,
      'Copy it by Lance',
    )
  }
  const path = versionsFolderOf('') + nameOf(manifest.path)
  const files = source.filesOf(manifest, named)
  return {
    versions: [{ ...source.copied(manifest, bytes), branch: '', path, bytes: clone.length }],
    files: files.length + 1,
    bytes: files.reduce((sum, [path]) => sum + source.files.get(path)!.size, clone.length),
    async writeTo(to, signal) {
      await source.copyFiles(to, files, signal)
      await to.content.put(to.prefix + path, clone)
      return new Map([[path, clone.length]])
    },
  }
}

/** Whether a file is part of a dataset, and has no place of its own in its copy. */
function isOfDataset(path: string): boolean {
  const name = nameOf(path)
  if (path.startsWith('_refs/') || path.startsWith(waitingFolder) || path.startsWith(registrationFolder))
    return false
  if (!/(?:^|\/)_versions\/[^/]+$/.test(path)) return !name.endsWith('.partial')
  // A hint of the latest version may be another one's. Lance looks itself where there is none.
  return versionOfName(name) === undefined && !isStaged(name) && !name.endsWith('.json')
}

/** Refuses a dataset that lacks the latest recorded version of a branch: others may have been cleaned up. */
function requireRecorded(
  from: DatasetPlace,
  found: readonly FoundManifest[],
  recorded: readonly RecordedVersion[],
  isWanted: (branch: string, version: number, modified: number) => boolean,
): void {
  const last = new Map(recorded.map((one) => [one.branch, one]))
  for (const { branch, version } of last.values()) {
    if (!isWanted(branch, version, 0)) continue
    if (found.some((one) => one.branch === branch && one.version >= version)) continue
    throw damaged(from, `the manifest of version ${version} is missing`)
  }
}

/** A tag and its version, or a branch and the version of its parent. Undefined for a damaged file. */
export function namedByRef(path: string, bytes: Uint8Array) {
  const name = nameOf(path)
    .replace(/\.json$/, '')
    .replaceAll('%2F', '/')
  try {
    const file: Record<string, unknown> = JSON.parse(new TextDecoder().decode(bytes))
    const [branch, version] = path.startsWith('_refs/branches/')
      ? [file.parentBranch, file.parentVersion]
      : [file.branch, file.version]
    return { name, branch: String(branch ?? ''), version: Number(version), file }
  } catch {
    return undefined
  }
}
