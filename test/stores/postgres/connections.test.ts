import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { serve } from '../../../src/server/index.ts'
import { readAddress } from '../../../src/stores/postgres/address.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { Pool } from '../../../src/stores/postgres/pool.ts'
import { gate } from '../../support/gate.ts'
import { missingPostgres, PostgresServer, sharedServer } from '../../support/postgres.ts'
import { refusingServer } from '../../support/postgres-answers.ts'
import { limitEach } from '../../support/time-limit.ts'
import { catalogsAt } from './catalogs-at.ts'
import { Ledger } from './ledger.ts'
import { opened } from './refusal.ts'

// It waits for connections that the server does not give for seconds.
limitEach(60)

/** The connections of the server, and those of them that only a superuser gets. */
const most = 20
const reserved = 3

/** Somebody who takes each connection that a server gives, until it is released. */
class Greedy {
  readonly #url: string
  readonly #held: pg.Client[] = []
  #isOver = false
  #work: Promise<void> | undefined

  constructor(url: string) {
    this.#url = url
  }

  begin(): void {
    this.#isOver = false
    this.#work = this.#take()
  }

  get count(): number {
    return this.#held.length
  }

  async release(): Promise<void> {
    this.#isOver = true
    await this.#work
    await Promise.all(this.#held.splice(0).map((client) => client.end()))
  }

  async #take(): Promise<void> {
    while (!this.#isOver) {
      const client = new pg.Client({ connectionString: this.#url })
      client.on('error', () => {})
      await client.connect().then(
        () => this.#held.push(client),
        () => client.end().catch(() => {}),
      )
    }
  }
}

describe.skipIf(missingPostgres)('a database without a connection to spare', () => {
  test('serves those that it has, refuses others clearly, and serves all once there are some', async () => {
    const server = await PostgresServer.start({
      max_connections: String(most),
      superuser_reserved_connections: String(reserved),
    })
    onTestFinished(() => server.stop())
    const own = await server.freshUrl()
    const schema = new URL(own).searchParams.get('schema')!
    for (const role of ['app', 'greedy']) await server.query(`CREATE ROLE ${role} LOGIN`)
    await server.query(
      `GRANT USAGE ON SCHEMA ${schema} TO app; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO app`,
    )
    const url = own.replace('postgres@', 'app@')
    const catalogs = await catalogsAt(url)
    const http = await serve(catalogs[1], { auth: false, port: 0, log: false })
    onTestFinished(() => http.close())
    const isReady = async () => (await fetch(`${http.url}/readyz`)).status
    const open = async () =>
      (await server.query(`SELECT pid FROM pg_stat_activity WHERE usename = 'app'`)).length
    const greedy = new Greedy(server.url().replace('postgres@', 'greedy@'))
    onTestFinished(() => greedy.release())

    const ledger = await Ledger.begin(catalogs)
    try {
      await ledger.grows(20)
      greedy.begin()
      await expect.poll(() => greedy.count, { interval: 10 }).toBeGreaterThan(most / 4)
      await ledger.grows(20)
      await expect.poll(isReady, { interval: 10 }).toBe(200)

      // Until the other one has them all: those of the catalogs are cut, also in the middle of commits.
      const cut = async () => {
        await server.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'`)
        return greedy.count
      }
      await expect.poll(cut, { interval: 10 }).toBe(most - reserved)
      await expect.poll(isReady, { interval: 10 }).toBe(503)
      expect(await opened(url)).toMatchObject({
        code: 'ServiceUnavailable',
        message: expect.stringMatching(/out of memory or of connections\. Try again in a moment/),
      })
      await greedy.release()
      await ledger.grows(20)
      await expect.poll(isReady, { interval: 10 }).toBe(200)
    } finally {
      await greedy.release()
      await ledger.end()
    }
    expect([...ledger.refused.values()]).toEqual([])
    await ledger.check()
    // The server needs a moment for the ends of those that were cut.
    await expect.poll(open, { interval: 10 }).toBeLessThanOrEqual(8)
    await http.close()
    for (const catalog of catalogs) await catalog.close()
    await expect.poll(open, { interval: 10 }).toBe(0)
  })
})

test('a server without a connection to spare is asked seldom, however many wait for one', async () => {
  const server = await refusingServer('53300')
  const address = await readAddress(`postgres://me@127.0.0.1:${server.port}/db`)
  const pool = new Pool(address, async () => {})
  const askThrice = async () => {
    for (let n = 0; n < 3; n++)
      await expect(pool.shared(async () => {})).rejects.toMatchObject({ code: '53300' })
  }
  await Promise.all(Array.from({ length: 300 }, askThrice))
  expect(server.logins()).toBeLessThan(20)
  await pool.close()
})

test.skipIf(missingPostgres)('an answer of the server is told to nobody who asked after it', async () => {
  const asked = gate()
  const refused = gate<Error>()
  const heard = gate()
  let checks = 0
  const address = await readAddress(await (await sharedServer()).freshUrl())
  const pool = new Pool(address, async () => {
    // A connection that is ready sooner than the refusal is heard would serve both callers.
    if (++checks > 1) return heard.opened
    asked.open()
    throw await refused.opened
  })
  onTestFinished(() => pool.close())
  const early = pool.shared(async () => 'early')
  await asked.opened
  const late = pool.shared(async () => 'late')
  refused.open(new Error('the server has no place yet'))
  await expect(early).rejects.toThrow('no place yet')
  heard.open()
  expect(await late).toBe('late')
  expect(await pool.shared(async () => 'later')).toBe('later')
})

describe.skipIf(missingPostgres)('a store that is closed', () => {
  test('refuses turns, and what waits for a connection, and makes no further one', async () => {
    const server = await sharedServer()
    const url = await server.freshUrl()
    const store = await openPostgresStore(url)
    await store.close()
    const closed = { code: 'ServiceUnavailable', message: expect.stringContaining('is closed') }
    await expect(store.inTurn!('one', async () => {})).rejects.toMatchObject(closed)
    await expect(store.isTurnTaken!('one')).rejects.toMatchObject(closed)

    let checks = 0
    const asked = gate()
    const answered = gate()
    const pool = new Pool(await readAddress(url), () => {
      checks++
      asked.open()
      return answered.opened
    })
    const waiting = expect(pool.shared(async () => {})).rejects.toMatchObject(closed)
    await asked.opened
    await pool.close()
    answered.open()
    await waiting
    await expect(pool.alone(async () => {})).rejects.toMatchObject(closed)
    expect(checks).toBe(1)
  })

  test('waits only a few seconds for a server that is silent', async () => {
    const server = await PostgresServer.start()
    const store = await openPostgresStore(`${await server.freshUrl()}&application_name=silent`)
    const [backend] = await server.query(`SELECT pid FROM pg_stat_activity WHERE application_name = 'silent'`)
    const pid = backend!.pid as number
    process.kill(pid, 'SIGSTOP')
    onTestFinished(async () => {
      process.kill(pid, 'SIGCONT')
      await server.stop()
    })
    await store.close()
  })
})
