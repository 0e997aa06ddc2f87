import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { runtime } from '../../../src/base/time.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { PostgresStore } from '../../../src/stores/postgres/store.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'

/*
 * A database may be a millisecond or ten away, so what an operation costs is its round trips. A proxy counts them: it is
 * not taken in by what the driver or the store believe.
 */

const batch = (name: string) =>
  Array.from({ length: 100 }, (_, i) => ({ declare_table: { id: ['prod', `${name}-${i}`] } }))

interface Counted {
  readonly catalog: LocalCatalog
  /** The round trips of a call. */
  trips(call: (catalog: LocalCatalog) => Promise<unknown>): Promise<number>
  /** The round trips of a call by a process that has just opened the catalog. */
  cold(call: (catalog: LocalCatalog) => Promise<unknown>): Promise<number>
  open(): Promise<LocalCatalog>
}

/** What is due in a second or more never happens. Records of the feed are numbered then, and no change waits for that. */
function withoutLater(): void {
  const timers = runtime.timers!
  const never = { unref: () => {} }
  runtime.timers = {
    ...timers,
    setTimeout: (work, millis = 0) => (millis < 1_000 ? timers.setTimeout(work, millis) : never),
    clearTimeout: (timer) => (timer === never ? undefined : timers.clearTimeout(timer)),
  }
  onTestFinished(() => {
    runtime.timers = timers
  })
}

/** Whether others take turns at a busy branch is asked now and then, and no change waits for the answer. */
function neverAsking(): void {
  const asked = vi.spyOn(PostgresStore.prototype, 'isTurnTaken').mockResolvedValue(false)
  onTestFinished(() => asked.mockRestore())
}

async function counted(): Promise<Counted> {
  withoutLater()
  const server = await sharedServer()
  const proxy = await TcpProxy.start(server.port, { counts: true })
  const url = await server.freshUrl(proxy.port)
  const content = memoryContent()
  const open = async () => {
    const store = await openPostgresStore(url)
    const catalog = await openCatalog({ store, content, root: 'memory://here' })
    onTestFinished(() => catalog.close())
    return catalog
  }
  const tripsOf = async (catalog: LocalCatalog, call: (catalog: LocalCatalog) => Promise<unknown>) => {
    const before = proxy.trips
    await call(catalog)
    return proxy.trips - before
  }
  onTestFinished(() => proxy.close())
  const catalog = await open()
  return {
    catalog,
    open,
    trips: (call) => tripsOf(catalog, call),
    cold: async (call) => tripsOf(await open(), call),
  }
}

