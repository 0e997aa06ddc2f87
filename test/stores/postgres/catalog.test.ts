import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { catalogSuite } from '../../../src/testing/suites/catalog-suite.ts'
import { transactionSuite } from '../../../src/testing/suites/transaction-suite.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'
import { limitEach } from '../../support/time-limit.ts'

// A rule waits for a turn, which lasts five seconds.
limitEach(60)

describe.skipIf(missingPostgres)('in PostgreSQL', () => {
  let catalog: LocalCatalog

  beforeAll(async () => {
    const store = await openPostgresStore(await (await sharedServer()).freshUrl())
    catalog = await openCatalog({ store, content: memoryContent(), retainDropped: 3_600_000 })
  })
  afterAll(() => catalog.close())

  test('a catalog is opened read-only beside one that writes', async () => {
    const url = (await (await sharedServer()).freshUrl()) as `postgres://${string}`
    const content = memoryContent()
    await expect(openCatalog(url, { content, readOnly: true })).rejects.toMatchObject({
      code: 'InvalidInput',
      message: expect.stringContaining('no catalog to read'),
    })
    await using writing = await openCatalog(url, { content })
    await writing.createTable({ id: ['t'], data: [{ x: 1 }] })
    await using reading = await openCatalog(url, { content, readOnly: true })
    expect((await reading.countTableRows({ id: ['t'] })).count).toBe(1)
    await expect(reading.dropTable({ id: ['t'] })).rejects.toMatchObject({ code: 'PermissionDenied' })
    await writing.insertIntoTable({ id: ['t'], data: [{ x: 2 }] })
    expect((await reading.countTableRows({ id: ['t'] })).count).toBe(2)
  })

  /** The same catalog for all cases: it stays open when one is done with it. */
  const shared = (): LocalCatalog => Object.assign(Object.create(catalog), { close: async () => {} })

  catalogSuite({ describe, test }, shared, { name: 'a catalog in PostgreSQL' })
  transactionSuite({ describe, test }, shared, { name: 'transactions in PostgreSQL' })
})
