import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Table } from '@lancedb/lancedb'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { type CatalogOptions, type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { datasetAt, howLanceRuns, lance, lanceIt } from '../../support/lance-package.ts'
import { countOf, rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'
import { pythonWith, releases } from './clients/python.ts'
import { servedForLance } from './served.ts'

limitEach(120)

/* Rows that Lance wrote, changed by the catalog through Lance's own package, beside clients of Lance. */

async function managed(options: CatalogOptions = {}) {
  const folder = join(await freshFolder(), 'a catalog')
  const catalog = closedAfterwards(
    await openCatalog(folder, { managedVersioning: true, ...howLanceRuns, ...options }),
  )
  const server = await servedForLance(catalog)
  const db = await lance.connectNamespace('rest', { uri: server.url })
  return { catalog, server, db }
}

interface Row {
  readonly n: number
  readonly name: string
}

const made = (n: number): Row => ({ n, name: `row ${n}` })
const some = (from: number, count: number) => Array.from({ length: count }, (_, i) => made(from + i))

type Change =
  | { readonly kind: 'insert'; readonly from: number; readonly count: number }
  | { readonly kind: 'delete'; readonly below: number }
  | { readonly kind: 'update'; readonly at: number; readonly by: number }
  | { readonly kind: 'merge'; readonly from: number; readonly count: number }

const changes: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    kind: fc.constant('insert' as const),
    from: fc.nat(50),
    count: fc.integer({ min: 1, max: 9 }),
  }),
  fc.record({ kind: fc.constant('delete' as const), below: fc.nat(30) }),
  fc.record({ kind: fc.constant('update' as const), at: fc.nat(50), by: fc.integer({ min: 1, max: 100 }) }),
  fc.record({ kind: fc.constant('merge' as const), from: fc.nat(50), count: fc.integer({ min: 1, max: 9 }) }),
)

/** What a change means for rows. */
function after(rows: readonly Row[], change: Change): Row[] {
  if (change.kind === 'insert') return [...rows, ...some(change.from, change.count)]
  if (change.kind === 'delete') return rows.filter(({ n }) => n >= change.below)
  if (change.kind === 'update')
    return rows.map((row) => (row.n === change.at ? { ...row, n: row.n + change.by } : row))
  const isMerged = ({ n }: Row) => n >= change.from && n < change.from + change.count
  const there = new Set(rows.map(({ n }) => n))
  return [
    ...rows.map((row) => (isMerged(row) ? { ...row, name: 'merged' } : row)),
    ...some(change.from, change.count).flatMap(({ n }) => (there.has(n) ? [] : [{ n, name: 'merged' }])),
  ]
}

const merged = (from: number, count: number) => some(from, count).map(({ n }) => ({ n, name: 'merged' }))

async function byCatalog(catalog: LocalCatalog, id: string[], change: Change): Promise<number> {
  if (change.kind === 'insert') {
    const { version } = await catalog.insertIntoTable({ id, data: some(change.from, change.count) as never })
    return version
  }
  if (change.kind === 'delete')
    return (await catalog.deleteFromTable({ id, predicate: `n < ${change.below}` })).version
  if (change.kind === 'update') {
    const updates: [string, string][] = [['n', `n + ${change.by}`]]
    return (await catalog.updateTable({ id, updates, predicate: `n = ${change.at}` })).version
  }
  const { version } = await catalog.mergeInsertIntoTable({
    id,
    on: 'n',
    when_matched_update_all: true,
    when_not_matched_insert_all: true,
    data: merged(change.from, change.count) as never,
  })
  return version!
}

async function byClient(table: Table, change: Change): Promise<number> {
  await table.checkoutLatest()
  if (change.kind === 'insert') await table.add(some(change.from, change.count).map((row) => ({ ...row })))
  else if (change.kind === 'delete') await table.delete(`n < ${change.below}`)
  else if (change.kind === 'update')
    await table.update({ where: `n = ${change.at}`, valuesSql: { n: `n + ${change.by}` } })
  else {
    const merge = table.mergeInsert('n').whenMatchedUpdateAll().whenNotMatchedInsertAll()
    await merge.execute(merged(change.from, change.count))
  }
  return table.version()
}

/** Rows that name no column. */
async function* nameless() {
  yield {}
}

const sorted = (rows: readonly (readonly [number, string])[]) =>
  rows.map((row) => JSON.stringify(row)).sort((a, b) => (a < b ? -1 : 1))
const cells = (rows: readonly Record<string, unknown>[]) =>
  sorted(rows.map(({ n, name }) => [Number(n), String(name)] as const))

