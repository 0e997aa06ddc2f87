import { CatalogError } from '../../base/errors.ts'
import { prefetch } from '../../base/scheduling/prefetch.ts'
import type { VersionRecord } from '../../base/store/records.ts'
import { branchFolderOf, nameOf, versionOfName, versionsFolderOf } from '../locations/lance-files.ts'
import { copyFile, type DatasetPlace } from './copy-file.ts'
import { layoutOf } from './layout.ts'
import { withinDataset } from './moved-manifest.ts'
import { filesNamedIn, type NamedFiles } from './named-files.ts'

/** The URL by which manifests name a dataset. */
export const nameOfPlace = ({ namedAs, location }: DatasetPlace) => namedAs ?? location

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

/** Files that are copied at the same time. */
const depth = 8

interface Found {
  readonly size: number
  readonly modified: number
}

export interface FoundManifest {
  readonly branch: string
  readonly version: number
  /** The path at which Lance looks for it. */
  readonly path: string
  /** Where it lies: at its staged name, if it was recorded and not published. */
  readonly source: string
}

/** A dataset that is copied, as it was listed. */
export class DatasetFiles {
  readonly files: ReadonlyMap<string, Found>
  readonly #from: DatasetPlace

  private constructor(from: DatasetPlace, files: ReadonlyMap<string, Found>) {
    this.#from = from
    this.files = files
  }

  static async open(from: DatasetPlace, signal: AbortSignal | undefined): Promise<DatasetFiles> {
    const files = new Map<string, Found>()
    for await (const { path, size, modified } of from.content.list(from.prefix)) {
      signal?.throwIfAborted()
      files.set(path.slice(from.prefix.length), { size, modified })
    }
    return new DatasetFiles(from, files)
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
    let named: NamedFiles
    try {
      named = filesNamedIn(bytes)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      throw damaged(this.#from, `the manifest of version ${version} cannot be read (${source})`)
    }
    if (named.version === version) return { bytes, named }
    throw damaged(
      this.#from,
      `the manifest of version ${version} is that of version ${named.version} (${source})`,
    )
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

/** What is wrong with a dataset. */
export function damaged(
  { location }: DatasetPlace,
  what: string,
  step = 'Restore it from a backup',
): CatalogError {
  return new CatalogError(
    'InvalidTableState',
    `In the dataset at ${location}, ${what}. ${step}, and try again.`,
  )
}
