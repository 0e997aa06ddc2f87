import { describe, expect, onTestFinished, test } from 'vitest'
import { leaseMillis } from '../../../src/catalog/transactions/transaction-record.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, stoppedClock } from '../../support/catalogs.ts'
import { gate } from '../../support/gate.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'

describe.skipIf(missingPostgres)('a commit whose link to the database stalls', () => {
  test.each([
    ['arrives late', false],
    ['is lost with the connection, and made again', true],
  ])('%s: it is refused once somebody was told that its lease has ended', async (_, isCut) => {
    const server = await sharedServer()
    const proxy = await TcpProxy.start(server.port)
    onTestFinished(() => proxy.close())
    const url = await server.freshUrl()
    const far = new URL(url)
    far.port = String(proxy.port)
    const now = stoppedClock()
    const shared = { content: memoryContent(), root: 'memory://here', now }
    const make = async (at: string) =>
      closedAfterwards(await openCatalog({ ...shared, store: await openPostgresStore(at) }))
    const one = await make(far.href)
    const other = await make(url)
    await one.createTable({ id: ['t'], data: [{ x: 0 }] })
    const { transaction_id: id } = await one.beginTransaction({ idle_timeout_seconds: 3_600 })
    await one.insertIntoTable({ id: ['t'], data: [{ x: 1 }] }, { transaction: id })

    const { open: release, opened } = gate()
    onTestFinished(() => release())
    const { open: sent, opened: isOnItsWay } = gate()
    proxy.beforeSent = (bytes) => {
      if (!bytes.includes('commit_records')) return undefined
      sent()
      return opened
    }
    const done = one.commitTransaction({ id: [id] })
    const refused = expect(done).rejects.toMatchObject({ code: 'ConcurrentModification' })
    // The body of the commit has run by then: it found that the lease lasts.
    await isOnItsWay
    now.move(leaseMillis + 1)
    const told = await other.describeTransaction({ id: [id] })
    expect(told).toMatchObject({ status: 'Failed' })
    await expect(other.commitTransaction({ id: [id] })).rejects.toMatchObject({ code: 'TransactionNotFound' })
    proxy.beforeSent = undefined
    if (isCut) proxy.cut()
    release()
    await refused
    for (const catalog of [one, other]) {
      expect((await catalog.countTableRows({ id: ['t'] })).count).toBe(1)
      expect((await catalog.describeTransaction({ id: [id] })).properties).toEqual(told.properties)
    }
  })
})
