import { existsSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CatalogOptions, LocalCatalog } from '../../src/index.ts'
import { openCatalog } from '../../src/index.ts'
import { overHttp } from '../client/over-http.ts'

/** An empty catalog to run a history on. */
export interface Stage extends AsyncDisposable {
  readonly name: string
  readonly catalog: LocalCatalog
  /** What the locations below the catalog's own root begin with. */
  readonly root: string
}

/** Makes an empty catalog on each store, and one behind a server. */
export const stages: Readonly<Record<string, (options?: CatalogOptions) => Promise<Stage>>> = {
  async memory(options = {}) {
    const catalog = await openCatalog('memory:', options)
    const { location } = await catalog.fork().declareTable({ id: ['t'] })
    const root = location.slice(0, location.indexOf('tables/'))
    return { name: 'memory', catalog, root, [Symbol.asyncDispose]: () => catalog.close() }
  },

  async lmdb(options = {}) {
    const directory = await temporaryDirectory()
    const catalog = await openCatalog(directory, options)
    return {
      name: 'lmdb',
      catalog,
      root: `${pathToFileURL(directory).href}/`,
      async [Symbol.asyncDispose]() {
        await catalog.close()
        await rm(directory, { recursive: true, force: true })
      },
    }
  },

  async http(options = {}) {
    const { catalog: local, root } = await stages.memory!(options)
    const catalog = await overHttp(local)
    return { name: 'memory, over HTTP', catalog, root, [Symbol.asyncDispose]: () => catalog.close() }
  },
}

/** A new folder, in memory where the system offers that: durability is not what these tests look at. */
export async function temporaryDirectory(): Promise<string> {
  const folder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
  return realpath(await mkdtemp(join(folder, 'tabularium-')))
}
