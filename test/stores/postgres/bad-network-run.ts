import assert from 'node:assert/strict'
import type { Store } from '../../../src/base/store/store.ts'
import { readAddress } from '../../../src/stores/postgres/address.ts'
import { PostgresStore } from '../../../src/stores/postgres/store.ts'
import { type BadNetwork, makeBad, makeGood } from '../../support/bad-network.ts'
import type { Database } from '../../support/postgres.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { count, counted } from './counting.ts'

/** So soon does a store give up a connection that does not answer. */
const answerMillis = 1_500

/** Opens a store that is less patient with silent connections than others. */
export async function impatient(url: string): Promise<Store> {
  return PostgresStore.open({ ...(await readAddress(url)), answerMillis })
}

/** Writers of two stores count over a bad network. Each count is there once, and each was told its number. */
export async function countOverBadNetwork(
  server: Database,
  seed: number,
  network: BadNetwork,
  { writers = 8, each = 25 } = {},
) {
  const proxy = await TcpProxy.start(server.port)
  try {
    const url = await server.freshUrl(proxy.port)
    const stores = await Promise.all([impatient(url), impatient(url)])
    const bad = makeBad(proxy, seed, network)
    const told: string[] = []
    await Promise.all(
      Array.from({ length: writers }, async (_, writer) => {
        const store = stores[writer % 2]!
        for (let i = 0; i < each; i++) {
          const who = `${writer}-${i}`
          const n = await count(store, who)
          told[n - 1] = who
          // What was acknowledged is seen by the other store, too.
          const seen = await stores[(writer + 1) % 2]!.read((tx) => tx.get(['by', n]))
          assert.equal(seen, who)
        }
      }),
    )
    makeGood(proxy)
    assert.deepEqual(await counted(stores[0]!), told)
    assert.equal(told.length, writers * each)
    await Promise.all(stores.map((store) => store.close()))
    return { ...bad, changes: told.length }
  } finally {
    proxy.close()
  }
}
