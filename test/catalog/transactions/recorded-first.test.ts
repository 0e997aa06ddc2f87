import { expect, it, onTestFinished } from 'vitest'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { openCatalog, type Store } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { gate } from '../../support/gate.ts'
import { countOf } from '../../support/rows.ts'
import { turns } from '../../support/turns.ts'

it('a transaction writes no rows before its record is there, so that no vacuum takes them', async () => {
  const store = memoryStore()
  const content = memoryContent()
  const { open: release, opened } = gate()
  onTestFinished(() => release())
  let next: Promise<void> | undefined
  // One write comes late, as over a network: all others overtake it.
  const late: Store = {
    features: store.features,
    read: (body) => store.read(body),
    async write(body) {
      const wait = next
      next = undefined
      await wait
      return store.write(body)
    },
    close: () => store.close(),
  }
  const root = 'memory://here'
  const other = closedAfterwards(await openCatalog({ store, content, root }))
  await other.createTable({ id: ['t'], data: [{ x: 0 }] })
  const one = closedAfterwards(await openCatalog({ store: late, content, root }))
  const insert = (x: number) => one.transaction((tx) => tx.insertIntoTable({ id: ['t'], data: [{ x }] }))
  await insert(1)
  next = opened
  const done = insert(2)
  await turns(200)
  await other.vacuum({ graceMillis: 0 })
  release()
  await done
  const fresh = closedAfterwards(await openCatalog({ store, content, root }))
  expect(await fresh.verify()).toMatchObject({ ok: true })
  expect(await countOf(fresh, ['t'])).toBe(3)
})
