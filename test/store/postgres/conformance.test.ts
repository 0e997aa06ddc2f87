import { describe, test } from 'vitest'
import { readAddress } from '../../../src/store/postgres/address.ts'
import { openPostgresStore } from '../../../src/store/postgres/index.ts'
import { PostgresStore } from '../../../src/store/postgres/store.ts'
import { type StorePlace, storeSuite } from '../../../src/testing/suites/store-suite.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'

const place = async (): Promise<StorePlace> => {
  const url = await (await sharedServer()).freshUrl()
  return { open: () => openPostgresStore(url) }
}

/** As for an engine whose writers cannot take turns: they meet, and some of them begin again. */
const placeWithoutTurns = async (): Promise<StorePlace> => {
  const address = await readAddress(await (await sharedServer()).freshUrl())
  return { open: () => PostgresStore.open(address, false) }
}

describe.skipIf(missingPostgres)('in PostgreSQL', () => {
  storeSuite({ describe, test }, place, { name: 'the PostgreSQL store', histories: 6 })
  storeSuite({ describe, test }, placeWithoutTurns, { name: 'without turns', histories: 2 })
})
