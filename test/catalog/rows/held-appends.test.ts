import { expect, it, test } from 'vitest'
import { CatalogError } from '../../../src/base/errors.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type CatalogOptions, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { contentWith } from '../../support/contents.ts'
import { countOf } from '../../support/rows.ts'

const id = ['t']

async function opened(options?: CatalogOptions) {
  const catalog = closedAfterwards(await openCatalog('memory:', options))
  await catalog.createTable({ id, data: [{ k: 1, bytes: new Uint8Array([1]) }] })
  return catalog
}

it('what the caller changes after the answer is not in the table', async () => {
  const catalog = await opened()
  const { data } = await catalog.queryTable({ id })
  const given = Buffer.from(data)
  const row = { k: 1, bytes: new Uint8Array([1]) }
  const rows = [row]
  await catalog.transaction(async (tx) => {
    await tx.insertIntoTable({ id, data: given })
    given.fill(0)
    await tx.insertIntoTable({ id, data: rows })
    row.k = 2
    row.bytes[0] = 2
    rows.push({ k: 3, bytes: new Uint8Array([3]) })
  })
  expect(await countOf(catalog, id, { predicate: "k = 1 AND bytes = X'01'" })).toBe(3)
  expect(await countOf(catalog, id)).toBe(3)
})

it('typed arrays, lists and dates of rows may change after the answer, too', async () => {
  const catalog = closedAfterwards(await openCatalog('memory:'))
  const make = () => ({
    vector: new Float32Array([1, 2]),
    whole: new Int32Array([1, 2, 3]),
    list: [new Uint8Array([1]), new Uint8Array([2])],
    at: new Date(1),
    struct: { inner: [1, 2] },
  })
  await catalog.createTable({ id, data: [make()] })
  const row = make()
  await catalog.transaction(async (tx) => {
    await tx.insertIntoTable({ id, data: [row] })
    row.vector.fill(9)
    row.whole.fill(9)
    row.list[0]!.fill(9)
    row.list.pop()
    row.at.setTime(9)
    row.struct.inner[0] = 9
  })
  const rows: unknown[] = []
  for await (const one of catalog.rows({ id })) rows.push(one)
  expect(rows[1]).toEqual(rows[0])
})

test.each(['a read', 'the commit'])(
  'rows that cannot be written at %s fail the whole transaction',
  async (at) => {
    const real = memoryContent()
    let isFull = false
    const content = contentWith(real, {
      put: async (path, bytes) => {
        if (isFull) throw new CatalogError('ServiceUnavailable', 'The disk is full.')
        return real.put(path, bytes)
      },
    })
    const catalog = closedAfterwards(await openCatalog({ store: memoryStore(), content }))
    for (const name of ['t', 'u']) await catalog.createTable({ id: [name], data: [{ text: 'x' }] })
    isFull = true
    const failing = catalog.transaction(async (tx) => {
      await tx.insertIntoTable({ id: ['u'], data: [{ text: 'x' }] })
      // Too long to be inline.
      await tx.insertIntoTable({ id, data: [{ text: 'x'.repeat(150_000) }] })
      if (at === 'the commit') return
      await expect(countOf(tx as never, id)).rejects.toThrow('The disk is full.')
      // The function goes on, and must not get a part of it committed.
      await tx.declareTable({ id: ['v'] }).catch(() => {})
    })
    await expect(failing).rejects.toThrow('The disk is full.')
    expect([await countOf(catalog, id), await countOf(catalog, ['u'])]).toEqual([1, 1])
    expect((await catalog.listTables({ id: [], include_declared: true })).tables).toEqual(['t', 'u'])
  },
)

