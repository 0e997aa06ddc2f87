import { describe, onTestFinished, test } from 'vitest'
import { type LocalCatalog, openCatalog, type Transaction } from '../../../../src/tabularium/index.ts'
import type { CatalogUnderTest } from '../../../../src/testing/index.ts'
import { catalogSuite } from '../../../../src/testing/index.ts'
import { freshFolder } from '../../../support/catalogs.ts'
import { gate } from '../../../support/gate.ts'

/** Begins a transaction that is given up when the handle is closed. */
async function inside(catalog: LocalCatalog): Promise<CatalogUnderTest> {
  const { open: end, opened: ended } = gate()
  let running: Promise<unknown> | undefined
  const tx = await new Promise<Transaction>((resolve, reject) => {
    running = catalog.transaction(async (tx) => {
      resolve(tx)
      await ended
      throw new GivenUp()
    })
    running.catch(reject)
  })
  onTestFinished(() => catalog.close())
  return Object.assign(tx, {
    close: async () => {
      end()
      await running!.catch((error: unknown) => {
        if (!(error instanceof GivenUp)) throw error
      })
    },
  })
}

class GivenUp extends Error {}

catalogSuite({ describe, test }, async () => inside(await openCatalog('memory:')), {
  name: 'every operation inside of a transaction, in memory',
  lacks: ['openTransactions', 'listTransactions', 'watch'],
})
catalogSuite({ describe, test }, async () => inside(await openCatalog(await freshFolder())), {
  name: 'every operation inside of a transaction, on disk',
  lacks: ['openTransactions', 'listTransactions', 'watch'],
})