describe.skipIf(missingPostgres)('round trips to PostgreSQL', () => {
  test('are fixed numbers for each operation', async () => {
    const { catalog, trips, cold } = await counted()
    await catalog.createNamespace({ id: ['prod'] })
    await catalog.batchCommitTables({ operations: batch('t') })
    await catalog.declareTable({ id: ['prod', 'first'] })
    const found = {
      describe: [
        await trips((c) => c.describeTable({ id: ['prod', 't-7'] })),
        await cold((c) => c.describeTable({ id: ['prod', 't-7'] })),
      ],
      list: [
        await trips((c) => c.listTables({ id: ['prod'], limit: 100 })),
        await cold((c) => c.listTables({ id: ['prod'], limit: 100 })),
      ],
      declare: [
        await trips((c) => c.declareTable({ id: ['prod', 'declared'] })),
        await cold((c) => c.declareTable({ id: ['prod', 'declared cold'] })),
      ],
      rename: [
        await trips((c) => c.renameTable({ id: ['prod', 't-7'], new_table_name: 'renamed' })),
        await cold((c) => c.renameTable({ id: ['prod', 't-8'], new_table_name: 'renamed cold' })),
      ],
      batch: [
        await trips((c) => c.batchCommitTables({ operations: batch('u') })),
        await cold((c) => c.batchCommitTables({ operations: batch('v') })),
      ],
    }
    expect(found).toEqual({
      describe: [1, 2],
      list: [1, 2],
      declare: [1, 2],
      rename: [1, 3],
      batch: [1, 2],
    })
  })

  test('are shared by calls that come together', async () => {
    const { catalog, trips } = await counted()
    await catalog.createNamespace({ id: ['prod'] })
    await catalog.batchCommitTables({ operations: batch('t') })
    const describing = await trips((c) =>
      Promise.all(Array.from({ length: 100 }, (_, i) => c.describeTable({ id: ['prod', `t-${i}`] }))),
    )
    // One for all. A listing would keep others waiting, and goes alone.
    expect(describing).toBe(1)
    const declaring = await trips((c) =>
      Promise.all(Array.from({ length: 100 }, (_, i) => c.declareTable({ id: ['prod', `u-${i}`] }))),
    )
    expect(declaring).toBe(1)
  })

  test('are two for a change of rows: find the table, commit', async () => {
    neverAsking()
    const { catalog, trips, cold } = await counted()
    const id = ['t']
    const schema = { fields: [{ name: 'x', type: { type: 'int32' }, nullable: true }] }
    const changes: Record<string, (c: LocalCatalog) => Promise<unknown>> = {
      create: (c) => c.createTable({ id: [randomUUID()], data: [], schema }),
      insert: (c) => c.insertIntoTable({ id, data: [{ x: 1 }] }),
      delete: (c) => c.deleteFromTable({ id, predicate: 'x = 0' }),
      metadata: (c) => c.updateTableSchemaMetadata({ id, metadata: { a: 'b' } }),
      optimize: (c) => c.optimizeTable({ id }),
    }
    await catalog.createTable({ id, data: [], schema })
    for (let n = 0; n < 2; n++) await changes.insert!(catalog)
    const found: Record<string, number[]> = {}
    for (const [name, change] of Object.entries(changes)) {
      // The first one loads code. Work that takes long gets a record before its commit.
      await change(catalog)
      // Some fragments to merge.
      for (let n = 0; n < 2; n++) await changes.insert!(catalog)
      found[name] = [await trips(change)]
      if (name === 'optimize') await changes.insert!(catalog)
      found[name].push(await cold(change))
    }
    // What is not in memory is read in between: one more trip for a manifest, and one for fragments, also of an insert that
    // merges them. That takes no request
    // to a bucket.
    const most = { create: [2, 2], insert: [2, 6], delete: [3, 6], metadata: [2, 5], optimize: [4, 7] }
    for (const [name, trips] of Object.entries(most))
      for (const [i, count] of trips.entries()) expect(found[name]![i], name).toBeLessThanOrEqual(count)
  })

  test('is one for a small insert, and as many as before where the guess of its table is outdated', async () => {
    neverAsking()
    const { catalog, trips, open } = await counted()
    const other = await open()
    const id = ['t']
    const insert = (c: LocalCatalog) => c.insertIntoTable({ id, data: [{ x: 1 }] })
    await catalog.createTable({ id, data: [{ x: 0 }] })
    const found: number[] = []
    // Each eighth merges fragments, which it reads.
    for (let n = 0; n < 4; n++) found.push(await trips(insert))
    expect(found.slice(1)).toEqual([1, 1, 1])
    await insert(other)
    // The commit that is refused, the version of the other and its manifest, the commit.
    expect(await trips(insert)).toBe(4)
    expect((await catalog.metrics()).lostRaces.rows).toBe(0)
    expect(await catalog.countTableRows({ id })).toMatchObject({ count: 7 })
  })

  test('are few for changes of the same table that come together', async () => {
    const { catalog, trips } = await counted()
    const id = ['t']
    const insert = (c: LocalCatalog) => c.insertIntoTable({ id, data: [{ x: 1 }] })
    await catalog.createTable({ id, data: [{ x: 0 }] })
    await insert(catalog)
    const together: number[] = []
    // The first one may be committed alone, and so may those that came later: more of them where the machine is busy.
    for (let round = 0; round < 5 && !together.some((count) => count < 8); round++)
      together.push(await trips((c) => Promise.all(Array.from({ length: 16 }, () => insert(c)))))
    expect(Math.min(...together)).toBeLessThan(8)
    expect(await catalog.countTableRows({ id })).toMatchObject({ count: 2 + 16 * together.length })
  })
})
