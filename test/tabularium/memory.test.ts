import { expect, test, vi } from 'vitest'
import { StateHolder } from '../../src/base/memory/state.ts'
import { type MemorySnapshot, openCatalog } from '../../src/tabularium/index.ts'

/** Creates a table, changes its rows and drops it, with numbers that differ for each table. */
async function work(catalog: Awaited<ReturnType<typeof openCatalog>>, n: number): Promise<void> {
  const id = [`t${n}`]
  for (let round = 0; round < 2; round++) {
    await catalog.createTable({ id, data: [{ n }, { n: n + 1 }] })
    await catalog.insertIntoTable({ id, data: [{ n: n + 2 }] })
    await catalog.deleteFromTable({ id, predicate: `n = ${n}` })
    if (round < 1 || n % 2 === 0) await catalog.dropTable({ id })
  }
}

/** Looks at a catalog right after each change of its records or its content, while `body` runs. */
async function afterEachChange(look: () => void, body: () => Promise<unknown>): Promise<void> {
  const { changeRecords, setObjects } = StateHolder.prototype
  const spies = [
    vi.spyOn(StateHolder.prototype, 'changeRecords').mockImplementation(function (this: StateHolder, change) {
      const result = changeRecords.call(this, change)
      look()
      return result
    }),
    vi.spyOn(StateHolder.prototype, 'setObjects').mockImplementation(function (this: StateHolder, objects) {
      setObjects.call(this, objects)
      look()
    }),
  ]
  try {
    await body()
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

test('a snapshot taken while others write holds records and content of one moment', async () => {
  await using catalog = await openCatalog('memory:')
  await using later = catalog.fork()
  const snapshots: MemorySnapshot[] = []
  await afterEachChange(
    () => snapshots.push(catalog.snapshot()),
    () => Promise.all(Array.from({ length: 5 }, (_, n) => work(catalog, n))),
  )
  expect(snapshots.length).toBeGreaterThan(100)
  const step = Math.ceil(snapshots.length / 40)
  let counted = 0
  for (const snapshot of snapshots.filter((_, i) => i % step === 0)) {
    later.restore(snapshot)
    expect(await later.verify()).toMatchObject({ ok: true, findings: [] })
    for (const table of (await later.listTables({ id: [] })).tables) {
      const { count } = await later.countTableRows({ id: [table], predicate: 'n >= 0' })
      expect([2, 3]).toContain(count)
      counted++
    }
  }
  expect(counted).toBeGreaterThan(20)
  expect((await catalog.listTables({ id: [] })).tables).toEqual(['t1', 't3'])
})

test('a snapshot and a fork share one state: records and content go back together', async () => {
  await using catalog = await openCatalog('memory:')
  await catalog.createTable({ id: ['t'], data: [{ n: 1 }] })
  const snapshot = catalog.snapshot()
  expect(Object.isFrozen(snapshot)).toBe(true)
  expect(catalog.snapshot()).toBe(snapshot)
  expect(catalog.fork().snapshot()).toBe(snapshot)
  await catalog.dropTable({ id: ['t'] })
  expect(catalog.snapshot()).not.toBe(snapshot)
  catalog.restore(snapshot)
  expect(await catalog.countTableRows({ id: ['t'], predicate: 'n = 1' })).toEqual({ count: 1 })
})

test('a closed catalog gives out no copies', async () => {
  const catalog = await openCatalog('memory:')
  const snapshot = catalog.snapshot()
  await catalog.close()
  for (const attempt of [catalog.fork, catalog.snapshot, () => catalog.restore(snapshot)]) {
    expect(attempt).toThrow(expect.objectContaining({ code: 'ServiceUnavailable' }))
  }
})
