import { describe, expect, it } from 'vitest'
import { idSource } from '../../../src/base/model/ids.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { contentWith } from '../../support/contents.ts'
import { gate } from '../../support/gate.ts'
import { fails } from '../../support/refusals.ts'
import { numbered } from '../../support/rows.ts'
import { sharedStores } from '../../support/shared-stores.ts'
import { limitEach } from '../../support/time-limit.ts'

// A process asks once a second whether its work was canceled.
limitEach(60)

/*
 * Work that another process cancels hears of it while it works, and not only when it commits. Nothing but that ends the
 * work of these tests.
 */

const id = ['t']
const never = () => new Promise<never>(() => {})

for (const { place, missing, begin } of sharedStores) {
  describe.skipIf(missing)(`a second catalog on the same ${place}`, () => {
    /** Two catalogs; what the first one writes waits for `go` from when its `isHeld` is set. */
    async function two() {
      const open = await begin()
      const content = memoryContent()
      const ids: string[] = []
      const next = idSource(Date.now)
      const { open: go, opened: mayGoOn } = gate()
      const held = { isHeld: false, go, ids }
      const one = await openCatalog({
        store: await open(),
        content: contentWith(content, {
          put: async (path, bytes) => {
            if (held.isHeld) await mayGoOn
            await content.put(path, bytes)
          },
        }),
        root: 'memory://here',
        concurrency: 1,
        newId: () => {
          ids.push(next())
          return ids.at(-1)!
        },
      })
      const other = await openCatalog({ store: await open(), content, root: 'memory://here' })
      return { one: closedAfterwards(one), other: closedAfterwards(other), held }
    }
    const cancel = (catalog: LocalCatalog, transaction: string) =>
      catalog.alterTransaction({
        id: [transaction],
        actions: [{ setStatusAction: { status: 'Canceled' } }],
      })

    it('cancels a transaction that waits for ever', async () => {
      const { one, other } = await two()
      const { open: began, opened: begun } = gate<string>()
      const done = one.transaction(async (tx) => {
        await tx.declareTable({ id })
        began(tx.transactionId)
        await never()
      })
      const refused = fails(done, 'ConcurrentModification', 'was canceled')
      const transaction = await begun
      expect(await cancel(other, transaction)).toMatchObject({ status: 'Canceled' })
      await refused
      expect(await one.describeTransaction({ id: [transaction] })).toMatchObject({ status: 'Canceled' })
      expect(await other.listTables({ id: [] })).toMatchObject({ tables: [] })
    })

    it('cancels a transaction that was begun for others', async () => {
      const { one, other } = await two()
      const { transaction_id } = await one.beginTransaction({})
      expect(await cancel(other, transaction_id)).toMatchObject({ status: 'Canceled' })
      const used = () => one.listTables({ id: [] }, { transaction: transaction_id })
      await expect.poll(() => used().then(() => 'open', String)).toContain('was canceled')
    })

    it('cancels work that waits for its turn', async () => {
      const { one, other, held } = await two()
      await one.createTable({ id, data: numbered(1) })
      held.isHeld = true
      // Fewer rows are records of the store, and the content gets nothing.
      const data = numbered(2_000)
      const first = one.insertIntoTable({ id, data })
      const find = async (status: string) => {
        for (const transaction of held.ids) {
          const found = await other.describeTransaction({ id: [transaction] }).catch(() => undefined)
          if (found?.status === status) return transaction
        }
        return undefined
      }
      const withStatus = async (status: string) => {
        await expect.poll(() => find(status)).toBeDefined()
        return (await find(status))!
      }
      await withStatus('Running')
      const refused = fails(one.insertIntoTable({ id, data }), 'ConcurrentModification', 'canceled')
      await cancel(other, await withStatus('Queued'))
      await refused
      held.go()
      expect(await first).toMatchObject({ version: 2 })
    })
  })
}
