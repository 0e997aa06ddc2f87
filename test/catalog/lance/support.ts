import { randomUUID } from 'node:crypto'
import type { Content, SharedFiles } from '../../../src/base/content/content.ts'
import { fileContent } from '../../../src/contents/files/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { contentWith, pathsOf } from '../../support/contents.ts'

/* Plays Lance's part without Lance: manifests are any bytes, under the names that Lance gives them. */

const bytes = (held: string | Uint8Array) =>
  typeof held === 'string' ? new TextEncoder().encode(held) : held

/** The name of a version's manifest. */
export const nameOf = (version: number) => `${18446744073709551615n - BigInt(version)}.manifest`

/** The folder of a dataset, and what Lance does in it. */
export class Dataset {
  readonly content: Content
  /** Within the content, ending in a slash. */
  readonly prefix: string
  /** As Lance names it. */
  readonly objectPath: string

  constructor(content: Content, location: string, prefix: string) {
    this.content = content
    this.prefix = prefix
    this.objectPath = `${new URL(location).pathname.replace(/^\/+/, '')}/`
  }

  /** Writes a manifest beside its final name. Answers what is to be sent to the catalog. */
  async stage(version: number, held: string | Uint8Array, branch = '') {
    const folder = folderOf(branch)
    const name = `${nameOf(version)}-${randomUUID()}`
    await this.content.put(this.prefix + folder + name, bytes(held))
    return { version, manifest_path: this.objectPath + folder + name, naming_scheme: 'V2' }
  }

  /** Publishes a manifest without asking the catalog. */
  async publish(version: number, held: string | Uint8Array, branch = ''): Promise<void> {
    await this.content.put(this.prefix + folderOf(branch) + nameOf(version), bytes(held))
  }

  /** Writes a tag or a branch as Lance does. */
  async putRef(path: string, ref: object): Promise<void> {
    await this.content.put(`${this.prefix}_refs/${path}.json`, bytes(JSON.stringify(ref)))
  }

  async ref(path: string): Promise<unknown> {
    const found = await this.content.get(`${this.prefix}_refs/${path}.json`)
    return found && JSON.parse(new TextDecoder().decode(found))
  }

  async remove(version: number, branch = ''): Promise<void> {
    await this.content.remove(this.prefix + folderOf(branch) + nameOf(version))
  }

  /** The numbers of all manifests, in order, with what they hold, and the names of other files after them. */
  async manifests(branch = ''): Promise<[name: string | number, text: string][]> {
    const prefix = this.prefix + folderOf(branch)
    const found = await Promise.all(
      (await pathsOf(this.content, prefix)).map(async (path): Promise<[string | number, string]> => {
        const name = path.slice(prefix.length)
        const digits = /^(\d{20})\.manifest$/.exec(name)?.[1]
        const held = new TextDecoder().decode(await this.content.get(path))
        return [digits === undefined ? name : Number(18446744073709551615n - BigInt(digits)), held]
      }),
    )
    const isNumber = ([name]: [string | number, string]) => typeof name === 'number'
    return found.sort((a, b) => Number(isNumber(b)) - Number(isNumber(a)) || (a[0] < b[0] ? -1 : 1))
  }
}

/** Declares a table for Lance to write. */
export async function declared(
  catalog: Pick<LocalCatalog, 'declareTable'>,
  content: Content,
  name: string,
): Promise<Dataset> {
  const { location } = await catalog.declareTable({ id: [name] })
  return new Dataset(content, location, `${location.slice(location.indexOf('tables/'))}/`)
}

const folderOf = (branch: string) => `${branch && `tree/${branch}/`}_versions/`

/** The versions that a catalog lists, by number and the names of their manifests. */
export async function listed(
  catalog: Pick<LocalCatalog, 'listTableVersions'>,
  name: string,
  branch?: string,
) {
  const { versions } = await catalog.listTableVersions({ id: [name], branch })
  return versions.map(({ version }) => version)
}

/** Two catalogs over one store and folder, as two processes would be. The first one's links may fail. */
export async function twoCatalogs() {
  const folder = await freshFolder()
  const store = memoryStore()
  const real = fileContent(folder)
  const before: { link?: (from: string, to: string) => unknown } = {}
  const shared: SharedFiles = {
    names: (prefix) => real.shared!.names(prefix),
    sync: (path) => real.shared!.sync(path),
    replace: (path, bytes) => real.shared!.replace(path, bytes),
    link: async (from, to) => {
      await before.link?.(from, to)
      return real.shared!.link(from, to)
    },
  }
  const content = contentWith(real, { shared })
  const options = { store, root: `file://${folder}`, managedVersioning: true }
  const failing = closedAfterwards(await openCatalog({ ...options, content }))
  const other = closedAfterwards(await openCatalog({ ...options, content: real }))
  return { failing, other, before, content: real, options }
}
