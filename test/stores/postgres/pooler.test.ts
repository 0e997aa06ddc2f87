import { describe, expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../../src/base/store/store.ts'
import { readAddress } from '../../../src/stores/postgres/address.ts'
import { explain, isLost } from '../../../src/stores/postgres/failure.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { Pool } from '../../../src/stores/postgres/pool.ts'
import { Child } from '../../processes/child-process.ts'
import { freePort } from '../../support/free-port.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'
import { SmallPooler } from '../../support/small-pooler.ts'
import { limitEach } from '../../support/time-limit.ts'

// Turns behind a pooler are given up after seconds.
limitEach(60)

/** A pooler before a new catalog, and its URL. */
async function pooled(connections: number): Promise<{ pooler: SmallPooler; url: string }> {
  const server = await sharedServer()
  const pooler = await SmallPooler.start(server.port, connections)
  onTestFinished(() => pooler.close())
  return { pooler, url: await server.freshUrl(pooler.port) }
}

async function opened(url: string): Promise<Store> {
  const store = await openPostgresStore(url)
  onTestFinished(() => store.close())
  return store
}

const increment = (store: Store) =>
  store.write((tx) => {
    const n = (tx.get<number>(['n']) ?? 0) + 1
    tx.put(['n'], n)
    return n
  })

describe.skipIf(missingPostgres)('behind a pooler', () => {
  test.each([1, 2])('of %i connections, turns do not use them up', async (connections) => {
    const { pooler, url } = await pooled(connections)
    const stores = await Promise.all([1, 2, 3].map(() => opened(url)))
    const direct = await opened(url.replace(`:${pooler.port}/`, `:${(await sharedServer()).port}/`))
    let rounds = 0
    /** How many of the stores began their work while a turn was held. */
    const round = async () => {
      rounds++
      const held = await Promise.all(
        stores.map((store) =>
          store.inTurn!('hot', async () => {
            const isTaken = await direct.isTurnTaken!('hot')
            await increment(store)
            return isTaken
          }),
        ),
      )
      return held.filter(Boolean).length
    }
    // The first rounds learn it. Without that, each turn lasts until it is given up. On a busy machine, a round may be over
    // before its turns have begun.
    let without = 0
    for (let n = 0; n < 8 && without < 2; n++) without = (await round()) > 0 ? 0 : without + 1
    expect(without).toBe(2)
    expect(await stores[0]!.read((tx) => tx.get(['n']))).toBe(rounds * stores.length)
  })

  test('that has enough connections, turns are given', async () => {
    const { url } = await pooled(8)
    const [one, other] = [await opened(url), await opened(url)]
    let taken: boolean | undefined
    await one.inTurn!('hot', async () => {
      // Longer than a probe may take.
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      taken = await other.isTurnTaken!('hot')
    })
    expect(taken).toBe(true)
  })

  test('that lost the server in a commit, the change is made once, and told', async () => {
    const { pooler, url } = await pooled(2)
    const store = await opened(url)
    for (let n = 1; n <= 5; n++) {
      pooler.losesNextAnswer = true
      expect(await increment(store)).toBe(n)
      expect(pooler.losesNextAnswer).toBe(false)
    }
    expect(await store.read((tx) => tx.get(['n']))).toBe(5)
  })

  test('that takes transactions apart, a catalog is refused when it is opened', async () => {
    const { pooler, url } = await pooled(2)
    pooler.refusesTransactions = true
    await expect(openPostgresStore(url)).rejects.toMatchObject({
      code: 'InvalidInput',
      message: expect.stringContaining('transaction or session mode'),
    })
  })

  test('that has no connection left for another one, those there are serve', async () => {
    const server = await sharedServer()
    const url = await server.freshUrl()
    let judged = 0
    const address = { ...(await readAddress(url)), connectMillis: 10_000 }
    // As in session mode: all but the first one are greeted, and answered never.
    const pool = new Pool(address, () => {
      // Only an answer that never comes is waited for so short.
      address.connectMillis = 200
      return ++judged === 1 ? Promise.resolve() : new Promise(() => {})
    })
    onTestFinished(() => pool.close())
    const ask = () =>
      pool.alone(async (connection) => (await connection.send({ text: 'SELECT pg_sleep(0.1)' })).length)
    expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 1, 1])
    await expect.poll(() => pool.available).toBe(1)
  })
})

test('all who wait for a connection learn that there is none to be had', async () => {
  const address = await readAddress(`postgres://postgres@127.0.0.1:${await freePort()}/postgres`)
  const pool = new Pool(address, () => Promise.resolve())
  onTestFinished(() => pool.close())
  const ask = () => pool.shared((connection) => connection.send({ text: 'SELECT 0' }))
  for (const asking of [1, 2, 3, 9]) {
    const answers = await Promise.allSettled(Array.from({ length: asking }, ask))
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'ECONNREFUSED' } })
    }
  }
})

test.skipIf(missingPostgres)('a process that has one connection does not end within its turn', async () => {
  const server = await sharedServer()
  const url = await server.freshUrl()
  const schema = new URL(url).searchParams.get('schema')!
  await server.query(
    `CREATE ROLE ${schema} LOGIN CONNECTION LIMIT 1;
     GRANT USAGE ON SCHEMA ${schema} TO ${schema};
     GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${schema}`,
  )
  const child = new Child('test/stores/children/change-in-turn.ts', [url.replace('postgres@', `${schema}@`)])
  onTestFinished(() => child.stop())
  await child.said('made')
  await child.ended()
})

test('what PgBouncer says is told apart', () => {
  const said = (message: string) => Object.assign(new Error(message), { code: '08P01', severity: 'FATAL' })
  const meant: [text: string, code: string, isLost: boolean][] = [
    ['no more connections allowed (max_client_conn)', 'ServiceUnavailable', true],
    ['query_wait_timeout', 'ServiceUnavailable', true],
    ['server conn crashed?', 'ServiceUnavailable', true],
    ['server login has been failing, try again later (server_login_retry)', 'ServiceUnavailable', true],
    ['invalid server parameter', 'ServiceUnavailable', true],
    ['SASL authentication failed', 'PermissionDenied', false],
    ['no such user: x', 'PermissionDenied', false],
    ['no such database: x', 'InvalidInput', false],
    ['database "x" does not exist', 'InvalidInput', false],
    ['unsupported startup parameter: options', 'InvalidInput', false],
    ['transaction blocks not allowed in statement pooling mode', 'InvalidInput', false],
  ]
  for (const [text, code, lost] of meant) {
    expect([text, explain(said(text), 'x').code, isLost(said(text))]).toEqual([text, code, lost])
  }
})
