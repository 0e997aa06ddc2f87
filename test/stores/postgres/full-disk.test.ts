import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { fillDisk, smallDisk } from '../../contents/small-disk.ts'
import { missingPostgres, PostgresServer, sharedServer } from '../../support/postgres.ts'
import { errorAnswer } from '../../support/postgres-answers.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { limitEach } from '../../support/time-limit.ts'
import { catalogsAt } from './catalogs-at.ts'
import { count, counted } from './counting.ts'
import { Ledger } from './ledger.ts'

// Servers of PostgreSQL fill small disks, and start again.
limitEach(60)

const trial = missingPostgres === undefined ? smallDisk(1 << 20) : { reason: missingPostgres }
if ('unmount' in trial) trial.unmount()
const missing = 'reason' in trial ? trial.reason : undefined

/** A small disk for the running test. */
function freshDisk(bytes: number): string {
  const disk = smallDisk(bytes)
  if ('reason' in disk) throw new Error(disk.reason)
  onTestFinished(() => disk.unmount())
  return disk.path
}

/** Whether a server begins a new file of its log. */
const goesOn = (server: PostgresServer) =>
  server.query('SELECT pg_switch_wal()').then(
    () => true,
    () => false,
  )

describe.skipIf(missing)(`a database on a full disk${missing ? ` (skipped: ${missing})` : ''}`, () => {
  test('refuses changes with a clear error, answers reads, and goes on once there is room', async () => {
    const disk = freshDisk(12 << 20)
    const server = await PostgresServer.start()
    onTestFinished(() => server.stop())
    const folder = join(disk, 'tables')
    // By the server's user, who must own it.
    await server.query(`COPY (SELECT 1) TO PROGRAM 'cat; mkdir -m 700 ${folder}'`)
    await server.query(`CREATE TABLESPACE small LOCATION '${folder}'`)
    await server.query(`CREATE DATABASE tables TABLESPACE small`)
    const url = await server.freshUrl(server.port, 'tables')
    const catalogs = await catalogsAt(url)
    const ledger = await Ledger.begin(catalogs)
    const filler = join(disk, 'filler')
    try {
      for (let round = 0; round < 2; round++) {
        await ledger.grows(20)
        await fillDisk(filler)
        await ledger.refuses(20)
        for (const catalog of catalogs) {
          expect((await catalog.listNamespaces({ id: [] })).namespaces).toEqual(['a', 'b'])
          expect((await catalog.countTableRows({ id: ['rows'] })).count).toBeGreaterThan(10)
          await catalog.watch().token()
        }
        await rm(filler)
      }
      await ledger.grows(20)
    } finally {
      await rm(filler, { force: true })
      await ledger.end()
    }
    for (const error of ledger.refused.values()) {
      expect(error).toMatchObject({
        code: 'ServiceUnavailable',
        message: expect.stringMatching(/the server's disk is full, nothing of the change was kept\. Free/),
      })
    }
    await ledger.check()
  })

  test('whose log has no room ends, and loses nothing once it runs again', async () => {
    const disk = freshDisk(48 << 20)
    const settings = { wal_keep_size: '1GB' }
    const server = await PostgresServer.start(settings, undefined, [
      ...['-X', join(disk, 'log')],
      '--wal-segsize=1',
    ])
    onTestFinished(() => server.stop())
    const catalogs = await catalogsAt(await server.freshUrl())
    const ledger = await Ledger.begin(catalogs)
    const filler = join(disk, 'filler')
    try {
      await ledger.grows(20)
      await fillDisk(filler)
      await expect.poll(() => goesOn(server), { interval: 50 }).toBe(false)
      await rm(filler)
      // There is no room for its recovery either, so it ends. Whoever looks after it starts it again.
      await server.kill().catch(() => server.pause())
      await server.resume()
      await ledger.grows(20)
    } finally {
      await rm(filler, { force: true })
      await ledger.end()
    }
    for (const error of ledger.refused.values()) expect(error).toMatchObject({ code: 'ServiceUnavailable' })
    await ledger.check()
  })
})

describe.skipIf(missingPostgres)('a server that ends itself at a full disk', () => {
  test('once it wrote a commit does its changes once', async () => {
    const server = await sharedServer()
    const proxy = await TcpProxy.start(server.port)
    onTestFinished(() => proxy.close())
    const store = await openPostgresStore(await server.freshUrl(proxy.port))
    onTestFinished(() => store.close())
    expect(await count(store, 'first')).toBe(1)
    let state: 'calm' | 'committing' | 'ended' = 'calm'
    proxy.onSent = (bytes) => {
      if (state === 'calm' && bytes.includes('commit_records')) state = 'committing'
      return undefined
    }
    // The log may hold a commit by then: the server writes it for others, too, and finds no room for theirs.
    proxy.onAnswered = (bytes) => {
      if (state !== 'committing') return undefined
      state = 'ended'
      return errorAnswer('53100', 'PANIC').copy(bytes)
    }
    // Changes that wait together are tried one by one when they are refused together.
    expect(await Promise.all(['second', 'third'].map((who) => count(store, who)))).toEqual([2, 3])
    expect(await counted(store)).toEqual(['first', 'second', 'third'])
    expect(state).toBe('ended')
  })
})
