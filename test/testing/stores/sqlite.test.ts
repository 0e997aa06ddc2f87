import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LocalCatalog, openCatalog } from 'tabularium'
import { memoryContent } from 'tabularium/content/memory'
import { catalogSuite, type StorePlace, storeSuite, transactionSuite } from 'tabularium/testing'
import { afterAll, beforeAll, describe, test, vi } from 'vitest'
import { openSqliteStore } from './sqlite.ts'

// A rule waits for a turn, which lasts five seconds.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

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

let folder: string
let catalog: LocalCatalog

beforeAll(async () => {
  folder = await freshFolder()
  // These cases test the catalog, not durability. Each sync would cost more than the case.
  const store = await openSqliteStore(join(folder, 'catalog.sqlite'), { durable: false })
  catalog = await openCatalog({ store, content: memoryContent() })
})
afterAll(async () => {
  await catalog.close()
  await rm(folder, { recursive: true })
})

/** The same catalog for all cases. It stays open after a case. */
const shared = (): LocalCatalog => Object.assign(Object.create(catalog), { close: async () => {} })

catalogSuite({ describe, test }, shared, { name: 'a catalog over SQLite' })
transactionSuite({ describe, test }, shared, { name: 'transactions over SQLite' })
