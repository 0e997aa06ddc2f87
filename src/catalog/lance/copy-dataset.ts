import { CatalogError } from '../../base/errors.ts'
import { prefetch } from '../../base/scheduling/prefetch.ts'
import type { VersionRecord } from '../../base/store/records.ts'
import {
  branchFolderOf,
  isStaged,
  nameOf,
  versionOfName,
  versionsFolderOf,
  waitingFolder,
} from '../locations/lance-files.ts'
import { registrationFolder } from '../locations/registration.ts'
import { copyFile, type DatasetPlace } from './copy-file.ts'
import { layoutOf } from './layout.ts'
import { movedManifest, withinDataset } from './moved-manifest.ts'
import { filesNamedIn, type NamedFiles } from './named-files.ts'
import { refBytes } from './ref-files.ts'
import { wholeClone } from './shallow-clone.ts'

/*
 * Copies of datasets, file by file, without Lance: all of one, with its versions, tags, branches and indexes, or one
 * version. A copy is checked before its first file is written: each manifest can be read, and what it names is there.
 */

const nameOfPlace = ({ namedAs, location }: DatasetPlace) => namedAs ?? location

/** A version of a dataset, as its record says. */
export interface RecordedVersion {
  readonly branch: string
  readonly version: number
  readonly record: Pick<VersionRecord, 'manifest_path' | 'staging_path' | 'manifest_size'>
}

/** A version that is copied. */
export interface CopiedVersion {
  readonly branch: string
  readonly version: number
  /** The path of its manifest within the copy. */
  readonly path: string
  readonly bytes: number
  readonly rows: number
  /** When its manifest was written, in milliseconds since the epoch. */
  readonly modified: number
}

/** What a copy of a dataset takes. */
export interface DatasetCopy {
  readonly versions: readonly CopiedVersion[]
  readonly files: number
  readonly bytes: number
  /** Writes the copy at a place where nothing is. Answers with its manifests' sizes by their paths. */
  writeTo(to: DatasetPlace, signal: AbortSignal | undefined): Promise<ReadonlyMap<string, number>>
}

/** Files that are copied at the same time. */
const depth = 8

interface Found {
  readonly size: number
  readonly modified: number
}

interface FoundManifest {
  readonly branch: string
  readonly version: number
  /** The path at which Lance looks for it. */
  readonly path: string
  /** Where it lies: at its staged name, if it was recorded and not published. */
  readonly source: string
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
  const source = await Source.open(from, signal)
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
        const { branch, version, file } = namedByRef(path, bytes) ?? { branch: '', version: 0 }
        const isThere = ref[1] === 'tags' ? isKept(branch, version) : branches.has(branch)
        if (file === undefined || !isThere) continue
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
  const source = await Source.open(from, signal)
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

/** A dataset that is copied, as it was listed. */
class Source {
  readonly files: ReadonlyMap<string, Found>
  readonly #from: DatasetPlace

  private constructor(from: DatasetPlace, files: ReadonlyMap<string, Found>) {
    this.#from = from
    this.files = files
  }

  static async open(from: DatasetPlace, signal: AbortSignal | undefined): Promise<Source> {
    const files = new Map<string, Found>()
    for await (const { path, size, modified } of from.content.list(from.prefix)) {
      signal?.throwIfAborted()
      files.set(path.slice(from.prefix.length), { size, modified })
    }
    return new Source(from, files)
  }

  /** The manifests that are there: each at its final name, or where its record says that it waits for that. */
  manifests(recorded: readonly RecordedVersion[]): FoundManifest[] {
    const found = new Map<string, FoundManifest>()
    for (const path of this.files.keys()) {
      const [, branch = ''] = /^(?:tree\/(.+)\/)?_versions\/[^/]+$/.exec(path) ?? [undefined, undefined]
      const version = versionOfName(nameOf(path))
      if (version === undefined || path !== versionsFolderOf(branch) + nameOf(path)) continue
      found.set(path, { branch, version, path, source: path })
    }
    for (const { branch, version, record } of recorded) {
      const path = versionsFolderOf(branch) + nameOf(record.manifest_path)
      const source = record.staging_path && versionsFolderOf(branch) + nameOf(record.staging_path)
      if (source && !found.has(path) && this.files.has(source))
        found.set(path, { branch, version, path, source })
    }
    return [...found.values()].sort((a, b) =>
      a.branch === b.branch ? a.version - b.version : a.branch < b.branch ? -1 : 1,
    )
  }