describe('changes of rows of Lance', () => {
  lanceIt(
    'the catalog and clients change one table in turns, and each version is as a model says',
    async () => {
      const { catalog, server, db } = await managed()
      const python = await pythonWith(releases[0])
      if (python === undefined)
        console.warn('Lance for Python is left out: `npm run soak -- --only lance` brings it.')
      let number = 0
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(fc.boolean(), changes), { minLength: 2, maxLength: 7 }),
          async (asked) => {
            const name = `t${number++}`
            // Handles of clients grow stale while the catalog changes the table.
            const table = await db.createTable(
              name,
              some(0, 5).map((row) => ({ ...row })),
            )
            const versions = [some(0, 5)]
            for (const [isCatalogs, change] of asked) {
              const before = versions.length
              const version = isCatalogs
                ? await byCatalog(catalog, [name], change)
                : await byClient(table, change)
              const model = after(versions.at(-1)!, change)
              // A change without effect makes no version, or one with the same rows: as Lance decides.
              expect(version - before).toBeGreaterThanOrEqual(0)
              if (version === before) expect(cells(model as never)).toEqual(cells(versions.at(-1)! as never))
              while (versions.length < version) versions.push(model)
            }
            const { versions: recorded } = await catalog.listTableVersions({ id: [name] })
            expect(recorded.length).toBe(versions.length)
            for (const [i, model] of versions.entries()) {
              expect(cells(await rowsOf(catalog, [name], { version: i + 1 }))).toEqual(cells(model as never))
              await table.checkout(i + 1)
              expect(cells((await table.query().toArray()) as never)).toEqual(cells(model as never))
            }
            if (number > 1 || python === undefined) return
            const script = fileURLToPath(new URL('clients/read.py', import.meta.url))
            const { stdout } = await promisify(execFile)(python, [script, server.url, name])
            const read = stdout.trim().split('\n')
            expect(read.map((line) => sorted(JSON.parse(line)))).toEqual(
              versions.map((model) => cells(model as never)),
            )
          },
        ),
        { numRuns: 4, seed: 20_261_128 },
      )
    },
  )

  lanceIt('no update is lost, whoever races, and no record is made twice', async () => {
    const seen: string[] = []
    const { catalog, db } = await managed({
      authorize: ({ operation }) => {
        seen.push(operation)
        return true
      },
    })
    const table = await db.createTable('t', [{ n: 0, name: 'counter' }])
    const id = ['t']
    seen.length = 0
    const ours = 8
    const theirs = 8
    const update = { id, updates: [['n', 'n + 1'] as [string, string]] }
    await Promise.all([
      ...Array.from({ length: ours }, () => catalog.updateTable(update)),
      (async () => {
        for (let i = 0; i < theirs; i++) {
          await table.checkoutLatest()
          await table.update({ valuesSql: { n: 'n + 1' } })
        }
      })(),
    ])
    expect(await rowsOf(catalog, id)).toEqual([{ n: ours + theirs, name: 'counter' }])
    // Clients ask by `createTableVersion`, and the first one made the table.
    // Clients ask by `createTableVersion`, once for each try.
    expect(seen.filter((operation) => operation === 'updateTable').length).toBe(ours)
    const { transactions } = await catalog.listTransactions({ limit: 100 })
    const named = (transactions as readonly { operation?: string }[]).map(({ operation }) => operation)
    expect(named.filter((operation) => operation === 'UpdateTable').length).toBe(ours)
    expect(named.filter((operation) => operation === 'CreateTableVersion').length).toBe(theirs + 1)
  })

  lanceIt('a transaction changes tables of both engines, at once or not at all', async () => {
    const { catalog, db } = await managed()
    const table = await db.createTable(
      'lances',
      some(0, 5).map((row) => ({ ...row })),
    )
    await catalog.createTable({ id: ['own'], data: some(0, 5) as never })
    const change = async (tx: Pick<LocalCatalog, 'insertIntoTable' | 'deleteFromTable' | 'updateTable'>) => {
      for (const name of ['own', 'lances']) {
        await tx.insertIntoTable({ id: [name], data: some(10, 3) as never })
        await tx.deleteFromTable({ id: [name], predicate: 'n < 2' })
        await tx.updateTable({ id: [name], updates: [['name', "'late'"]], predicate: 'n = 10' })
      }
    }
    const counts = async (from: Parameters<typeof countOf>[0]) => [
      await countOf(from, ['own']),
      await countOf(from, ['lances']),
    ]
    const undone = catalog.transaction(async (tx) => {
      await change(tx as never)
      expect(await counts(tx as never)).toEqual([6, 6])
      expect(await counts(catalog)).toEqual([5, 5])
      throw new Error('never mind')
    })
    await expect(undone).rejects.toThrow('never mind')
    expect(await counts(catalog)).toEqual([5, 5])
    await catalog.transaction((tx) => change(tx as never))
    expect(await counts(catalog)).toEqual([6, 6])
    expect(cells(await rowsOf(catalog, ['lances']))).toEqual(cells(await rowsOf(catalog, ['own'])))
    await table.checkoutLatest()
    expect(await table.countRows("name = 'late'")).toBe(1)
  })

  lanceIt('a merge deletes the rows that match, as one of our own tables does', async () => {
    const catalog = closedAfterwards(await openCatalog(await freshFolder()))
    const key = fc.record({
      n: fc.option(fc.constantFrom(0, 1, 2, 0.1)),
      'the word': fc.option(fc.constantFrom('a', "it's", '`', 'é', '')),
      yes: fc.boolean(),
    })
    const names = ['n', 'the word', 'yes'] as const
    const on = fc.shuffledSubarray([...names], { minLength: 1 })
    const wide = { n: -1, 'the word': 'x', yes: true }
    let number = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(key, { maxLength: 12 }),
        fc.array(key, { maxLength: 4 }),
        on,
        async (rows, keys, on) => {
          const name = `m${number++}`
          const answers: unknown[] = []
          for (const format of ['arrow', 'lance']) {
            const id = [`${format}_${name}`]
            await catalog.createTable({ id, data: [wide, ...rows], properties: { format } })
            const { num_deleted_rows, num_inserted_rows, num_updated_rows } =
              await catalog.mergeInsertIntoTable({
                id,
                on,
                when_matched_delete: true,
                data: [{ ...wide, n: -2 }, ...keys],
              })
            const counts = [num_deleted_rows, num_inserted_rows, num_updated_rows]
            answers.push({
              counts,
              left: (await rowsOf(catalog, id)).map((row) => JSON.stringify(row)).sort(),
            })
          }
          expect(answers[1]).toEqual(answers[0])
        },
      ),
      { numRuns: 12 },
    )
  })

  lanceIt('columns come and go, and what does not fit is refused and changes nothing', async () => {
    const root = await freshFolder()
    const catalog = closedAfterwards(await openCatalog(root, howLanceRuns))
    await mkdir(join(root, 'sets'))
    const location = await datasetAt(
      join(root, 'sets', 'a set'),
      some(0, 3).map((row) => ({ ...row })),
    )
    const id = ['t']
    await catalog.registerTable({ id, location })
    await catalog.alterTableAddColumns({ id, new_columns: [{ name: 'twice', expression: 'n * 2' }] })
    await catalog.alterTableAddColumns({ id, new_columns: [{ name: 'later', data_type: 'int64' }] })
    await catalog.alterTableDropColumns({ id, columns: ['name'] })
    const { version } = await catalog.insertIntoTable({ id, data: [{ n: 7 }] })
    expect(version).toBe(5)
    expect(await rowsOf(catalog, id, { filter: 'n > 1', order_by: ['n'] })).toEqual([
      { n: 2, twice: 4, later: null },
      { n: 7, twice: null, later: null },
    ])
    const refused = async (work: Promise<unknown>, code: string) =>
      expect(await work.catch(({ code }: { code: string }) => code)).toBe(code)
    await refused(catalog.insertIntoTable({ id, data: [{ n: 'one' }] }), 'TableSchemaValidationError')
    await refused(catalog.insertIntoTable({ id, data: [{ other: 1 }] }), 'TableSchemaValidationError')
    await refused(catalog.insertIntoTable({ id, data: [{}, {}] }), 'InvalidInput')
    await refused(catalog.insertIntoTable({ id, data: nameless() }), 'InvalidInput')
    await refused(catalog.deleteFromTable({ id, predicate: 'other > 1' }), 'InvalidInput')
    await refused(catalog.updateTable({ id, updates: [['n', 'other']] }), 'InvalidInput')
    await refused(catalog.alterTableDropColumns({ id, columns: ['other'] }), 'TableColumnNotFound')
    const merge = {
      id,
      on: 'n',
      when_matched_delete: true,
      when_not_matched_insert_all: true,
      data: [{ n: 7 }],
    }
    await refused(catalog.mergeInsertIntoTable(merge), 'Unsupported')
    const aborted = catalog.deleteFromTable(
      { id, predicate: 'n > 1' },
      { signal: AbortSignal.abort('enough') },
    )
    await expect(aborted).rejects.toBe('enough')
    expect((await catalog.describeTable({ id, load_detailed_metadata: true })).version).toBe(5)
    await catalog.insertIntoTable({ id, data: [{ q: 1 }], mode: 'Overwrite' })
    expect(await rowsOf(catalog, id)).toEqual([{ q: 1 }])
    expect(await countOf(catalog, id, { version: 5 })).toBe(4)
  })
})
