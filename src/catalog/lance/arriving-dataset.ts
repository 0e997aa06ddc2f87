import { randomUUID } from 'node:crypto'
import { CatalogError } from '../../base/errors.ts'
import { prefetch } from '../../base/scheduling/prefetch.ts'
import type { DatasetVersion, DatasetVersions, StagedVersion } from '../../engine/lance/index.ts'
import {
  arrivingFolderOf,
  branchFolderOf,
  finalNameOf,
  nameOf,
  versionsFolderOf,
} from '../locations/lance-files.ts'
import type { DatasetFolder } from './dataset.ts'
import { filesNamedIn } from './named-files.ts'
import { firstName } from './stage-version.ts'

/** Files that get their place at the same time. */
const depth = 4
const dataFolder = 'data/'

/**
 * A dataset of rows that arrive, within the folder of the table that will take them. Lance writes it, and no version of
 * the table names it. It goes with its transaction: what a killed process leaves is removed by a vacuum.
 */
export class ArrivingDataset {
  readonly #table: DatasetFolder
  /** Within the folder of the table, ending in a slash. */
  readonly #folder: string
  #latest: DatasetVersion | undefined
  /** The files that were moved. */
  readonly #moved: string[] = []

  constructor(table: DatasetFolder, transactionId: string) {
    this.#table = table
    this.#folder = arrivingFolderOf(transactionId, randomUUID())
  }

  /** Its URL, by that of the table. */
  locationIn(tableLocation: string): string {
    const path = this.#folder.split('/').map(encodeURIComponent).join('/')
    return `${tableLocation.replace(/\/+$/, '')}/${path.replace(/\/$/, '')}`
  }

  /** Its versions, for Lance. */
  readonly versions: DatasetVersions = {
    latest: async () => this.#latest,
    find: async (_, version) => (this.#latest?.version === version ? this.#latest : undefined),
    create: (staged) => this.#create(staged),
  }

  /** Makes its first version by a manifest. */
  async begin(manifest: Uint8Array): Promise<void> {
    const path = versionsFolderOf('') + firstName
    await this.#table.content.put(this.#within(path), manifest)
    this.#latest = { version: 1, manifest_path: this.#named(path), manifest_size: manifest.length }
  }

  /** The manifest of its latest version. */
  async manifest(): Promise<Uint8Array> {
    const { content } = this.#table
    const path = versionsFolderOf('') + nameOf(this.#latest!.manifest_path)
    const found = await content.get(this.#within(path))
    if (found !== undefined) return found
    throw new CatalogError('Internal', 'The rows that arrived were removed meanwhile. Send them again.')
  }

  /** Moves its data files to those of a branch of the table. */
  async moveTo(branch: string, signal: AbortSignal | undefined): Promise<void> {
    const { content, shared, prefix } = this.#table
    const data = this.#within(dataFolder)
    const stem = (path: string) => path.replace(/^data\//, '').replace(/\.[^./]*$/, '')
    const stems = new Set(filesNamedIn(await this.manifest()).files.map(({ path }) => stem(path)))
    const paths: string[] = []
    for await (const { path } of content.list(data)) {
      // Large values lie in a folder beside the file that refers to them.
      const name = path.slice(data.length)
      if (stems.has(stem(name.split('/')[0]!))) paths.push(name)
    }
    const move = async (name: string) => {
      signal?.throwIfAborted()
      const to = prefix + branchFolderOf(branch) + dataFolder + name
      this.#moved.push(to)
      const linked = await shared.link(data + name, to)
      if (linked === 'linked') return
      throw new CatalogError('Internal', `The file ${name} of rows that arrived is ${linked}.`)
    }
    for await (const _ of prefetch(paths, move, { depth })) signal?.throwIfAborted()
  }

  /** Removes what was moved: for sure no version names it. */
  async removeMoved(): Promise<void> {
    await Promise.all(this.#moved.map((path) => this.#table.content.remove(path).catch(() => {})))
  }

  /** Removes it. */
  async remove(): Promise<void> {
    await this.#table.content.remove(this.#within('')).catch(() => {})
  }

  async #create({ version, manifest_path, manifest_size }: StagedVersion): Promise<DatasetVersion> {
    const staged = versionsFolderOf('') + nameOf(manifest_path)
    const final = versionsFolderOf('') + finalNameOf(nameOf(staged))
    const { content, shared } = this.#table
    const linked = await shared.link(this.#within(staged), this.#within(final))
    if (linked !== 'linked') throw new CatalogError('ConcurrentModification', `The version is ${linked}.`)
    const before = this.#latest && versionsFolderOf('') + nameOf(this.#latest.manifest_path)
    await Promise.all(
      [staged, before].map((path) => path !== undefined && content.remove(this.#within(path))),
    )
    this.#latest = {
      version,
      manifest_path: this.#named(final),
      ...(manifest_size !== undefined && { manifest_size }),
    }
    return this.#latest
  }

  #within(path: string): string {
    return this.#table.prefix + this.#folder + path
  }

  /** A path as Lance names it. */
  #named(path: string): string {
    return this.#table.objectPath + this.#folder + path
  }
}