  async bytes(path: string): Promise<Uint8Array> {
    const bytes = await this.#from.content.get(this.#from.prefix + path)
    if (bytes === undefined) throw damaged(this.#from, `the file ${path} is gone`)
    return bytes
  }

  async read({ source, version }: FoundManifest): Promise<{ bytes: Uint8Array; named: NamedFiles }> {
    const bytes = await this.bytes(source)
    try {
      return { bytes, named: filesNamedIn(bytes) }
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      throw damaged(this.#from, `the manifest of version ${version} cannot be read (${source})`)
    }
  }

  copied({ branch, version, path, source }: FoundManifest, bytes: Uint8Array): CopiedVersion {
    const { fragments } = layoutOf(bytes)
    const rows = fragments.reduce((sum, { rows, deleted }) => sum + rows - deleted, 0)
    return { branch, version, path, bytes: bytes.length, rows, modified: this.files.get(source)!.modified }
  }

  /** Whether a version has files that lie outside of its dataset. */
  namesOthers({ files, folders, bases }: NamedFiles): boolean {
    return [...files, ...folders].some(
      ({ base }) =>
        base !== undefined && withinDataset(nameOfPlace(this.#from), bases.get(base) ?? '') === undefined,
    )
  }

  /** The folder, within the dataset, of what a manifest names. */
  #folderOf({ branch }: FoundManifest, { bases }: NamedFiles, base: bigint | undefined): string {
    if (base === undefined) return branchFolderOf(branch)
    return withinDataset(nameOfPlace(this.#from), bases.get(base)!)!
  }

  requireNamed(manifest: FoundManifest, named: NamedFiles): void {
    for (const { path, size, base } of named.files) {
      const whole = this.#folderOf(manifest, named, base) + path
      const found = this.files.get(whole)
      if (found !== undefined && (size === undefined || size === found.size)) continue
      const what = found === undefined ? 'is missing' : `has ${found.size} bytes, and should have ${size}`
      throw damaged(this.#from, `the file ${whole} of version ${manifest.version} ${what}`)
    }
    if (named.folders.length === 0) return
    const folders = new Set(Array.from(this.files.keys(), (path) => path.slice(0, path.lastIndexOf('/') + 1)))
    for (const { path, base } of named.folders) {
      const whole = this.#folderOf(manifest, named, base) + path
      if (folders.has(whole)) continue
      throw damaged(this.#from, `version ${manifest.version} has an index in ${whole}, where no files are`)
    }
  }

  /** The files of a version, and their paths in a copy of it alone. */
  filesOf(manifest: FoundManifest, named: NamedFiles): [from: string, to: string][] {
    const targets = new Map<string, string>()
    const below: [folder: string, target: string][] = []
    for (const { path, base } of named.files) {
      const whole = this.#folderOf(manifest, named, base) + path
      targets.set(whole, path)
      // Large values lie beside the file that refers to them.
      const stem = (file: string) => `${file.replace(/\.[^./]*$/, '')}/`
      if (path.startsWith('data/')) below.push([stem(whole), stem(path)])
    }
    for (const { path, base } of named.folders)
      below.push([this.#folderOf(manifest, named, base) + path, path])
    const folders = new Map(below)
    for (const path of this.files.keys()) {
      for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) {
        const target = folders.get(path.slice(0, end + 1))
        if (target !== undefined) targets.set(path, target + path.slice(end + 1))
      }
    }
    return [...targets]
  }

  async copyFiles(
    to: DatasetPlace,
    files: readonly (readonly [from: string, to: string])[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const copy = async ([path, target]: readonly [string, string]) => {
      signal?.throwIfAborted()
      const isThere = await copyFile(this.#from, path, { to, target, size: this.files.get(path)!.size })
      if (!isThere) throw damaged(this.#from, `the file ${path} is gone`)
    }
    for await (const _ of prefetch(files, copy, { depth })) signal?.throwIfAborted()
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

/** The version that the file of a tag names, or with which that of a branch begins. Undefined for a damaged file. */
export function namedByRef(path: string, bytes: Uint8Array) {
  const name = nameOf(path)
    .replace(/\.json$/, '')
    .replaceAll('%2F', '/')
  try {
    const file: Record<string, unknown> = JSON.parse(new TextDecoder().decode(bytes))
    if (path.startsWith('_refs/branches/')) return { branch: name, version: Number(file.parentVersion), file }
    return { branch: String(file.branch ?? ''), version: Number(file.version), file }
  } catch {
    return undefined
  }
}

function damaged({ location }: DatasetPlace, what: string, step = 'Restore it from a backup'): CatalogError {
  return new CatalogError(
    'InvalidTableState',
    `In the dataset at ${location}, ${what}. ${step}, and try again.`,
  )
}
