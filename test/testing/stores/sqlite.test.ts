import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { catalogSuite } from '../../../src/testing/suites/catalog-suite.ts'
import type { StorePlace } from '../../../src/testing/suites/store/trial.ts'
import { storeSuite } from '../../../src/testing/suites/store-suite.ts'
import { transactionSuite } from '../../../src/testing/suites/transaction-suite.ts'
import { limitEach } from '../../support/time-limit.ts'
import { openSqliteStore } from './sqlite.ts'

// A rule waits for a turn, which lasts five seconds.
limitEach(60)

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