it('an insert that is wrong is refused at once, and those around it are done', async () => {
  const catalog = await opened()
  await catalog.transaction(async (tx) => {
    await tx.insertIntoTable({ id, data: [{ k: 2 }] })
    await expect(tx.insertIntoTable({ id, data: [{ other: 2 }] })).rejects.toMatchObject({
      code: 'TableSchemaValidationError',
    })
    await expect(tx.insertIntoTable({ id: ['none'], data: [{ k: 2 }] })).rejects.toMatchObject({
      code: 'TableNotFound',
    })
    await tx.insertIntoTable({ id, data: [{ k: 3 }] })
  })
  expect(await countOf(catalog, id, { predicate: 'k IN (2, 3)' })).toBe(2)
})

it('rows get the columns that others add meanwhile, without a further run', async () => {
  const catalog = await opened()
  let runs = 0
  await catalog.transaction(async (tx) => {
    runs++
    for (const k of [2, 3]) await tx.insertIntoTable({ id, data: [{ k }] })
    if (runs > 1) return
    await catalog.alterTableAddColumns({ id, new_columns: [{ name: 'more', expression: 'k + 1' }] })
    await catalog.alterTableDropColumns({ id, columns: ['bytes'] })
  })
  expect(runs).toBe(1)
  expect(await countOf(catalog, id, { predicate: 'more IS NULL' })).toBe(2)
})

it('a version that the function passes on is the one that has its rows', async () => {
  const catalog = await opened()
  let runs = 0
  await catalog.transaction(async (tx) => {
    runs++
    await tx.insertIntoTable({ id, data: [{ k: 2 }] })
    const { version } = await tx.insertIntoTable({ id, data: [{ k: 3 }] })
    if (runs === 1) await catalog.insertIntoTable({ id, data: [{ k: 9 }] })
    await tx.createTableTag({ id, tag: 'mine', version })
  })
  expect(runs).toBe(2)
  const { version } = await catalog.getTableTagVersion({ id, tag: 'mine' })
  expect(await countOf(catalog, id, { version, predicate: 'k IN (2, 3)' })).toBe(2)
})

it('operations at the same time inside meet no insert halfway', async () => {
  for (let round = 0; round < 20; round++) {
    const catalog = await opened()
    let inserted = 0
    await catalog.transaction(async (tx) => {
      const add = async (k: number) => {
        for (let n = 0; n < round % 5; n++) await Promise.resolve()
        await tx.insertIntoTable({ id, data: [{ k }] })
        inserted++
      }
      await Promise.all([
        add(2),
        add(3),
        tx.alterTableAddColumns({ id, new_columns: [{ name: `c${round}`, expression: 'k' }] }),
        add(4),
        tx.deleteFromTable({ id, predicate: 'k = 1' }),
        tx.insertIntoTable({ id, data: Array.from({ length: 2_000 }, () => ({ k: 5 })) }),
        add(6),
      ])
    })
    expect([inserted, await countOf(catalog, id)]).toEqual([4, 2_004])
    expect((await catalog.verify()).ok).toBe(true)
  }
})

it('a feed has each insert, and names the version once', async () => {
  const catalog = await opened()
  const since = await catalog.watch().token()
  const ids: string[] = []
  await catalog.transaction(async (tx) => {
    for (const k of [2, 3, 4]) ids.push((await tx.insertIntoTable({ id, data: [{ k }] })).transaction_id!)
  })
  const { value } = await catalog.watch({ since }).next()
  expect(value!.changes.map(({ versions, transaction_id }) => [transaction_id, versions])).toEqual([
    [ids[0], [{ first: 2, last: 2 }]],
    [ids[1], undefined],
    [ids[2], undefined],
  ])
})

it('more inserts than a transaction holds are written before', async () => {
  const catalog = await opened()
  await catalog.transaction(async (tx) => {
    for (let k = 0; k < 1_100; k++) await tx.insertIntoTable({ id, data: [{ k: k + 10 }] })
    for (let n = 0; n < 8; n++)
      await tx.insertIntoTable({ id, data: [{ k: 5, bytes: new Uint8Array(200_000) }] })
  })
  expect(await countOf(catalog, id)).toBe(1_109)
  expect((await catalog.listTableVersions({ id })).versions.length).toBeLessThan(10)
})
