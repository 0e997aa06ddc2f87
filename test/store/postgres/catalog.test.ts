import { afterAll, beforeAll, describe, test } from 'vitest'
import { memoryContent } from '../../../src/content/memory/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/index.ts'
import { openPostgresStore } from '../../../src/store/postgres/index.ts'
import { catalogSuite } from '../../../src/testing/suites/catalog-suite.ts'
import { transactionSuite } from '../../../src/testing/suites/transaction-suite.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'

describe.skipIf(missingPostgres)('in PostgreSQL', () => {
  let catalog: LocalCatalog

  beforeAll(async () => {
    const store = await openPostgresStore(await (await sharedServer()).freshUrl())
    catalog = await openCatalog({ store, content: memoryContent() })
  })
  afterAll(() => catalog.close())

  /** The same catalog for all cases: it stays open when one is done with it. */
  const shared = (): LocalCatalog => Object.assign(Object.create(catalog), { close: async () => {} })

  catalogSuite({ describe, test }, shared, { name: 'a catalog in PostgreSQL' })
  transactionSuite({ describe, test }, shared, { name: 'transactions in PostgreSQL' })
})
