import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { markRemoval } from '../../../../src/catalog/locations/removal.ts'
import { leaseMillis } from '../../../../src/catalog/transactions/transaction-record.ts'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../../src/stores/memory/index.ts'
import { CatalogError, type LocalCatalog, openCatalog } from '../../../../src/tabularium/index.ts'
import { closedAfterwards, eachLocalCatalog, freshFolder, stoppedClock } from '../../../support/catalogs.ts'
import { gate } from '../../../support/gate.ts'

const count = async (on: Pick<LocalCatalog, 'countTableRows'>, ...id: string[]) =>
  (await on.countTableRows({ id })).count

const namesIn = async (catalog: LocalCatalog) =>
  (await catalog.listTables({ id: [], include_declared: true })).tables

eachLocalCatalog((open) => {
  test('ten thousand changes fit into one transaction', async () => {
    const catalog = await open()
    await catalog.createNamespace({ id: ['n'] })
    await catalog.transaction(async (tx) => {
      for (let i = 0; i < 10_000; i++) await tx.declareTable({ id: ['n', `t${i}`] })
      await tx.dropTable({ id: ['n', 't5'] })
    })
    const { tables } = await catalog.listTables({ id: ['n'], include_declared: true, limit: 10_000 })
    expect(tables.length).toBe(9_999)
  })

  test('closing waits for a transaction, and refuses new ones', async () => {
    const folder = await freshFolder()
    const catalog = open.kind === 'memory' ? await open() : await openCatalog(folder)
    const { open: goOn, opened: waiting } = gate()
    const order: string[] = []
    const running = catalog.transaction(async (tx) => {
      await tx.declareTable({ id: ['a'] })
      await waiting
      await tx.declareTable({ id: ['b'] })
    })
    const closed = catalog.close().then(() => order.push('closed'))
    await expect(catalog.transaction(async () => {})).rejects.toMatchObject({ code: 'ServiceUnavailable' })
    await expect(catalog.listTables({ id: [] })).rejects.toMatchObject({ code: 'ServiceUnavailable' })
    goOn()
    await running.then(() => order.push('committed'))
    await closed
    expect(order).toEqual(['committed', 'closed'])
    if (open.kind === 'memory') return
    const again = closedAfterwards(await openCatalog(folder))
    expect(await namesIn(again)).toEqual(['a', 'b'])
  })

  test('the authorize hook is asked about each operation inside', async () => {
    const asked: string[] = []
    const catalog = await open({
      authorize: ({ operation, id }) => {
        asked.push(operation)
        return id?.[0] !== 'secret'
      },
    })
    const refusedInside = catalog.transaction(async (tx) => {
      await tx.declareTable({ id: ['a'] })
      await tx.declareTable({ id: ['secret'] })
    })
    await expect(refusedInside).rejects.toMatchObject({ code: 'PermissionDenied' })
    expect(asked).toEqual(['declareTable', 'declareTable'])
    expect(await namesIn(catalog)).toEqual([])
  })

  test('transactions hold no slot, so that their functions may wait for changes of rows outside', async () => {
    const catalog = await open({ concurrency: 1 })
    await catalog.createTable({ id: ['a'], data: [{ k: 1 }] })
    await catalog.createTable({ id: ['b'], data: [{ k: 1 }] })
    const move = () =>
      catalog.transaction(async (tx) => {
        await tx.insertIntoTable({ id: ['a'], data: [{ k: 2 }] })
        await catalog.insertIntoTable({ id: ['b'], data: [{ k: 2 }] })
      })
    await Promise.all([move(), move(), move()])
    expect([await count(catalog, 'a'), await count(catalog, 'b')]).toEqual([4, 4])
  })

  test('a table that is created twice inside is refused, and the function may go on', async () => {
    const catalog = await open()
    await catalog.transaction(async (tx) => {
      await tx.createTable({ id: ['a'], data: [{ k: 1 }] })
      await expect(tx.createTable({ id: ['a'], data: [{ k: 2 }] })).rejects.toMatchObject({
        code: 'TableAlreadyExists',
      })
      await tx.insertIntoTable({ id: ['a'], data: [{ k: 3 }] })
    })
    expect(await count(catalog, 'a')).toBe(2)
    expect((await catalog.verify()).ok).toBe(true)
  })

  test('progress tells the transaction, and the rows of all operations inside', async () => {
    const catalog = await open()
    const told: { transaction_id?: string; rows: number }[] = []
    const inner: number[] = []
    const id = await catalog.transaction(
      async (tx) => {
        await tx.createTable({ id: ['a'], data: [{ k: 1 }, { k: 2 }] })
        await tx.insertIntoTable(
          { id: ['a'], data: [{ k: 3 }] },
          { onProgress: ({ rows }) => inner.push(rows) },
        )
        return tx.transactionId
      },
      { onProgress: (progress) => told.push(progress) },
    )
    expect(new Set(told.map(({ transaction_id }) => transaction_id))).toEqual(new Set([id]))
    expect(told[0]!.rows).toBe(0)
    expect(told.at(-1)!.rows).toBe(3)
    expect(inner.at(-1)).toBe(1)
  })

  test('properties of its record can be set from within, and stay', async () => {
    const catalog = await open()
    const id = await catalog.transaction(
      async (tx) => {
        const set = { setPropertyAction: { key: 'job', value: 'nightly' } }
        await tx.alterTransaction({ id: [tx.transactionId], actions: [set] })
        expect((await tx.describeTransaction({ id: [tx.transactionId] })).status).toBe('Running')
        await tx.declareTable({ id: ['a'] })
        return tx.transactionId
      },
      { onProgress: () => {} },
    )
    const { status, properties } = await catalog.describeTransaction({ id: [id] })
    expect({ status, job: properties.job, operation: properties.operation }).toEqual({
      status: 'Succeeded',
      job: 'nightly',
      operation: 'Transaction',
    })
  })

  test('a location of a table that the transaction drops is free after the commit', async () => {
    const catalog = await open()
    const { location } = await catalog.declareTable({ id: ['a'] })
    const place = `${location.slice(0, location.indexOf('/tables/'))}/tables/shared/a`
    await catalog.declareTable({ id: ['b'], location: place })
    await catalog.insertIntoTable({ id: ['b'], data: [{ k: 1 }] })
    await catalog.transaction(async (tx) => {
      await tx.dropTable({ id: ['b'] })
      await expect(tx.declareTable({ id: ['c'], location: place })).rejects.toMatchObject({
        code: 'InvalidInput',
        message: expect.stringContaining('removed after the commit'),
      })
    })
    await catalog.declareTable({ id: ['c'], location: place })
    await catalog.insertIntoTable({ id: ['c'], data: [{ k: 1 }] })
    expect(await count(catalog, 'c')).toBe(1)
  })

  test('the metadata of fields that a function was told is what the commit leaves', async () => {
    const catalog = await open()
    const id = ['a']
    await catalog.createTable({ id, data: [{ k: 1 }] })
    const meanwhile = [
      () => catalog.insertIntoTable({ id, data: [{ k: 2 }] }),
      () => catalog.updateFieldMetadata({ id, updates: [{ path: 'k', metadata: { by: 'x' } }] }),
    ]
    const runs: number[] = []
    for (const others of meanwhile) {
      let count = 0
      const told = await catalog.transaction(async (tx) => {
        const updates = [{ path: 'k', metadata: { unit: 'm' } }]
        const { fields } = await tx.updateFieldMetadata({ id, updates })
        if (count++ === 0) await others()
        return fields!.k
      })
      runs.push(count)
      const nothing = [{ path: 'k', metadata: { none: null } }]
      const { fields } = await catalog.updateFieldMetadata({ id, updates: nothing })
      expect(told).toEqual(fields!.k)
    }
    // Rows of others leave the answer as it was.
    expect(runs).toEqual([1, 2])
  })

  test('a lease that ended refuses the commit', async () => {
    const now = stoppedClock()
    const catalog = await open({ now })
    const late = catalog.transaction(
      async (tx) => {
        await tx.declareTable({ id: ['a'] })
        now.move(leaseMillis + 1)
      },
      // The record is there when the function begins, and so is its lease.
      { onProgress: () => {} },
    )
    await expect(late).rejects.toMatchObject({ code: 'ConcurrentModification' })
    expect(await namesIn(catalog)).toEqual([])
  })

  test('a vacuum leaves the objects of a transaction alone, and takes those of one that was given up', async () => {
    const catalog = await open()
    await catalog.createTable({ id: ['a'], data: [{ k: 1 }] })
    // What the function writes is old enough to be taken when nothing protects it.
    const ahead = () => sleep(15)
    const removed: number[] = []
    let vacuums = 0
    const vacuumOnce = async () => {
      await ahead()
      if (vacuums++ === 0) removed.push((await catalog.vacuum({ graceMillis: 0 })).removed)
    }
    await catalog.transaction(async (tx) => {
      await tx.insertIntoTable({ id: ['a'], data: [{ k: 2 }] })
      await tx.createTable({ id: ['b'], data: [{ k: 1 }] })
      await tx.declareTable({ id: ['c'] })
      await tx.insertIntoTable({ id: ['c'], data: [{ k: 1 }] })
      await vacuumOnce()
    })
    expect([removed, vacuums]).toEqual([[0], 1])
    // A vacuum may take a registration that nothing names, so the function runs again and writes another one.
    vacuums = 0
    await catalog.transaction(async (tx) => {
      const { location } = await tx.deregisterTable({ id: ['c'] })
      await vacuumOnce()
      await tx.registerTable({ id: ['c'], location })
    })
    expect(vacuums).toBe(2)
    for (const name of ['a', 'b', 'c']) {
      const { data } = await catalog.queryTable({ id: [name] })
      expect(data.byteLength).toBeGreaterThan(0)
    }
    expect((await catalog.verify()).ok).toBe(true)
    const givenUp = catalog.transaction(async (tx) => {
      await tx.insertIntoTable({ id: ['a'], data: [{ k: 3 }] })
      await tx.createTable({ id: ['d'], data: [{ k: 1 }] })
      throw new RangeError('no')
    })
    await expect(givenUp).rejects.toThrow(RangeError)
    await ahead()
    // A fragment and a manifest of the new table. Small objects of a change are no files in a directory.
    expect((await catalog.vacuum({ graceMillis: 0 })).removed).toBeGreaterThanOrEqual(2)
    expect(await count(catalog, 'a')).toBe(2)
    expect((await catalog.verify()).ok).toBe(true)
  })

  test('what the function inserted is optimized in the background after the commit', async () => {
    const catalog = await open({ optimize: { every: 8 } })
    await catalog.createTable({ id: ['a'], data: [{ k: 0 }] })
    await catalog.transaction(async (tx) => {
      for (let k = 1; k < 8; k++) {
        await tx.insertIntoTable({ id: ['a'], data: [{ k }] })
        // Otherwise, they would be one version.
        expect(await count(tx, 'a')).toBe(k + 1)
      }
    })
    const fragments = async () =>
      (await catalog.describeTable({ id: ['a'], load_detailed_metadata: true })).stats!.num_fragments
    await expect.poll(fragments).toBe(1)
    expect(await count(catalog, 'a')).toBe(8)
  })

  test('what is called on the catalog itself does not belong to the transaction', async () => {
    const catalog = await open()
    const failing = catalog.transaction(async (tx) => {
      await tx.declareTable({ id: ['inside'] })
      await catalog.declareTable({ id: ['outside'] })
      throw new RangeError('no')
    })
    await expect(failing).rejects.toThrow(RangeError)
    expect(await namesIn(catalog)).toEqual(['outside'])
  })

  test('a transaction that only reads never runs again at its end', async () => {
    const catalog = await open()
    await catalog.createTable({ id: ['a'], data: [{ k: 1 }] })
    let runs = 0
    const seen = await catalog.transaction(async (tx) => {
      runs++
      const rows = await count(tx, 'a')
      await catalog.insertIntoTable({ id: ['a'], data: [{ k: 2 }] })
      return rows
    })
    expect([seen, runs]).toEqual([1, 1])
  })

  test('inserts into one table that are under way at once inside all succeed, also beside others outside', async () => {
    const catalog = await open()
    await catalog.createTable({ id: ['a'], data: [{ k: 0 }] })
    let runs = 0
    const inside = catalog.transaction(async (tx) => {
      runs++
      await Promise.all([1, 2, 3, 4].map((k) => tx.insertIntoTable({ id: ['a'], data: [{ k }] })))
    })
    const outside = [5, 6, 7].map((k) => catalog.insertIntoTable({ id: ['a'], data: [{ k }] }))
    await Promise.all([inside, ...outside])
    expect([await count(catalog, 'a'), runs]).toEqual([8, 1])
    const { versions } = await catalog.listTableVersions({ id: ['a'] })
    // Those inside are one version, unless others committed while they began.
    expect(versions.length).toBeGreaterThanOrEqual(5)
    expect(versions.length).toBeLessThanOrEqual(8)
  })

  test('a batch inside of a transaction is one of its operations', async () => {
    const catalog = await open()
    await catalog.transaction(async (tx) => {
      const { results } = await tx.batchCommitTables({
        operations: [{ declare_table: { id: ['a'] } }, { declare_table: { id: ['b'] } }],
      })
      expect(results.length).toBe(2)
      await tx.renameTable({ id: ['a'], new_table_name: 'c' })
    })
    expect(await namesIn(catalog)).toEqual(['b', 'c'])
  })

  test('upkeep is not on the handle of a transaction, and it cannot be closed', async () => {
    const catalog = await open()
    await catalog.transaction(async (tx) => {
      const members = tx as unknown as Record<string, unknown>
      for (const name of [
        'vacuum',
        'backup',
        'withBackupLease',
        'verify',
        'exportTo',
        'importFrom',
        'fork',
        'close',
      ]) {
        expect(members[name]).toBe(undefined)
      }
    })
  })
})

