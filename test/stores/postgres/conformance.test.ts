import { describe, test } from 'vitest'
import { readAddress } from '../../../src/stores/postgres/address.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { PostgresStore } from '../../../src/stores/postgres/store.ts'
import type { Store } from '../../../src/tabularium/index.ts'
import type { StorePlace } from '../../../src/testing/suites/store/trial.ts'
import { storeSuite } from '../../../src/testing/suites/store-suite.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'

/** Schemas that are empty again: making one takes longer than most cases. */
const free: string[] = []

async function placeOf(open: (url: string) => Promise<Store>): Promise<StorePlace> {
  const server = await sharedServer()
  const url = free.pop() ?? (await server.freshUrl())
  return {
    open: () => open(url),
    dispose: async () => {
      const schema = new URL(url).searchParams.get('schema')
      await server.query(`DELETE FROM ${schema}.records; DELETE FROM ${schema}.commits`)
      free.push(url)
    },
  }
}

/** As for an engine whose writers cannot take turns: they meet, and some of them begin again. */
const withoutTurns = async (url: string) => PostgresStore.open(await readAddress(url), false)

describe.skipIf(missingPostgres)('in PostgreSQL', () => {
  storeSuite({ describe, test }, () => placeOf(openPostgresStore), {
    name: 'the PostgreSQL store',
    histories: 6,
  })
  storeSuite({ describe, test }, () => placeOf(withoutTurns), { name: 'without turns', histories: 2 })
})
