import { describe, expect, onTestFinished, test } from 'vitest'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { missingPostgres, PostgresServer, sharedServer } from '../../support/postgres.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { limitEach } from '../../support/time-limit.ts'
import { count, counted } from './counting.ts'

// Connections and a server end dozens of times.
limitEach(60)

const factor = Number(process.env.HISTORY_RUNS ?? 1)

/** Cuts the connection once so many bytes of a commit, or of its answer, have passed. */
function cutAt(proxy: TcpProxy, side: 'onSent' | 'onAnswered', byte: number): void {
  let isCommit = false
  let left = byte
  const take = (bytes: Buffer): number | undefined => {
    if (!isCommit || left === Number.POSITIVE_INFINITY) return undefined
    if (left >= bytes.length) {
      left -= bytes.length
      return undefined
    }
    const at = left
    left = Number.POSITIVE_INFINITY
    return at
  }
  proxy.onSent = (bytes) => {
    isCommit ||= bytes.includes('commit_records')
    return side === 'onSent' ? take(bytes) : undefined
  }
  proxy.onAnswered = (bytes) => (side === 'onAnswered' ? take(bytes) : undefined)
}

describe.skipIf(missingPostgres)('a change whose connection', () => {
  test('is cut at any byte of its commit, or of the answer, happens once', async () => {
    const server = await sharedServer()
    const proxy = await TcpProxy.start(server.port)
    onTestFinished(() => proxy.close())
    const url = await server.freshUrl(proxy.port)
    const store = await openPostgresStore(url)
    let writes = 0
    const cuts = [
      ...Array.from({ length: 45 * factor }, (_, i) => ['onSent', Math.round((i * 25) / factor)] as const),
      ...Array.from(
        { length: 30 * factor },
        (_, i) => ['onAnswered', Math.round((i * 10) / factor)] as const,
      ),
    ]
    for (const [side, byte] of cuts) {
      cutAt(proxy, side, byte)
      expect(await count(store, `${side} ${byte}`)).toBe(++writes)
    }
    proxy.onSent = undefined
    proxy.onAnswered = undefined
    expect(await counted(store)).toEqual(cuts.map(([side, byte]) => `${side} ${byte}`))
    await store.close()
    const schema = new URL(url).searchParams.get('schema')
    const commits = await server.query(
      `SELECT happened, count(*)::integer AS n FROM ${schema}.commits GROUP BY happened ORDER BY happened`,
    )
    // Some of the cuts came before the commit and were told so; each change is one commit all the same.
    expect(commits).toEqual([
      { happened: false, n: expect.any(Number) },
      { happened: true, n: writes },
    ])
  })

  test('is lost again and again, while others work, happens once', async () => {
    const server = await sharedServer()
    const proxy = await TcpProxy.start(server.port)
    onTestFinished(() => proxy.close())
    const url = await server.freshUrl(proxy.port)
    const stores = await Promise.all([openPostgresStore(url), openPostgresStore(url)])
    const names = Array.from({ length: 800 * factor }, (_, i) => `w${i}`)
    let answers = 0
    let cuts = 0
    // Far more answers than it takes to connect again.
    proxy.onAnswered = () => {
      if (++answers % 60 === 0) {
        cuts++
        proxy.cut()
      }
      return undefined
    }
    const work = Array.from({ length: 8 }, async (_, worker) => {
      for (let i = worker; i < names.length; i += 8) {
        await count(stores[i % 2]!, names[i]!)
      }
    })
    await Promise.all(work)
    expect(cuts).toBeGreaterThan(0)
    expect((await counted(stores[0]!)).sort()).toEqual(names.sort())
    for (const store of stores) await store.close()
  })

  test('ends with the server, which is killed and comes back, happens once', async () => {
    const server = await PostgresServer.start()
    onTestFinished(() => server.stop())
    const url = await server.freshUrl()
    const stores = await Promise.all([openPostgresStore(url), openPostgresStore(url)])
    const acknowledged: string[] = []
    let isOver = false
    const work = Array.from({ length: 8 }, async (_, worker) => {
      for (let i = 0; !isOver; i++) {
        const name = `${worker}-${i}`
        await count(stores[worker % 2]!, name)
        acknowledged.push(name)
      }
    })
    for (let kill = 0; kill < 2 * factor; kill++) {
      const before = acknowledged.length
      await expect.poll(() => acknowledged.length, { interval: 10 }).toBeGreaterThan(before + 50)
      await server.kill()
      await server.resume()
    }
    isOver = true
    await Promise.all(work)
    expect((await counted(stores[0]!)).sort()).toEqual(acknowledged.sort())
    for (const store of stores) await store.close()
  })
})
