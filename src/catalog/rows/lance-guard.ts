import { CatalogError } from '../../base/errors.ts'
import { formatIdentifier, type Identifier, quote } from '../../base/model/identifier.ts'
import type { DatasetGuard, DatasetVersion } from '../../engine/lance/index.ts'
import { datasetFolderOf, type TableAt, toVersionFor } from '../lance/dataset.ts'
import { placesNamedIn } from '../lance/named-files.ts'
import { tableAbove } from '../locations/claim.ts'
import { checkLocation, contentFolderOf, locationOf } from '../locations/locations.ts'
import { identifierOf } from '../lookup/names.ts'
import type { FoundVersion } from '../lookup/versions.ts'
import type { AnyRowsContext } from './context.ts'
import { manifestWithin, readManifest, shownAs } from './lance-manifest.ts'

/*
 * A manifest may name files of other folders, as that of a shallow clone does, and Lance reads them with the rights of
 * this process. Whoever writes a manifest must not reach more by it than by the catalog. So Lance is told of no version
 * before its manifest was looked at. It escapes the names of files within a folder, so these lead nowhere else.
 */

/** Steps up or nowhere, which programs may read in different ways. */
const steps = /(?:^|[/\\])(?:\.|%2e){1,2}(?:[/\\]|$)/i

interface Seen {
  readonly found: FoundVersion
  /** Within the folder of the dataset. */
  readonly path: string
  readonly manifest: Uint8Array
  /** What tells the file from a later one of its name. Undefined where only its bytes do. */
  readonly state: string | undefined
}

/** Tells Lance of versions of a dataset, for one operation. */
export class LanceGuard implements DatasetGuard {
  readonly #core: AnyRowsContext
  readonly #id: Identifier
  readonly #table: TableAt
  readonly #seen: Seen[] = []
  /** Folders outside of the dataset, with files of versions that Lance was told of. */
  readonly places = new Set<string>()
  #refusal: unknown

  constructor(core: AnyRowsContext, id: Identifier, table: TableAt) {
    this.#core = core
    this.#id = id
    this.#table = table
  }

  /** A version as Lance is told of it: by the path of the manifest that was looked at. */
  async tell(found: FoundVersion): Promise<DatasetVersion> {
    try {
      await this.#look(found)
      const { objectPath } = datasetFolderOf(this.#core, this.#table)!
      const told = toVersionFor(this.#core, found.version, found.record)
      return { ...told, manifest_path: objectPath + manifestWithin(this.#core, found) }
    } catch (error) {
      this.#refusal = error
      throw error
    }
  }

  async #look(found: FoundVersion): Promise<void> {
    // What is told twice is compared once Lance has opened it.
    const path = manifestWithin(this.#core, found)
    if (this.#seen.some((one) => one.path === path)) return
    const state = await this.#stateOf(found)
    const { manifest, places } = await this.#read(found)
    for (const place of places) {
      const url = this.#checked(place, found)
      if (url !== undefined) this.places.add(url)
    }
    this.#seen.push({ found, path, manifest, state })
  }

  async opened(): Promise<readonly string[] | undefined> {
    if (this.#refusal !== undefined) throw this.#refusal
    return (await this.#changed((state) => state === undefined)) ? undefined : [...this.places]
  }

  /** Refuses a change where what Lance was told of in the middle of it is another manifest by now. */
  async requireSame(): Promise<void> {
    const found = await this.#changed(() => true)
    if (found === undefined) return
    throw new CatalogError(
      'InvalidTableState',
      `The manifest of ${shownAs(this.#id, found)} was written again while the table was changed, and nothing was changed. Try again.`,
    )
  }

  /** The first version whose file changed since it was looked at. Where bytes count, those that are the same are no change. */
  async #changed(doBytesCount: (state: string | undefined) => boolean): Promise<FoundVersion | undefined> {
    for (const { found, manifest, state } of this.#seen.splice(0)) {
      if (state !== undefined && state === (await this.#stateOf(found))) continue
      const isSame = doBytesCount(state) && Buffer.compare(manifest, (await this.#read(found)).manifest) === 0
      if (!isSame) return found
    }
    return undefined
  }

  async allow(places: readonly string[]): Promise<void> {
    const { access, contentRoots, store } = this.#core
    if (access === undefined || places.length === 0) return
    const tables = await store.read((reader) =>
      places.map((place) => {
        const table = tableAbove(contentRoots, reader, place)
        return table && identifierOf(reader, table.record)
      }),
    )
    const questions = tables.map((id) => id && { operation: 'queryTable', id, changes: false })
    const known = questions.filter((question) => question !== undefined)
    await access.decide(known)
    try {
      access.require(known)
      if (known.length === questions.length) return
    } catch (cause) {
      throw this.#denied(cause)
    }
    throw this.#denied(undefined)
  }

  /** Where a place lies, if that is not within the dataset. */
  #checked(place: string, found: FoundVersion): string | undefined {
    const { contentRoots } = this.#core
    const own = locationOf(contentRoots, this.#table.id, this.#table.record)
    let url: string | undefined
    let cause: unknown
    try {
      if (!steps.test(place)) url = checkLocation(contentRoots, place)
    } catch (error) {
      cause = error
    }
    if (url !== undefined && `${url}/`.startsWith(`${own}/`)) return undefined
    if (url !== undefined && contentFolderOf(contentRoots, url) !== undefined) return url
    const where = place.length > 200 ? `${place.slice(0, 200)}…` : place
    throw new CatalogError(
      'InvalidTableState',
      `The manifest of ${shownAs(this.#id, found)} names files in ${quote(where)}, which is no folder below the roots of this catalog. Add the folder above it to locationRoots (serve --location-root), or make a copy of the table without a shallow clone.`,
      { cause },
    )
  }

  #denied(cause: unknown): CatalogError {
    return new CatalogError(
      'PermissionDenied',
      `The table ${formatIdentifier(this.#id)} has files that lie outside of it, where no table is that you may read. Ask whoever runs the catalog for access.`,
      { cause },
    )
  }

  #read(found: FoundVersion) {
    return readManifest(this.#core, this.#id, this.#table, found, (manifest) => ({
      manifest,
      places: placesNamedIn(manifest, found.version),
    }))
  }

  async #stateOf(found: FoundVersion): Promise<string | undefined> {
    const { shared, prefix } = datasetFolderOf(this.#core, this.#table) ?? {}
    return (await shared?.state?.(prefix + manifestWithin(this.#core, found)))?.text
  }
}
