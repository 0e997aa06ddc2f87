import { rm } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import type { CatalogOptions, LocalCatalog } from '../../src/tabularium/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { overHttp } from '../client/over-http.ts'
import { temporaryDirectory } from '../support/folders.ts'

/** An empty catalog to run a history on. */
export interface Stage extends AsyncDisposable {
  readonly name: string
  readonly catalog: LocalCatalog
  /** The prefix of locations below the catalog's own root. */
  readonly root: string
}

/** Creates an empty catalog on each store, and one behind a server. */
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
