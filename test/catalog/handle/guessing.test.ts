import { describe, expect, test } from 'vitest'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { copyCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { catalogSuite } from '../../../src/testing/suites/catalog-suite.ts'
import { transactionSuite } from '../../../src/testing/suites/transaction-suite.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { guessingStore } from '../../support/guessing-store.ts'
import { limitEach } from '../../support/time-limit.ts'
import { filled, told } from '../maintenance/filled.ts'

// A rule waits for a turn, which lasts five seconds.
limitEach(60)

// A store may run bodies more than once. Whatever a body does besides reading and writing shows here.

const open = () => openCatalog({ store: guessingStore(), content: memoryContent() })

catalogSuite({ describe, test }, open, { name: 'a catalog over a store that guesses first' })
transactionSuite({ describe, test }, open, { name: 'transactions over a store that guesses first' })

test('upkeep of a catalog over a store that guesses first tells what is there', async () => {
  const store = memoryStore()
  const content = memoryContent()
  const [plain, guessing] = await Promise.all(
    [store, guessingStore(store)].map(async (store) =>
      closedAfterwards(await openCatalog({ store, content, root: 'memory://here' })),
    ),
  )
  await copyCatalog(await filled(), guessing!)
  await guessing!.dropTable({ id: ['none'] })
  const findings: string[] = []
  const verified = await guessing!.verify({ onFinding: ({ message }) => findings.push(message) })
  expect(verified).toEqual(await plain!.verify())
  expect([verified.ok, findings]).toEqual([true, []])
  const vacuumed = { graceMillis: 0, dryRun: true }
  expect(await guessing!.vacuum(vacuumed)).toEqual(await plain!.vacuum(vacuumed))
  const folders = [await freshFolder(), await freshFolder()] as const
  const history = { history: true }
  expect(await guessing!.exportTo(folders[0], history)).toEqual(await plain!.exportTo(folders[1], history))
  const again = closedAfterwards(await open())
  await again.importFrom(folders[0])
  expect(await told(again)).toEqual(await told(plain!))
})
