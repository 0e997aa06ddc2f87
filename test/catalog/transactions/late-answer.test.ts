import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { keys } from '../../../src/base/store/records.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { openCatalog, type Store } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { gate } from '../../support/gate.ts'

it('a change whose answer comes late never looks as if it went on, once others have cleared its record', async () => {
  const store = memoryStore()
  const { open: release, opened } = gate()
  onTestFinished(() => release())
  let isLate = false
  // A commit is done in the database, and its answer is on its way for long.
  const far: Store = {
    features: store.features,
    read: (body) => store.read(body),
    async write(body) {
      const wait = isLate ? opened : undefined
      isLate = false
      const result = await store.write(body)
      await wait
      return result
    },
    close: () => store.close(),
  }
  const content = memoryContent()
  const catalog = closedAfterwards(await openCatalog({ store: far, content, root: 'memory://here' }))
  const other = closedAfterwards(await openCatalog({ store, content, root: 'memory://here' }))
  await catalog.createTable({ id: ['t'], data: [{ x: 0 }] })
  isLate = true
  const done = catalog.insertIntoTable({ id: ['t'], data: [{ x: 1 }] })
  let id = ''
  const inserts = async () => {
    const { transactions } = await other.listTransactions({})
    id = transactions.find(({ operation }) => operation === 'InsertIntoTable')?.transaction_id ?? ''
    return id
  }
  await expect.poll(inserts, { interval: 1 }).not.toBe('')
  await store.write((writer) => writer.remove(keys.transaction(id)))
  // Nothing may happen meanwhile: work that is not done after a second gets a record.
  await sleep(1_500)
  const described = other.describeTransaction({ id: [id] })
  await expect(described).rejects.toMatchObject({ code: 'TransactionNotFound' })
  release()
  await done
  await expect(other.describeTransaction({ id: [id] })).rejects.toMatchObject({ code: 'TransactionNotFound' })
})
