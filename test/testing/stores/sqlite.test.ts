import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { memoryContent } from '../../../src/content/memory.ts'
import { openCatalog } from '../../../src/index.ts'
import { catalogSuite } from '../../../src/testing/suites/catalog-suite.ts'
import { type StorePlace, storeSuite } from '../../../src/testing/suites/store-suite.ts'
import { openSqliteStore } from './sqlite.ts'

const freshFolder = () => mkdtemp(join(tmpdir(), 'tabularium-sqlite-'))

function placeIn(folder: string): StorePlace {
  return {
    open: () => openSqliteStore(join(folder, 'catalog.sqlite')),
    afterCrash: async () => {
      const copy = await freshFolder()
      await cp(folder, copy, { recursive: true })
      return placeIn(copy)
    },
    dispose: () => rm(folder, { recursive: true }),
  }
}

storeSuite({ describe, test }, async () => placeIn(await freshFolder()), {
  name: 'a store over SQLite',
  histories: 6,
})

catalogSuite(
  { describe, test },
  async () => {
    const folder = await freshFolder()
    const store = await openSqliteStore(join(folder, 'catalog.sqlite'))
    const catalog = await openCatalog({ store, content: memoryContent() })
    const close = async () => {
      await catalog.close()
      await rm(folder, { recursive: true })
    }
    return new Proxy(catalog, {
      get: (target, name) => (name === 'close' ? close : Reflect.get(target, name)),
    })
  },
  { name: 'a catalog over SQLite' },
)
