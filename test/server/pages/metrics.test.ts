import { describe, expect, it, onTestFinished } from 'vitest'
import { keys, recordFormat } from '../../../src/base/store/records.ts'
import type { Store } from '../../../src/base/store/store.ts'
import { segmentsOf } from '../../../src/catalog/locations/locations.ts'
import { connect } from '../../../src/client/index.ts'
import { bucketContent } from '../../../src/contents/bucket/index.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { fetchHandler } from '../../../src/server/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { readAddress } from '../../../src/stores/postgres/address.ts'
import { Pool } from '../../../src/stores/postgres/pool.ts'
import { type CatalogOptions, type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { coreOf } from '../../../src/tabularium/local-handle.ts'
import { MemoryBucket } from '../../contents/bucket/memory-bucket.ts'
import { freshFolder, stoppedClock } from '../../support/catalogs.ts'
import { childrenOf } from '../../support/child-processes.ts'
import { gate } from '../../support/gate.ts'
import { lanceIt } from '../../support/lance-package.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'
import { sharedStores } from '../../support/shared-stores.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { limitEach } from '../../support/time-limit.ts'
import { scraped } from './support/scrape.ts'

// Servers of PostgreSQL stop, and stores never answer.
limitEach(60)

/* Each test causes an event, and reads its metric from /metrics. */

/** A store with a hook that runs before the next write. */
interface Held extends Store {
  beforeWrite: (() => Promise<unknown>) | undefined
  beforeRead: (() => Promise<unknown>) | undefined
}

function held(store: Store): Held {
  const before = async (name: 'beforeWrite' | 'beforeRead') => {
    const work = own[name]
    await work?.()
  }
  const own: Held = {
    features: store.features,
    beforeWrite: undefined,
    beforeRead: undefined,
    read: (body) => before('beforeRead').then(() => store.read(body)),
    write: (body) => before('beforeWrite').then(() => store.write(body)),
    close: () => store.close(),
    ...(store.now && { now: () => store.now!() }),
    ...(store.inTurn && { inTurn: (name, work) => store.inTurn!(name, work) }),
    ...(store.isTurnTaken && { isTurnTaken: (name) => store.isTurnTaken!(name) }),
    ...(store.metrics && { metrics: () => store.metrics!() }),
  }
  return own
}

const places: readonly (typeof sharedStores)[number][] = [
  {
    place: 'memory',
    begin: async () => {
      const store = memoryStore()
      return async () => ({ ...held(store), close: async () => {} })
    },
  },
  ...sharedStores,
]

/** Two catalogs over one store and one content, as two servers have them. */
async function twoCatalogs(begin: () => Promise<() => Promise<Store>>, options: CatalogOptions = {}) {
  const open = await begin()
  const content = memoryContent()
  const store = held(await open())
  const catalog = await openCatalog({ store, content, ...options })
  const other = await openCatalog({ store: await open(), content, ...options })
  onTestFinished(() => other.close())
  return { catalog, other, store, ...(await scraped(catalog)) }
}

const rows = [{ x: 1 }]

describe.each(places.map((place) => ({ ...place, skip: place.missing })))('on $place', ({ begin, skip }) => {
  describe.skipIf(skip)('the number of', () => {
    it('commits counts what was committed, each once', async () => {
      const { catalog, scrape } = await twoCatalogs(begin)
      const commits = async () => (await scrape()).value('tabularium_commits_total')
      expect(await commits()).toBe(0)
      await catalog.createTable({ id: ['t'], data: rows })
      expect(await commits()).toBe(1)
      await catalog.insertIntoTable({ id: ['t'], data: rows })
      await catalog.createNamespace({ id: ['n'] })
      expect(await commits()).toBe(3)
      // These change nothing.
      await catalog.createNamespace({ id: ['n'], mode: 'ExistOk' })
      await catalog.insertIntoTable({ id: ['missing'], data: rows }).catch(() => {})
      await catalog.countTableRows({ id: ['t'] })
      expect(await commits()).toBe(3)
      await catalog.transaction(async (tx) => {
        await tx.insertIntoTable({ id: ['t'], data: rows })
        await tx.declareTable({ id: ['n', 'u'] })
      })
      expect(await commits()).toBe(4)
      await catalog.batchCommitTables({
        operations: [{ declare_table: { id: ['a'] } }, { declare_table: { id: ['b'] } }],
      })
      expect(await commits()).toBe(5)
    })

    it('lost races counts changes of rows that others overtook', async () => {
      const { catalog, other, store, scrape } = await twoCatalogs(begin)
      const lost = async () => (await scrape()).value('tabularium_lost_races_total{kind="rows"}')
      await catalog.createTable({ id: ['t'], data: rows })
      expect(await lost()).toBe(0)
      store.beforeWrite = async () => {
        store.beforeWrite = undefined
        await other.insertIntoTable({ id: ['t'], data: rows })
      }
      await catalog.insertIntoTable({ id: ['t'], data: rows })
      expect(await lost()).toBe(1)
      expect((await catalog.countTableRows({ id: ['t'] })).count).toBe(3)
      await catalog.transaction(async (tx) => {
        await tx.insertIntoTable({ id: ['t'], data: rows })
        await other.insertIntoTable({ id: ['t'], data: rows })
      })
      expect(await lost()).toBe(2)
    })

    it('lost races counts transactions whose reads others changed', async () => {
      const { catalog, other, ask, scrape } = await twoCatalogs(begin)
      const lost = async () => (await scrape()).value('tabularium_lost_races_total{kind="transactions"}')
      let runs = 0
      await catalog.transaction(async (tx) => {
        await tx.listTables({ id: [] })
        if (runs++ === 0) await other.declareTable({ id: ['t'] })
        await tx.declareTable({ id: ['u'] })
      })
      expect([runs, await lost()]).toEqual([2, 1])
      const begun = await ask('POST', '/v1/transaction/begin', {})
      const { transaction_id } = begun.json as { transaction_id: string }
      const inside = { 'x-tabularium-transaction': transaction_id }
      await ask('GET', '/v1/namespace/$/table/list', undefined, inside)
      await ask('POST', '/v1/table/v/declare', {}, inside)
      await other.declareTable({ id: ['w'] })
      expect((await ask('POST', `/v1/transaction/${transaction_id}/commit`, {})).status).toBe(409)
      expect(await lost()).toBe(2)
    })

    it('lost races counts operations that began again on another table', async () => {
      const { catalog, other, store, scrape } = await twoCatalogs(begin)
      await catalog.createTable({ id: ['t'], data: rows })
      store.beforeWrite = async () => {
        store.beforeWrite = undefined
        await other.dropTable({ id: ['t'] })
        await other.createTable({ id: ['t'], data: [{ x: 5 }] })
      }
      await catalog.insertIntoTable({ id: ['t'], data: rows })
      expect((await scrape()).value('tabularium_lost_races_total{kind="operations"}')).toBe(1)
      expect((await catalog.countTableRows({ id: ['t'] })).count).toBe(2)
    })

    it('open transactions counts those that are begun, and no more once they end', async () => {
      const { catalog, ask, scrape } = await twoCatalogs(begin)
      const open = async () => (await scrape()).value('tabularium_open_transactions')
      const began = gate()
      const end = gate()
      // To close the catalog waits for it.
      onTestFinished(() => end.open())
      const done = catalog.transaction(async () => {
        began.open()
        await end.opened
      })
      await began.opened
      const { json } = await ask('POST', '/v1/transaction/begin', {})
      expect(await open()).toBe(2)
      const { transaction_id } = json as { transaction_id: string }
      await ask('POST', `/v1/transaction/${transaction_id}/rollback`, {})
      expect(await open()).toBe(1)
      end.open()
      await done
      expect(await open()).toBe(0)
    })

    it('records that wait to be cleared, until they are', async () => {
      const { catalog, scrape } = await twoCatalogs(begin, { transactionCount: 10 })
      const backlog = async () => {
        const { value } = await scrape()
        return ['transactions', 'changes'].map((kind) =>
          value(`tabularium_upkeep_backlog_records{kind="${kind}"}`),
        )
      }
      const { store } = coreOf(catalog)
      const lease = keys.task(['upkeep'])
      const far = Date.now() + 3_600_000
      await store.write((tx) => tx.put(lease, { v: recordFormat, holder: 'another', until: far }))
      for (let n = 0; n < 30; n++) await catalog.declareTable({ id: [`t${n}`] })
      await expect.poll(backlog).toEqual([20, 20])
      await store.write((tx) => tx.remove(lease))
      await catalog.declareTable({ id: ['last'] })
      await expect.poll(backlog).toEqual([0, 0])
    })

    it('leases of others counts those that last, and none of its own', async () => {
      const now = stoppedClock()
      const { catalog, other, scrape } = await twoCatalogs(begin, { now })
      const leases = async () => {
        const { value } = await scrape()
        return ['backups', 'tasks'].map((kind) => value(`tabularium_leases_of_others{kind="${kind}"}`))
      }
      expect(await leases()).toEqual([0, 0])
      const end = gate()
      const begun = [gate(), gate()]
      const work = [catalog, other, other].map((one, i) =>
        one.withBackupLease(async () => {
          begun[i]?.open()
          await end.opened
        }),
      )
      const { store } = coreOf(catalog)
      const putTask = (until: number) =>
        store.write((tx) => tx.put(keys.task(['upkeep']), { v: recordFormat, holder: 'another', until }))
      try {
        await Promise.all(begun.map(({ opened }) => opened))
        await putTask(now() + 1)
        await expect.poll(leases).toEqual([2, 1])
        await expect
          .poll(async () => (await other.metrics()).leasesOfOthers)
          .toEqual({ backups: 1, tasks: 1 })
        await putTask(now() - 1)
        await expect.poll(leases).toEqual([2, 0])
      } finally {
        end.open()
        await Promise.all(work)
      }
      await expect.poll(leases).toEqual([0, 0])
    })

    it('removals counts dropped tables whose content is still there', async () => {
      const { catalog, other, scrape } = await twoCatalogs(begin)
      const pending = async () => (await scrape()).value('tabularium_content_removals_pending')
      for (const name of ['a', 'b', 'c']) await catalog.createTable({ id: [name], data: rows })
      expect(await pending()).toBe(0)
      await other.withBackupLease(async () => {
        await catalog.dropTable({ id: ['a'] })
        await catalog.dropTable({ id: ['b'] })
        await expect.poll(pending).toBe(2)
      })
      await expect.poll(pending).toBe(0)
    })
  })
})

describe.each(sharedStores.map((place) => ({ ...place, skip: place.missing })))(
  'on $place',
  ({ begin, skip }) => {
    it.skipIf(skip)('turns are counted, and how long they were waited for', async () => {
      const { catalog, other, store, scrape } = await twoCatalogs(begin)
      const turns = async () => {
        const { value } = await scrape()
        return [value('tabularium_turns_total'), value('tabularium_turn_wait_seconds_total')]
      }
      await catalog.createTable({ id: ['t'], data: rows })
      expect(await turns()).toEqual([0, 0])
      const names: string[] = []
      const inTurn = store.inTurn!
      store.inTurn = (name, work) => {
        names.push(...[name].flat())
        return inTurn(name, work)
      }
      const overtaken = async () => {
        store.beforeWrite = async () => {
          store.beforeWrite = undefined
          await other.insertIntoTable({ id: ['t'], data: rows })
        }
        await catalog.insertIntoTable({ id: ['t'], data: rows })
      }
      await overtaken()
      const [taken, waited] = await turns()
      expect(taken).toBe(names.length)
      expect(taken).toBeGreaterThan(0)
      expect(waited).toBeGreaterThan(0)
    })
  },
)

describe('the metrics of', () => {
  it('leases tell the age of the oldest one', async () => {
    const now = stoppedClock()
    const { ask, scrape } = await scraped(await openCatalog('memory:', { now }))
    const age = async () => (await scrape()).value('tabularium_oldest_lease_age_seconds')
    expect(await age()).toBe(0)
    const { json } = await ask('POST', '/v1/transaction/begin', {})
    now.move(12_000)
    await ask('POST', '/v1/transaction/begin', {})
    now.move(500)
    expect(await age()).toBe(12.5)
    const { transaction_id } = json as { transaction_id: string }
    await ask('POST', `/v1/transaction/${transaction_id}/commit`, {})
    expect(await age()).toBe(0.5)
  })

  it.each(['memory:', 'a directory'])('the cache tell what is kept, and found: %s', async (where) => {
    const cacheBytes = 1_000_000
    const catalog = await openCatalog(where === 'memory:' ? where : await freshFolder(), {
      cacheBytes,
      threads: 0,
    })
    const { scrape } = await scraped(catalog)
    const cache = async () => {
      const { value } = await scrape()
      return ['bytes', 'limit_bytes', 'hits_total', 'misses_total'].map(
        (name) => value(`tabularium_content_cache_${name}`)!,
      )
    }
    expect(await cache()).toEqual([0, 0, 0, 0])
    await catalog.createTable({ id: ['t'], data: rows })
    await catalog.queryTable({ id: ['t'] })
    const [bytes, limit, hits, misses] = await cache()
    expect(bytes).toBeGreaterThan(0)
    expect(limit).toBe(cacheBytes)
    await catalog.queryTable({ id: ['t'] })
    const again = await cache()
    expect(again.slice(0, 2)).toEqual([bytes, limit])
    expect(again[2]).toBeGreaterThan(hits!)
    expect(again[3]).toBe(misses)
  })

  it('the cache on disk count reads that it answered, and those that it did not', async () => {
    const content = bucketContent(new MemoryBucket(), { prefix: '' })
    const store = held(memoryStore())
    const options = { store, content, root: 'x://y', cacheBytes: 0, threads: 0 }
    const contentCache = { folder: await freshFolder() }
    const catalog = await openCatalog({ ...options, contentCache })
    const { scrape } = await scraped(catalog)
    const cache = async () => {
      const { value } = await scrape()
      return ['hits', 'misses'].map((name) => value(`tabularium_disk_cache_${name}_total`))
    }
    expect(await cache()).toEqual([0, 0])
    await catalog.createTable({ id: ['t'], data: rows })
    const reads = async () => {
      const before = await cache()
      await catalog.queryTable({ id: ['t'] })
      return (await cache()).map((count, i) => count! - before[i]!)
    }
    const [hits, misses] = await reads()
    expect([hits, misses]).toEqual([0, expect.any(Number)])
    expect(misses).toBeGreaterThan(0)
    await expect.poll(reads).toEqual([misses, 0])
    const without = await openCatalog(options)
    expect((await without.metrics()).diskCache).toBeUndefined()
  })

  lanceIt('processes of Lance tell their memory, and their ends by reason', async () => {
    const isolated = { format: 'lance', lance: { isolate: true } } as const
    const catalog = await openCatalog(await freshFolder(), isolated)
    const { scrape } = await scraped(catalog)
    const told = async () => {
      const { value } = await scrape()
      const ends = ['time', 'memory', 'abandoned', 'crash'].map((reason) =>
        value(`tabularium_lance_process_ends_total{reason="${reason}"}`),
      )
      return [...ends, value('tabularium_lance_process_memory_bytes')! > 1e7]
    }
    expect(await told()).toEqual([0, 0, 0, 0, false])
    await catalog.createTable({ id: ['t'], data: [{ n: 1 }] })
    expect(await told()).toEqual([0, 0, 0, 0, true])
    for (const pid of childrenOf(process.pid, 'lance/isolated/child')) process.kill(pid, 'SIGKILL')
    await expect.poll(told).toEqual([0, 0, 0, 1, false])
    expect(await catalog.countTableRows({ id: ['t'] })).toEqual({ count: 1 })
    expect(await told()).toEqual([0, 0, 0, 1, true])
    expect((await (await openCatalog('memory:')).metrics()).lance).toBeUndefined()
  })

  it('removals are bounded, and tables of given locations are no part of their cost', async () => {
    const store = held(memoryStore())
    const root = 'memory://here'
    const catalog = await openCatalog({ store, content: memoryContent(), root })
    const put = (count: number, locationOf: (n: number) => string, value: string | object) =>
      store.write((tx) => {
        for (let n = 0; n < count; n++) tx.put(keys.location(segmentsOf(locationOf(n))), value as never)
      })
    await put(3_000, (n) => `${root}/given/${n}`, 'a table')
    await put(1, () => `${root}/tables/named`, 'a table')
    let read = 0
    const { read: readStore } = store
    store.read = (body) =>
      readStore((reader) =>
        body({
          ...reader,
          get: (key) => reader.get(key),
          range: function* (range) {
            for (const entry of reader.range(range)) {
              read++
              yield entry as never
            }
          },
        }),
      )
    const pending = async () => (await catalog.metrics()).pendingRemovals
    expect(await pending()).toBe(0)
    expect(read).toBeLessThan(100)
    const removing = { v: recordFormat, removing: 'somewhere', until: 0 }
    await put(3, (n) => `${root}/tables/${n}`, removing)
    await expect.poll(pending).toBe(3)
    await put(3_000, (n) => `${root}/tables/${n}`, removing)
    await expect.poll(pending).toBe(1_000)
  })

  it('a disk tell what is free, and those of memory nothing', async () => {
    const free = async (catalog: LocalCatalog) =>
      (await (await scraped(catalog)).scrape()).value('tabularium_disk_free_bytes')
    expect(await free(await openCatalog(await freshFolder()))).toBeGreaterThan(0)
    expect(await free(await openCatalog('memory:'))).toBeUndefined()
  })

  it('a store that fails say so, and leave out what had to be read', async () => {
    const store = held(memoryStore())
    const catalog = await openCatalog({ store, content: memoryContent() })
    const { scrape } = await scraped(catalog)
    await catalog.createNamespace({ id: ['n'] })
    store.beforeRead = () => Promise.reject(new Error('no'))
    const told = await scrape()
    expect(told.value('tabularium_store_up')).toBe(0)
    expect(told.value('tabularium_commits_total')).toBe(1)
    expect(told.text).not.toContain('tabularium_upkeep_backlog_records{')
    store.beforeRead = undefined
    await expect.poll(async () => (await scrape()).value('tabularium_store_up')).toBe(1)
  })

  it('a store that never answers say so, and ask it a few times only', async () => {
    const store = held(memoryStore())
    const catalog = await openCatalog({ store, content: memoryContent() })
    const { scrape } = await scraped(catalog)
    let reads = 0
    const back = gate()
    onTestFinished(() => back.open())
    store.beforeRead = () => {
      reads++
      return back.opened
    }
    const told = await Promise.all(Array.from({ length: 100 }, () => scrape()))
    expect(told.map(({ value }) => value('tabularium_store_up'))).toEqual(told.map(() => 0))
    expect(reads).toBe(1)
    back.open()
    await expect.poll(async () => (await scrape()).value('tabularium_store_up')).toBe(1)
  })

  it('a catalog behind another server are those of the server alone', async () => {
    const catalog = await openCatalog('memory:')
    const behind = await fetchHandler(catalog, { auth: false })
    onTestFinished(() => catalog.close())
    const remote = connect('http://localhost', {
      fetch: (request) => behind(request, { remoteAddress: '127.0.0.1' }),
    })
    const told = await (await scraped(remote)).scrape()
    expect(told.value('tabularium_requests_in_flight')).toBe(0)
    expect(told.value('tabularium_commits_total')).toBeUndefined()
  })
})

describe.skipIf(missingPostgres)('the metrics of a database', () => {
  it('count commits that others overtook', async () => {
    const { begin } = sharedStores.find(({ place }) => place === 'PostgreSQL')!
    const { catalog, other, scrape } = await twoCatalogs(begin)
    const lost = async () => (await scrape()).value('tabularium_lost_races_total{kind="commits"}')!
    await catalog.declareTable({ id: ['t'] })
    const before = await lost()
    await other.renameTable({ id: ['t'], new_table_name: 'u' })
    await other.renameTable({ id: ['u'], new_table_name: 't' })
    await catalog.renameTable({ id: ['t'], new_table_name: 'v' })
    expect(await lost()).toBe(before + 1)
  })

  it('tell connections in use, and work that waits for one', async () => {
    const url = await (await sharedServer()).freshUrl()
    const pool = new Pool(await readAddress(url), async () => {})
    onTestFinished(() => pool.close())
    expect(pool.use).toEqual({ used: 0, idle: 0, most: 4, waiting: 0 })
    const end = gate()
    onTestFinished(() => end.open())
    const work = Array.from({ length: 6 }, () => pool.alone(() => end.opened))
    await expect.poll(() => pool.use).toEqual({ used: 4, idle: 0, most: 4, waiting: 2 })
    end.open()
    await Promise.all(work)
    await expect.poll(() => pool.use).toEqual({ used: 0, idle: 4, most: 4, waiting: 0 })
  })

  it('are there while it is away', async () => {
    const database = await sharedServer()
    const proxy = await TcpProxy.start(database.port)
    onTestFinished(() => proxy.close())
    const url = (await database.freshUrl(proxy.port)) as `postgres://${string}`
    const catalog = await openCatalog(url, { content: `file://${await freshFolder()}` })
    const { scrape } = await scraped(catalog)
    const up = async () => (await scrape()).value('tabularium_store_up')
    await catalog.createNamespace({ id: ['n'] })
    const { value } = await scrape()
    expect(value('tabularium_store_up')).toBe(1)
    expect(value('tabularium_database_connections_max')).toBe(4)
    const connections = ['used', 'idle'].map((state) =>
      value(`tabularium_database_connections{state="${state}"}`),
    )
    expect(connections[0]! + connections[1]!).toBeGreaterThan(0)
    expect(value('tabularium_database_connections_pending')).toBe(0)
    proxy.onSent = () => 0
    proxy.cut()
    await expect.poll(up).toBe(0)
    expect((await scrape()).value('tabularium_commits_total')).toBe(1)
    proxy.onSent = undefined
    await expect.poll(up).toBe(1)
  })
})
