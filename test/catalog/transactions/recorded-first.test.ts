import { expect, it, onTestFinished } from 'vitest'
import { CatalogError } from '../../../src/base/errors.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { openCatalog, type Store } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { pathsOf } from '../../support/contents.ts'
import { gate } from '../../support/gate.ts'
import { fails } from '../../support/refusals.ts'
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

/** A catalog with small objects in its store, and how often it has begun to write to the store. */
async function counted() {
  const store = memoryStore()
  let writes = 0
  const counting: Store = {
    features: { ...store.features, inlineBytes: 16 * 1024 },
    read: (body) => store.read(body),
    write: (body) => {
      writes++
      return store.write(body)
    },
    close: () => store.close(),
  }
  const content = memoryContent()
  const catalog = closedAfterwards(await openCatalog({ store: counting, content, root: 'memory://here' }))
  for (const name of ['t', 'u']) await catalog.createTable({ id: [name], data: [{ x: 0 }] })
  writes = 0
  return { catalog, content, writes: () => writes }
}

it('small changes of rows, and their record, are one write', async () => {
  const { catalog, writes } = await counted()
  const taken: number[] = []
  // A run that lasts for more than a second, as on a busy machine, has a record before its commit.
  for (let run = 1; run <= 5 && !taken.includes(1); run++) {
    const before = writes()
    await catalog.transaction(async (tx) => {
      for (const id of [['t'], ['u'], ['t']]) await tx.insertIntoTable({ id, data: [{ x: run }] })
      await tx.deleteFromTable({ id: ['u'], predicate: `x = ${run - 1}` })
      expect((await tx.countTableRows({ id: ['t'] })).count).toBe(1 + 2 * run)
    })
    taken.push(writes() - before)
  }
  expect(taken).toContain(1)
  const { transactions } = await catalog.listTransactions({})
  const ofRuns = taken.flatMap(() => [
    'DeleteFromTable',
    ...new Array(3).fill('InsertIntoTable'),
    'Transaction',
  ])
  expect(transactions.map(({ operation }) => operation).sort()).toEqual(
    ['CreateTable', 'CreateTable', ...ofRuns].sort(),
  )
})

it('a transaction that fails before it has a record has one afterwards', async () => {
  const { catalog } = await counted()
  const failed = catalog.transaction(async (tx) => {
    await tx.insertIntoTable({ id: ['t'], data: [{ x: 1 }] })
    throw new CatalogError('InvalidInput', 'no')
  })
  const { transaction_id } = await failed.catch((error) => error)
  const { status, properties } = await catalog.describeTransaction({ id: [transaction_id] })
  expect([status, properties.failure]).toEqual(['Failed', 'no'])
  expect(await countOf(catalog, ['t'])).toBe(1)
})

it('whoever learns the id finds the record', async () => {
  const { catalog } = await counted()
  await catalog.transaction(async (tx) => {
    await tx.insertIntoTable({ id: ['t'], data: [{ x: 1 }] })
    const id = [tx.transactionId]
    expect((await catalog.describeTransaction({ id })).status).toBe('Running')
  })
  const canceled = catalog.transaction(async (tx) => {
    const actions = [{ setStatusAction: { status: 'Canceled' as const } }]
    await catalog.alterTransaction({ id: [tx.transactionId], actions })
    await tx.insertIntoTable({ id: ['t'], data: [{ x: 2 }] })
  })
  await fails(canceled, 'ConcurrentModification', 'was canceled')
  expect(await countOf(catalog, ['t'])).toBe(2)
})

it('the record is there before the first file', async () => {
  const { catalog, content, writes } = await counted()
  const long = Array.from({ length: 200 }, (_, x) => ({ x, text: `${x}`.repeat(200) }))
  await catalog.createTable({ id: ['long'], data: long.slice(0, 1) })
  const before = writes()
  const files = (await pathsOf(content)).length
  await catalog.transaction(async (tx) => {
    await tx.insertIntoTable({ id: ['long'], data: long.slice(1, 2) })
    expect((await pathsOf(content)).length).toBe(files)
    await tx.insertIntoTable({ id: ['long'], data: long.slice(2) })
    expect(writes() - before).toBe(0)
    // The rows of inserts are written when something reads them.
    expect((await tx.countTableRows({ id: ['long'] })).count).toBe(200)
    expect([writes() - before, (await pathsOf(content)).length - files]).toEqual([1, 1])
    await catalog.vacuum({ graceMillis: 0 })
  })
  expect((await catalog.verify()).ok).toBe(true)
  expect(await countOf(catalog, ['long'])).toBe(200)
})