test('a fork of a catalog in memory has transactions of its own', async () => {
  const catalog = closedAfterwards(await openCatalog('memory:'))
  await catalog.createTable({ id: ['a'], data: [{ k: 1 }] })
  const forked = closedAfterwards(catalog.fork())
  await forked.transaction(async (tx) => {
    await tx.insertIntoTable({ id: ['a'], data: [{ k: 2 }] })
  })
  expect([await count(catalog, 'a'), await count(forked, 'a')]).toEqual([1, 2])
})

test('a catalog behind a server has none: the call says so', async () => {
  const remote = (await openCatalog(new URL('http://127.0.0.1:9') as URL)) as LocalCatalog
  onTestFinished(() => remote.close())
  await expect(remote.transaction(async () => {})).rejects.toBeInstanceOf(CatalogError)
})

test('a location whose content another process is still removing is waited for outside of the function', async () => {
  const store = memoryStore()
  const content = memoryContent()
  const catalog = closedAfterwards(await openCatalog({ store, content, root: 'shop://here' }))
  const location = 'shop://here/shared/a'
  // The mark that a process left which died while it removed the content.
  await store.write((writer) => markRemoval(writer, location, 0))
  let runs = 0
  await catalog.transaction(async (tx) => {
    runs++
    await tx.declareTable({ id: ['b'] })
    await tx.declareTable({ id: ['a'], location })
  })
  expect(runs).toBe(2)
  expect(await namesIn(catalog)).toEqual(['a', 'b'])
})
