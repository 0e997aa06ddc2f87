import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { keys, type TransactionRecord } from '../../../src/base/store/records.ts'
import { leaseMillis } from '../../../src/catalog/transactions/transaction-record.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { CatalogError, type LocalCatalog, openCatalog, type Store } from '../../../src/tabularium/index.ts'
import { closedAfterwards, stoppedClock } from '../../support/catalogs.ts'
import { gate } from '../../support/gate.ts'
import { followGlobalTime } from '../../support/global-time.ts'
import { sharedStores } from '../../support/shared-stores.ts'
import { turns } from '../../support/turns.ts'

/*
 * Nothing is told that a commit can still undo. A transaction whose lease has ended counts as failed once that is
 * recorded, and its commit is refused from then on: when it comes late, and when its process has another clock.
 */

const places: typeof sharedStores = [
  {
    place: 'memory',
    async begin() {
      const store = memoryStore()
      return async () => store
    },
  },
  ...sharedStores,
]

/** A store whose writes wait for what `before` gives, as on a link that stalls. */
function stalling(store: Store) {
  const link: { before?: (() => Promise<unknown> | undefined) | undefined; writes: number } = { writes: 0 }
  const write: Store['write'] = async (body) => {
    link.writes++
    await link.before?.()
    return store.write(body)
  }
  const features = store.features
  const stalled: Store = { features, read: (body) => store.read(body), write, close: () => store.close() }
  return { store: stalled, link }
}

const booked = async (catalog: LocalCatalog) => (await catalog.countTableRows({ id: ['t'] })).count

/** Each way to learn what became of a transaction, and what it tells of one whose lease has ended. */
const ways: Readonly<Record<string, (on: LocalCatalog, id: string) => Promise<unknown>>> = {
  describe: async (on, id) => {
    const { status, properties } = await on.describeTransaction({ id: [id] })
    return [status, properties.failure_code]
  },
  list: async (on, id) => {
    const { transactions } = await on.listTransactions({})
    const found = transactions.find(({ transaction_id }) => transaction_id === id)
    return [found?.status, found?.failure_code]
  },
  'list those that failed': async (on, id) => {
    const { transactions } = await on.listTransactions({ status: ['Failed'] })
    return transactions.filter(({ transaction_id }) => transaction_id === id).map(({ status }) => status)
  },
  commit: (on, id) => on.commitTransaction({ id: [id] }).catch((error) => error.message),
  rollback: async (on, id) => (await on.rollbackTransaction({ id: [id] })).status,
  cancel: (on, id) => {
    const actions = [{ setStatusAction: { status: 'Canceled' as const } }]
    return on.alterTransaction({ id: [id], actions }).catch((error) => error.message)
  },
  'set a property': async (on, id) => {
    const actions = [{ setPropertyAction: { key: 'seen', value: 'yes' } }]
    return (await on.alterTransaction({ id: [id], actions })).status
  },
  'work inside': (on, id) => on.listTables({ id: [] }, { transaction: id }).catch((error) => error.message),
}

const answers: Readonly<Record<string, unknown>> = {
  describe: ['Failed', 'ServiceUnavailable'],
  list: ['Failed', 'ServiceUnavailable'],
  'list those that failed': ['Failed'],
  commit: expect.stringContaining('has ended without a commit'),
  rollback: 'Failed',
  cancel: expect.stringContaining('is Failed and stays so'),
  'set a property': 'Failed',
  'work inside': expect.stringContaining('has ended without a commit'),
}

