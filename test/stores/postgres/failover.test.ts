import { appendFile, cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../../src/base/store/store.ts'
import { engineOf } from '../../../src/stores/postgres/check.ts'
import { isLaterServer } from '../../../src/stores/postgres/home.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { temporaryDirectory } from '../../support/folders.ts'
import { gate } from '../../support/gate.ts'
import { missingPostgres, PostgresServer } from '../../support/postgres.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { limitEach } from '../../support/time-limit.ts'
import { catalogsAt } from './catalogs-at.ts'
import { count, counted } from './counting.ts'
import { Ledger } from './ledger.ts'

// Each test starts two servers of PostgreSQL.
limitEach(60)

/** Two servers, of which the second one follows the first one, and an address that leads to the first one. */
class Pair {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
  readonly address: TcpProxy
  #url = ''

  private constructor(primary: PostgresServer, standby: PostgresServer, address: TcpProxy) {
    this.primary = primary
    this.standby = standby
    this.address = address
  }

  /** Starts both. A commit is answered once both have it. */
  static async start(): Promise<Pair> {
    const primary = await PostgresServer.start({ wal_level: 'replica', wal_keep_size: '1GB' })
    onTestFinished(() => primary.stop())
    // The copy of a server at rest needs no program for it.
    await primary.pause()
    const folder = await temporaryDirectory()
    await cp(join(primary.folder, 'data'), join(folder, 'data'), { recursive: true })
    await primary.resume()
    await writeFile(join(folder, 'data', 'standby.signal'), '')
    const from = `host=127.0.0.1 port=${primary.port} user=postgres application_name=standby`
    await appendFile(join(folder, 'data', 'postgresql.conf'), `primary_conninfo = '${from}'\n`)
    const standby = await PostgresServer.over(folder)
    onTestFinished(() => standby.stop())
    // Of the primary alone.
    await primary.query(`ALTER SYSTEM SET synchronous_standby_names = 'standby'`)
    await primary.query('SELECT pg_reload_conf()')
    const followers = () => primary.query(`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)
    await expect.poll(async () => (await followers()).length, { interval: 20 }).toBe(1)
    const address = await TcpProxy.start(primary.port)
    onTestFinished(() => address.close())
    return new Pair(primary, standby, address)
  }

  /** The URL of a schema for a new catalog, by the address. */
  async freshUrl(): Promise<string> {
    this.#url = await this.primary.freshUrl(this.address.port)
    return this.#url
  }

  /** The same by one of both servers. */
  url({ port }: PostgresServer): string {
    return Object.assign(new URL(this.#url), { port }).href
  }

  /** Lets the address lead to one of both. Its connections end. */
  lead({ port }: PostgresServer): void {
    this.address.target = port
    this.address.cut()
  }

  /** Lets the standby take over. */
  async promote(): Promise<void> {
    await this.standby.query('SELECT pg_promote()')
  }

  /** Lets no server wait for another one any more. */
  async stopWaiting(): Promise<void> {
    await this.primary.query(`ALTER SYSTEM SET synchronous_standby_names = ''`)
    await this.primary.query('SELECT pg_reload_conf()')
  }
}

/** A store that is closed when the test ends. */
function closed(store: Store): Store {
  onTestFinished(() => store.close())
  return store
}

/** Who wait at a server until the standby has their commits. */
const waiting = (server: PostgresServer) =>
  server.query(`SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)

describe.skipIf(missingPostgres)('a standby that takes over', () => {
  test('has all that was acknowledged, once, and nothing in part', async () => {
    const pair = await Pair.start()
    const catalogs = await catalogsAt(await pair.freshUrl())
    const ledger = await Ledger.begin(catalogs)
    try {
      await ledger.grows(20)
      await pair.primary.kill()
      pair.lead(pair.standby)
      // It is a standby for a while.
      await sleep(500)
      await pair.promote()
      await ledger.grows(20)
    } finally {
      await ledger.end()
    }
    expect([...ledger.refused.values()]).toEqual([])
    await ledger.check()
  })

  test('is asked for the outcome of a commit whose answer was lost before', async () => {
    const pair = await Pair.start()
    const store = closed(await openPostgresStore(await pair.freshUrl()))
    expect(await count(store, 'first')).toBe(1)
    const { open: reached, opened: isCommitted } = gate()
    let isCommit = false
    pair.address.onSent = (bytes) => {
      isCommit ||= bytes.includes('commit_records')
      return undefined
    }
    pair.address.onAnswered = () => {
      if (!isCommit) return undefined
      pair.address.onAnswered = undefined
      reached()
      pair.address.target = pair.standby.port
      return 0
    }
    const change = count(store, 'second')
    await isCommitted
    await pair.primary.kill()
    // Its outcome is asked for meanwhile, at a standby.
    await sleep(500)
    await pair.promote()
    expect(await change).toBe(2)
    expect(await counted(store)).toEqual(['first', 'second'])
  })

  test('is waited for also by who asks for the outcome of a commit', async () => {
    const pair = await Pair.start()
    // Each commit is synchronous all the same.
    await pair.primary.query('ALTER ROLE postgres SET synchronous_commit = off')
    const store = closed(await openPostgresStore(await pair.freshUrl()))
    expect(await count(store, 'first')).toBe(1)
    await pair.standby.pause()
    const change = count(store, 'second')
    await expect.poll(async () => (await waiting(pair.primary)).length, { interval: 20 }).toBe(1)
    const [{ pid }] = (await waiting(pair.primary)) as [{ pid: number }]
    // It is committed there, and nowhere else.
    await pair.primary.query(`SELECT pg_terminate_backend(${pid})`)
    // Nothing may be told meanwhile.
    const isTold = await Promise.race([change.then(() => true), sleep(500).then(() => false)])
    await pair.primary.kill()
    await pair.standby.resume()
    await pair.promote()
    pair.lead(pair.standby)
    expect(await change).toBe(2)
    expect(await counted(store)).toEqual(['first', 'second'])
    expect(isTold).toBe(false)
  })

  test('keeps its place when the old server comes back', async () => {
    const pair = await Pair.start()
    const store = closed(await openPostgresStore(await pair.freshUrl()))
    expect(await count(store, 'first')).toBe(1)
    await pair.primary.kill()
    await pair.promote()
    pair.lead(pair.standby)
    expect(await count(store, 'second')).toBe(2)
    await pair.primary.resume()
    await pair.stopWaiting()
    pair.lead(pair.primary)
    const { open: reach, opened: isReached } = gate()
    pair.address.onAnswered = () => {
      reach()
      return undefined
    }
    const change = count(store, 'third')
    await isReached
    // The old server has time to take the change, which it must not get.
    await sleep(500)
    pair.lead(pair.standby)
    expect(await change).toBe(3)
    expect(await counted(store)).toEqual(['first', 'second', 'third'])
    const old = closed(await openPostgresStore(pair.url(pair.primary)))
    expect(await counted(old)).toEqual(['first'])
  })

  test('is used alone from the first connection to it on, though the old server goes on', async () => {
    const pair = await Pair.start()
    const store = closed(await openPostgresStore(await pair.freshUrl()))
    expect(await count(store, 'first')).toBe(1)
    await pair.stopWaiting()
    await pair.promote()
    // Connections to the old one are left as they are.
    pair.address.target = pair.standby.port
    expect(store.metrics!().connections).toMatchObject({ used: 0, idle: 1 })
    const { open: release, opened } = gate()
    onTestFinished(() => release())
    const { open: reached, opened: isHeld } = gate()
    pair.address.beforeAnswer = () => {
      pair.address.beforeAnswer = undefined
      reached()
      return opened
    }
    const read = store.read((tx) => tx.get(['n']))
    await isHeld
    // It waits for its answer, so the change needs another connection.
    expect(await count(store, 'second')).toBe(2)
    // What waits at the old one is done here, too.
    expect(await read).toBe(2)
    for (let n = 3; n < 20; n++) expect(await count(store, String(n))).toBe(n)
    const other = closed(await openPostgresStore(pair.url(pair.standby)))
    expect(await counted(other)).toHaveLength(19)
    const old = closed(await openPostgresStore(pair.url(pair.primary)))
    expect(await counted(old)).toEqual(['first'])
  })
})

test('of servers with one number, the one that took over last is the one to use', () => {
  const engine = (timeline?: number, server = '7') => ({
    ...engineOf('PostgreSQL 18.4'),
    home: { server },
    ...(timeline !== undefined && { timeline }),
  })
  expect(isLaterServer(engine(1), engine(2), 'it')).toBe(true)
  expect(isLaterServer(engine(2), engine(2), 'it')).toBe(false)
  // Who may not ask, and a database that moved to another server for good, are not judged by it.
  expect(isLaterServer(engine(), engine(2), 'it')).toBe(false)
  expect(isLaterServer(engine(2), engine(), 'it')).toBe(false)
  expect(isLaterServer(engine(2), engine(1, '8'), 'it')).toBe(false)
  expect(() => isLaterServer(engine(2), engine(1), 'the catalog')).toThrow(
    /^Cannot use the catalog: another server took over .*timeline 1, and 2 was seen.* restart this process\.$/,
  )
})
