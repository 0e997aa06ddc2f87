import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { catalogSuite } from '../../src/testing/suites/catalog-suite.ts'
import { httpSuite } from '../../src/testing/suites/http-suite.ts'
import { transactionSuite } from '../../src/testing/suites/transaction-suite.ts'
import { missingPostgres, sharedServer } from '../support/postgres.ts'
import { RoundRobin } from '../support/round-robin.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'
import { limitEach } from '../support/time-limit.ts'
import { Child } from './child-process.ts'
import { databasePlace } from './database-place.ts'
import type { LinearPlace } from './linear-run.ts'

// A rule waits for a turn, which lasts five seconds.
limitEach(60)

/*
 * Two processes serve one catalog in PostgreSQL, and the requests of a transaction alternate between them. One of them
 * is killed at each stage of a transaction.
 */

const token = 'a-token-of-all-servers'
const otherToken = 'a-token-of-another-caller'

/** A process that serves a catalog. */
async function serving(location: string): Promise<{ child: Child; url: string }> {
  const options = ['--port', '0', '--token', token, '--token', otherToken, '--log', 'error']
  const child = new Child('src/cli/index.ts', ['serve', location, ...options])
  const line = await child.answer()
  return { child, url: line.replace('tabularium listening on ', '') }
}

describe.skipIf(missingPostgres)('two servers over one catalog', () => {
  let place: LinearPlace

  beforeAll(async () => {
    place = await databasePlace()
  })
  afterAll(() => place?.dispose())

  describe('take all requests in turns', () => {
    let servers: Awaited<ReturnType<typeof serving>>[]
    let proxy: RoundRobin

    beforeAll(async () => {
      servers = await Promise.all([serving(place.location), serving(place.location)])
      proxy = await RoundRobin.start(servers.map(({ url }) => url))
    })
    afterAll(async () => {
      await proxy?.[Symbol.asyncDispose]()
      for (const { child } of servers ?? []) child.stop()
    })

    const open = () => openCatalog(proxy.url, { token })
    catalogSuite({ describe, test }, open, { name: 'a catalog behind them' })
    transactionSuite({ describe, test }, open, { name: 'transactions over them' })
    httpSuite(
      { describe, test },
      {
        name: 'the protocol of both',
        url: 'http://catalog.test',
        token,
        otherToken,
        fetch: (request) =>
          fetch(new Request(request.url.replace('http://catalog.test', proxy.url), request)),
      },
    )
  })

  describe('when the one that holds a transaction is killed', () => {
    let cutting: TcpProxy
    let holder: Awaited<ReturnType<typeof serving>>
    let left: Awaited<ReturnType<typeof serving>>
    const name = () => `t${Math.random().toString(36).slice(2)}`

    beforeEach(async () => {
      const database = await sharedServer()
      cutting = await TcpProxy.start(database.port)
      const url = new URL(place.location)
      url.port = String(cutting.port)
      ;[holder, left] = await Promise.all([serving(url.href), serving(place.location)])
      return () => {
        for (const { child } of [holder, left]) child.stop()
        cutting.close()
      }
    })

    const first = () => connect(holder.url, { token, retries: 0 })
    const second = () => connect(left.url, { token, retries: 0 })

    /** Checks what others see of a transaction that was not committed. */
    async function isOver(transaction: string, tables: readonly string[]): Promise<void> {
      for (const attempt of [
        () => second().declareTable({ id: [name()] }, { transaction }),
        () => second().listTables({ id: [] }, { transaction }),
        () => second().commitTransaction({ id: [transaction] }),
      ]) {
        await expect(attempt()).rejects.toMatchObject({
          code: 'TransactionNotFound',
          message: expect.stringContaining('Begin another one'),
        })
      }
      expect((await second().describeTransaction({ id: [transaction] })).status).toBe('Failed')
      const { tables: there = [] } = await second().listTables({ id: [], include_declared: true })
      expect(there.filter((table) => tables.includes(table))).toEqual([])
      expect((await second().rollbackTransaction({ id: [transaction] })).status).toBe('Failed')
    }

    test('after its beginning', async () => {
      const { transaction_id } = await first().beginTransaction({})
      await holder.child.kill()
      await isOver(transaction_id, [])
    })

    test('after operations on both', async () => {
      const tables = [name(), name()]
      const { transaction_id: transaction } = await first().beginTransaction({})
      await second().createTable({ id: [tables[0]!], data: [{ n: 1 }] }, { transaction })
      await first().insertIntoTable({ id: [tables[0]!], data: [{ n: 2 }] }, { transaction })
      await second().declareTable({ id: [tables[1]!] }, { transaction })
      await holder.child.kill()
      await isOver(transaction, tables)
    })

    test('during an operation', async () => {
      const table = name()
      const { transaction_id: transaction } = await first().beginTransaction({})
      // The operation's statement never reaches the database.
      const arrived = new Promise<void>((resolve) => {
        cutting.onSent = () => {
          resolve()
          return undefined
        }
      })
      const inside = second().createTable({ id: [table], data: [{ n: 1 }] }, { transaction })
      inside.catch(() => {})
      await arrived
      holder.child.stop()
      await inside.catch((error) => {
        expect(['TransactionNotFound', 'ServiceUnavailable']).toContain(error.code)
      })
      await holder.child.kill()
      await isOver(transaction, [table])
    })

    test('before its commit comes to the database', async () => {
      const table = name()
      const { transaction_id: transaction } = await first().beginTransaction({})
      await second().createTable({ id: [table], data: [{ n: 1 }] }, { transaction })
      cutting.onSent = (bytes) => {
        if (!bytes.includes('Succeeded')) return undefined
        holder.child.stop()
        return 0
      }
      await expect(second().commitTransaction({ id: [transaction] })).rejects.toMatchObject({
        code: 'TransactionNotFound',
      })
      await isOver(transaction, [table])
    })

    test('right after its commit: the other one says so', async () => {
      const table = name()
      const { transaction_id: transaction } = await first().beginTransaction({})
      await second().createTable({ id: [table], data: [{ n: 1 }] }, { transaction })
      await first().insertIntoTable({ id: [table], data: [{ n: 2 }] }, { transaction })
      let isSent = false
      cutting.onSent = (bytes) => {
        isSent ||= bytes.includes('Succeeded')
        return undefined
      }
      // Delays each response until it is known whether the commit is done. The response to the commit never comes.
      cutting.beforeAnswer = async () => {
        if (!isSent) return
        const { status } = await second().describeTransaction({ id: [transaction] })
        if (status !== 'Succeeded') return
        holder.child.stop()
        cutting.cut()
      }
      expect((await second().commitTransaction({ id: [transaction] })).status).toBe('Succeeded')
      expect((await second().commitTransaction({ id: [transaction] })).status).toBe('Succeeded')
      expect((await second().describeTransaction({ id: [transaction] })).status).toBe('Succeeded')
      expect((await second().countTableRows({ id: [table] })).count).toBe(2)
      await expect(second().listTables({ id: [] }, { transaction })).rejects.toMatchObject({
        code: 'InvalidInput',
        message: expect.stringContaining('is committed'),
      })
    })

    test('while it is being committed: all of it is there, or nothing', async () => {
      const table = name()
      await second().createTable({ id: [table], data: [{ n: 0 }] })
      const { transaction_id: transaction } = await first().beginTransaction({})
      await second().insertIntoTable({ id: [table], data: [{ n: 1 }] }, { transaction })
      await second().insertIntoTable({ id: [table], data: [{ n: 2 }] }, { transaction })
      const committing = second()
        .commitTransaction({ id: [transaction] })
        .then(
          ({ status }) => status,
          (error) => error.code,
        )
      onTestFinished(async () => void (await committing))
      holder.child.stop()
      const outcome = await committing
      const { count } = await second().countTableRows({ id: [table] })
      expect([outcome, count]).toEqual(
        outcome === 'Succeeded' ? ['Succeeded', 3] : ['TransactionNotFound', 1],
      )
    })
  })
})
