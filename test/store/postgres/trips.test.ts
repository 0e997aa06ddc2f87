import { describe, expect, onTestFinished, test } from 'vitest'
import { memoryContent } from '../../../src/content/memory/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/index.ts'
import { openPostgresStore } from '../../../src/store/postgres/index.ts'
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
}

async function counted(): Promise<Counted> {
  const server = await sharedServer()
  const proxy = await TcpProxy.start(server.port, { counts: true })
  const url = await server.freshUrl(proxy.port)
  const open = async () => {
    const store = await openPostgresStore(url)
    const catalog = await openCatalog({ store, content: memoryContent(), root: 'memory://here' })
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
})
