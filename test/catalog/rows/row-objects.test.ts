import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openCatalog, type Progress } from '../../../src/tabularium/index.ts'

const many = 60_000

/** Row objects that count how often their values are read. */
function countedRows(count: number) {
  const reads = { count: 0 }
  const rows = Array.from({ length: count }, (_, i) => ({
    get x() {
      reads.count++
      return i
    },
    name: `row ${i}`,
    list: [i, i + 0.5],
  }))
  return { rows, reads }
}

/** How often the event loop turns while work is under way. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0
  let done = false
  const finish = () => {
    done = true
  }
  work.then(finish, finish)
  while (!done) {
    await setImmediate()
    turns++
  }
  return turns
}

test('columns are built of many row objects while other work goes on', async () => {
  await using catalog = await openCatalog('memory:')
  const { rows } = countedRows(many)
  const before = await turnsDuring(Promise.resolve())
  const work = catalog.createTable({ id: ['t'], data: rows })
  const turns = await turnsDuring(work)
  expect(turns).toBeGreaterThan(before + 5)
  expect((await catalog.countTableRows({ id: ['t'], predicate: 'x >= 30000' })).count).toBe(30_000)
  expect((await catalog.countTableRows({ id: ['t'], predicate: "name = 'row 59999'" })).count).toBe(1)
})

test('building hears the signal', async () => {
  await using catalog = await openCatalog('memory:')
  await catalog.createTable({ id: ['t'], data: [{ x: 1, name: '', list: [0.5] }] })
  const { rows, reads } = countedRows(many)
  const stop = new AbortController()
  const seen: Progress[] = []
  const work = catalog.insertIntoTable(
    { id: ['t'], data: rows },
    {
      signal: stop.signal,
      onProgress: (progress) => {
        seen.push(progress)
        if (progress.rows > 0) stop.abort(new Error('enough'))
      },
    },
  )
  await expect(work).rejects.toThrow('enough')
  expect(reads.count).toBeLessThan(many)
  expect((await catalog.countTableRows({ id: ['t'] })).count).toBe(1)
  const { transaction_id } = seen[0]!
  expect((await catalog.describeTransaction({ id: [transaction_id!] })).status).toBe('Canceled')
})

test('the first progress comes with the transaction, before any row, and the rest goes up to all rows', async () => {
  await using catalog = await openCatalog('memory:')
  for (const operation of ['createTable', 'insertIntoTable'] as const) {
    const { rows, reads } = countedRows(many)
    const seen: Progress[] = []
    let readsAtFirst: number | undefined
    let described: Promise<{ status: string }> | undefined
    await catalog[operation](
      { id: ['t'], data: rows },
      {
        onProgress: (progress) => {
          seen.push(progress)
          readsAtFirst ??= reads.count
          described ??= catalog.describeTransaction({ id: [progress.transaction_id!] })
        },
      },
    )
    expect(readsAtFirst).toBe(0)
    expect((await described)!.status).toBe('Running')
    expect(seen[0]).toMatchObject({ rows: 0, transaction_id: expect.stringMatching(/./) })
    expect(seen.length).toBeGreaterThan(4)
    const done = seen.map((progress) => progress.rows)
    expect(done).toStrictEqual(done.toSorted((a, b) => a - b))
    expect(seen.at(-1)).toMatchObject({ rows: many, total: many })
    expect(new Set(seen.map((progress) => progress.transaction_id)).size).toBe(1)
  }
})

test('another process may cancel rows that are being built', async () => {
  await using catalog = await openCatalog('memory:')
  const { rows } = countedRows(many)
  let canceled: Promise<unknown> | undefined
  const work = catalog.createTable(
    { id: ['t'], data: rows },
    {
      onProgress: ({ transaction_id }) => {
        canceled ??= catalog.alterTransaction({
          id: [transaction_id!],
          actions: [{ setStatusAction: { status: 'Canceled' } }],
        })
      },
    },
  )
  await expect(work).rejects.toThrow(/was canceled/)
  await canceled
  expect((await catalog.listTables({ id: [] })).tables).toStrictEqual([])
})

test('what does not fit is told by its row, also among many', async () => {
  await using catalog = await openCatalog('memory:')
  const rows: Record<string, unknown>[] = Array.from({ length: 20_000 }, (_, i) => ({ x: i }))
  rows[17_000] = { x: 'seventeen' }
  await expect(catalog.createTable({ id: ['t'], data: rows })).rejects.toThrow(
    /Column "x" holds a number in row 0 and a string in row 17000/,
  )
  await catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
  await expect(catalog.insertIntoTable({ id: ['t'], data: rows })).rejects.toThrow(
    /Row 17000 has a string in column "x"/,
  )
  rows[17_000] = { y: 1 }
  await expect(catalog.insertIntoTable({ id: ['t'], data: rows })).rejects.toThrow(
    /Row 17000: Column "y" is not in/,
  )
})