for (const { place, missing, begin } of places) {
  describe.skipIf(missing)(`a lapse in ${place}`, () => {
    /** Two catalogs on one store, each with its clock and its link. */
    async function two() {
      const open = await begin()
      const content = memoryContent()
      const make = async () => {
        const now = stoppedClock()
        const { store, link } = stalling(await open())
        const catalog = await openCatalog({ store, content, now, root: 'memory://here' })
        return { catalog: closedAfterwards(catalog), now, link }
      }
      const one = await make()
      const other = await make()
      await one.catalog.createTable({ id: ['t'], data: [{ x: 0 }] })
      const started = async () => {
        const { transaction_id } = await one.catalog.beginTransaction({ idle_timeout_seconds: 3_600 })
        await one.catalog.insertIntoTable({ id: ['t'], data: [{ x: 1 }] }, { transaction: transaction_id })
        return transaction_id
      }
      return { one, other, started }
    }

    it.each(Object.keys(ways))(
      'that is told stays: a commit that comes late is refused (%s)',
      async (way) => {
        const { one, other, started } = await two()
        const id = await started()
        const { open: release, opened } = gate()
        onTestFinished(() => release())
        const { open: sent, opened: isOnItsWay } = gate()
        one.link.before = () => {
          sent()
          return opened
        }
        const done = one.catalog.commitTransaction({ id: [id] })
        const refused = expect(done).rejects.toMatchObject({ code: 'ConcurrentModification' })
        await isOnItsWay
        for (const { now } of [one, other]) now.move(leaseMillis + 1)
        expect(await ways[way]!(other.catalog, id)).toEqual(answers[way])
        one.link.before = undefined
        release()
        await refused
        expect(await booked(other.catalog)).toBe(1)
        expect(await ways.describe!(one.catalog, id)).toEqual(answers.describe)
      },
    )

    it.each(Object.keys(ways))('that is told stays for a process whose clock is late (%s)', async (way) => {
      const { one, other, started } = await two()
      const id = await started()
      other.now.move(leaseMillis + 1)
      expect(await ways[way]!(other.catalog, id)).toEqual(answers[way])
      await expect(one.catalog.commitTransaction({ id: [id] })).rejects.toBeInstanceOf(CatalogError)
      expect(await booked(other.catalog)).toBe(1)
      expect(await ways.describe!(one.catalog, id)).toEqual(answers.describe)
    })

    it('is not told where the commit comes before its record', async () => {
      for (const way of ['describe', 'list', 'commit']) {
        const { one, other, started } = await two()
        const id = await started()
        other.now.move(leaseMillis + 1)
        other.link.before = () => one.catalog.commitTransaction({ id: [id] })
        const told = await ways[way]!(other.catalog, id)
        if (way === 'commit') expect(told).toMatchObject({ status: 'Succeeded' })
        else expect(told).toEqual(['Succeeded', undefined])
        expect(await booked(other.catalog)).toBe(2)
      }
    })

    it('is recorded once, at the time when it is told', async () => {
      const { one, other, started } = await two()
      const id = await started()
      other.now.move(leaseMillis + 12_345)
      const before = other.link.writes
      const tell = async () => (await other.catalog.describeTransaction({ id: [id] })).properties
      const told = await tell()
      expect(Date.parse(told.finished_at!)).toBe(other.now())
      expect(told).not.toHaveProperty('lease_until')
      other.now.move(5_000)
      expect(await tell()).toEqual(told)
      expect((await other.catalog.listTransactions({})).transactions[0]!.finished_at).toBe(told.finished_at)
      expect(other.link.writes - before).toBe(1)
      await expect(one.catalog.rollbackTransaction({ id: [id] })).resolves.toMatchObject({ status: 'Failed' })
    })

    it('is not told by who cannot write: the transaction stays Running, and tells when its lease ended', async () => {
      const open = await begin()
      const content = memoryContent()
      const root = 'memory://here'
      const one = closedAfterwards(
        await openCatalog({ store: await open(), content, root, now: stoppedClock() }),
      )
      await one.createTable({ id: ['t'], data: [{ x: 0 }] })
      const { store, link } = stalling(await open())
      const now = stoppedClock()
      const reading = closedAfterwards(await openCatalog({ store, content, root, now, readOnly: true }))
      const denied = stalling(await open())
      const lacking = closedAfterwards(await openCatalog({ store: denied.store, content, root, now }))
      denied.link.before = () => Promise.reject(new CatalogError('PermissionDenied', 'Only for reading.'))
      const { transaction_id: id } = await one.beginTransaction({ idle_timeout_seconds: 3_600 })
      now.move(leaseMillis + 1)
      for (const catalog of [reading, lacking]) {
        const { status, properties } = await catalog.describeTransaction({ id: [id] })
        expect(status).toBe('Running')
        expect(Date.parse(properties.lease_until!)).toBeLessThan(now())
        expect(await catalog.listTransactions({ status: ['Running'] })).toMatchObject({
          transactions: [{ transaction_id: id, status: 'Running' }],
        })
      }
      expect(link.writes).toBe(0)
      await expect(lacking.commitTransaction({ id: [id] })).rejects.toMatchObject({
        code: 'PermissionDenied',
      })
      expect(await one.commitTransaction({ id: [id] })).toMatchObject({ status: 'Succeeded' })
      for (const catalog of [reading, lacking])
        expect((await catalog.describeTransaction({ id: [id] })).status).toBe('Succeeded')
    })

    it('of another transaction is not told inside of one, which reads one moment', async () => {
      const { one, other, started } = await two()
      const id = await started()
      other.now.move(leaseMillis + 1)
      let runs = 0
      const told = await other.catalog.transaction(async (tx) => {
        runs++
        await tx.declareTable({ id: ['declared'] })
        return (await tx.describeTransaction({ id: [id] })).status
      })
      expect([told, runs]).toEqual(['Running', 1])
      expect(await one.catalog.commitTransaction({ id: [id] })).toMatchObject({ status: 'Succeeded' })
    })
  })
}

it('many lapses are recorded by few changes, and once', async () => {
  const store = memoryStore()
  const { store: counted, link } = stalling(store)
  const now = stoppedClock()
  const catalog = closedAfterwards(await openCatalog({ store: counted, content: memoryContent(), now }))
  const record = (more: Partial<TransactionRecord>): TransactionRecord => ({
    v: 1,
    status: 'Running',
    operation: 'InsertIntoTable',
    subject: ['t'],
    created_at: now(),
    properties: {},
    lease_until: now() - 1,
    ...more,
  })
  await store.write((writer) => {
    for (let i = 0; i < 600; i++) writer.put(keys.transaction(`A${String(i).padStart(3, '0')}`), record({}))
    writer.put(keys.transaction('B'), record({ lease_until: now() }))
  })
  const listed = async (status?: 'Running' | 'Failed') => {
    const { transactions } = await catalog.listTransactions({ limit: 1_000, status: status && [status] })
    return transactions.length
  }
  const before = link.writes
  expect(await listed('Running')).toBe(1)
  expect(link.writes - before).toBe(3)
  expect([await listed('Failed'), await listed()]).toEqual([600, 601])
  expect(link.writes - before).toBe(3)
})

it('a process that loses its lease gives nothing up while its commit is on its way', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  followGlobalTime()
  const { store, link } = stalling(memoryStore())
  const now = stoppedClock()
  const catalog = closedAfterwards(await openCatalog({ store, content: memoryContent(), now }))
  const { transaction_id: id } = await catalog.beginTransaction({ idle_timeout_seconds: 3_600 })
  await catalog.declareTable({ id: ['t'] }, { transaction: id })
  const { open: release, opened } = gate()
  onTestFinished(() => release())
  link.before = () => opened
  const before = link.writes
  const done = catalog.commitTransaction({ id: [id] })
  const refused = expect(done).rejects.toMatchObject({ code: 'ConcurrentModification' })
  now.move(leaseMillis + 1)
  for (let beats = 0; beats < 3; beats++) {
    await vi.advanceTimersByTimeAsync(1_000)
    await turns()
  }
  expect(link.writes - before).toBe(1)
  release()
  await refused
  expect((await catalog.describeTransaction({ id: [id] })).properties.failure).toContain(
    'silent for too long',
  )
  expect((await catalog.listTables({ id: [], include_declared: true })).tables).toEqual([])
})
