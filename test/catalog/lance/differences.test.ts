import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Table, tableFromIPC } from '@uwdata/flechette'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { toArrowTable } from '../../../src/engine/table/index.ts'
import { serve } from '../../../src/server/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { howLanceRuns, lance, lanceIt } from '../../support/lance-package.ts'
import { tellingCalls } from '../../support/last-calls.ts'
import {
  type ChangedRow,
  checkDifferences,
  checkKeyed,
  fits,
  fullRows,
  type HistoryRow,
  historyColumns,
  historyRows,
  type RowStep,
  rowSteps,
} from '../../support/row-histories.ts'
import { numbered } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'

limitEach(120)

/* The rows that differ between versions of tables of Lance, beside the oracle of our own tables. */

const table = (rows: readonly HistoryRow[]) => toArrowTable([...rows], { schema: { fields: historyColumns } })

const rowsOf = async (catalog: LocalCatalog, id: string[], version: number) =>
  tableFromIPC((await catalog.queryTable({ id, version, k: 1_000_000 })).data)

async function changed(catalog: LocalCatalog, id: string[], request: object): Promise<ChangedRow[]> {
  const { data } = await catalog.tableChanges({ id, ...request } as never)
  return tableFromIPC(data).toArray() as ChangedRow[]
}

const namesOf = ({ schema }: Table) => schema.fields.map(({ name }) => name)

/** Makes a version, or several, or none where the step does not fit. */
async function run(catalog: LocalCatalog, id: string[], step: RowStep, latest: Table, version: number) {
  const names = namesOf(latest)
  if (!fits(step, names)) return
  const data = () =>
    'rows' in step ? toArrowTable(fullRows(step.rows, names), { schema: latest.schema }) : undefined!
  switch (step.kind) {
    case 'insert':
      return catalog.insertIntoTable({ id, data: await data() })
    case 'merge':
      return catalog.mergeInsertIntoTable({
        id,
        on: 'k',
        data: await data(),
        when_matched_update_all: true,
        when_not_matched_insert_all: true,
      })
    case 'overwrite':
      return catalog.insertIntoTable({ id, data: await table(step.rows), mode: 'overwrite' })
    case 'delete':
      return catalog.deleteFromTable({ id, predicate: step.predicate })
    case 'update':
      return catalog.updateTable({ id, updates: [[step.column, step.value]], predicate: 'k % 3 = 0' })
    case 'restore':
      return catalog.restoreTable({ id, version: 1 + (step.which % version) })
    case 'optimize':
      return catalog.optimizeTable({ id })
    case 'extra':
      if (names.includes('extra')) return catalog.alterTableDropColumns({ id, columns: ['extra'] })
      return catalog.alterTableAddColumns({
        id,
        new_columns: [
          step.expression
            ? { name: 'extra', expression: step.expression }
            : { name: 'extra', data_type: { type: 'int32' } },
        ],
      } as never)
    case 'rename':
      return catalog.alterTableAlterColumns({
        id,
        alterations: [{ path: step.column, rename: `${step.column}2` }],
      })
    case 'cast':
      return catalog.alterTableAlterColumns({
        id,
        alterations: [{ path: step.column, data_type: { type: step.type } }],
      })
  }
}

describe('differences of rows of Lance', () => {
  lanceIt(
    'those of any two versions are those of their rows, and replayed they give the later one',
    async () => {
      const opened = closedAfterwards(await openCatalog(await freshFolder(), howLanceRuns))
      const catalog = tellingCalls(opened)
      let number = 0
      let pairs = 0
      let kinds = new Set<string>()
      const equal = (found: unknown, expected: unknown) => expect(found).toEqual(expected)
      await fc.assert(
        fc.asyncProperty(
          historyRows,
          fc.array(rowSteps, { minLength: 1, maxLength: 10 }),
          async (first, history) => {
            const id = [`t${number++}`]
            await catalog.createTable({ id, data: await table(first), properties: { format: 'lance' } })
            const versions: Table[] = [await rowsOf(catalog, id, 1)]
            for (const step of history) {
              await run(catalog, id, step, versions.at(-1)!, versions.length)
              const made = (await catalog.listTableVersions({ id })).versions.length
              while (versions.length < made) versions.push(await rowsOf(catalog, id, versions.length + 1))
            }
            const rows = versions.map((one) => one.toArray() as HistoryRow[])
            for (const [i, from] of versions.entries()) {
              for (const [j, to] of versions.entries()) {
                pairs++
                const columns = namesOf(to)
                const asked = { from: i + 1, to: j + 1 }
                const found = await changed(catalog, id, asked)
                checkDifferences(found, { from: rows[i]!, to: rows[j]! }, columns, equal)
                if (i < j && columns.includes('k') && namesOf(from).includes('k')) {
                  const keyed = () => changed(catalog, id, { ...asked, on: 'k' })
                  kinds = new Set([...kinds, ...(await checkKeyed(found, columns, keyed, equal))])
                }
              }
            }
          },
        ),
        { numRuns: 6 * Number(process.env.HISTORY_RUNS ?? 1) },
      )
      expect(pairs).toBeGreaterThan(100)
      expect([...kinds].sort()).toEqual([
        'delete',
        'insert',
        'refused',
        'update_postimage',
        'update_preimage',
      ])
    },
  )

  lanceIt('what both versions share is not read, and of other deletions the deleted rows alone', async () => {
    const catalog = closedAfterwards(
      await openCatalog(await freshFolder(), { cacheBytes: 0, ...howLanceRuns }),
    )
    const id = ['t']
    await catalog.createTable({ id, data: numbered(20_000), properties: { format: 'lance' } })
    const { location } = await catalog.describeTable({ id })
    const data = new URL(`${location}/data/`)
    const first = readdirSync(data)
    for (let i = 0; i < 3; i++) await catalog.insertIntoTable({ id, data: numbered(5, 20_000 + i * 5) })
    await catalog.deleteFromTable({ id, predicate: 'n IN (7, 19000, 20002)' })
    await catalog.insertIntoTable({ id, data: numbered(2, 90_000) })
    const numbers = async (request: object) =>
      (await changed(catalog, id, request)).map(({ n, _change_type }) => `${_change_type} ${n}`)
    expect(await numbers({ from: 4, to: 5 })).toEqual(['delete 7', 'delete 19000', 'delete 20002'])
    expect(await numbers({ from: 5, to: 3 })).toEqual([
      ...[10, 11, 12, 13, 14].map((n) => `delete ${20_000 + n}`),
      'insert 7',
      'insert 19000',
      'insert 20002',
    ])
    // The files are gone that all of these versions share.
    for (const name of first) rmSync(new URL(name, data))
    await expect(catalog.queryTable({ id, version: 4, k: 1, columns: ['n'] })).rejects.toThrow()
    expect(await numbers({ from: 3, to: 4 })).toEqual([10, 11, 12, 13, 14].map((n) => `insert ${20_000 + n}`))
    expect(await numbers({ from: 5, to: 6 })).toEqual(['insert 90000', 'insert 90001'])
    expect(await numbers({ from: 6, to: 6 })).toEqual([])
    await expect(numbers({ from: 4, to: 5 })).rejects.toMatchObject({ code: 'InvalidTableState' })
  })

  lanceIt(
    'many rows are compared in parts, over HTTP too, and an answer is cut by limit and offset',
    async () => {
      const catalog = closedAfterwards(await openCatalog(await freshFolder(), howLanceRuns))
      const id = ['t']
      await catalog.createTable({ id, data: numbered(30_000), properties: { format: 'lance' } })
      await catalog.updateTable({ id, updates: [['n', 'n + 100000']], predicate: 'n % 3 = 0' })
      await catalog.insertIntoTable({ id, data: numbered(50, 500_000) })
      await catalog.optimizeTable({ id })
      const asked = { from: 1, on: 'name' }
      const rows = await changed(catalog, id, asked)
      expect(rows.length).toBe(20_050)
      const kinds = rows.map(({ _change_type }) => _change_type)
      const runs = kinds.filter((kind, i) => kind !== kinds[i - 1])
      expect(runs).toEqual(['update_preimage', 'update_postimage', 'insert'])
      expect(runs.map((run) => kinds.filter((kind) => kind === run).length)).toEqual([10_000, 10_000, 50])
      for (const [offset, limit] of [
        [0, 5],
        [9_998, 4],
        [20_048, 7],
        [70_000, 1],
        [3, 0],
      ] as const) {
        expect(await changed(catalog, id, { ...asked, offset, limit })).toEqual(
          rows.slice(offset, offset + limit),
        )
      }
      await using server = await serve(catalog, { auth: false, port: 0, limits: { eventLoopDelay: 0 } })
      await using client = await openCatalog(server.url)
      expect(await changed(client as never, id, asked)).toEqual(rows)
    },
  )

  lanceIt(
    'versions past the catalog, tags, branches and stable row ids of clients are compared',
    async () => {
      const folder = await freshFolder()
      const db = await lance.connect(join(folder, 'sets'))
      const made = await db.createTable('s', [{ n: 1 }, { n: 2 }, { n: 3 }], {
        storageOptions: { newTableEnableStableRowIds: 'true' },
      })
      const catalog = closedAfterwards(await openCatalog(folder, howLanceRuns))
      const id = ['s']
      await catalog.registerTable({ id, location: pathToFileURL(join(folder, 'sets/s.lance')).href })
      await made.update({ where: 'n = 2', values: { n: 20 } })
      await made.delete('n = 1')
      await (await made.tags()).create('first', 1)
      const branch = await (await made.branches()).create('dev')
      await branch.add([{ n: 9 }])
      const all = async (request: object) =>
        (await changed(catalog, id, request)).map(({ n, _rowid, _change_type }) => [_change_type, n, _rowid])
      expect(await all({ from: 'first', with_row_id: true })).toEqual([
        ['delete', 1, 0],
        ['delete', 2, 1],
        ['insert', 20, 1],
      ])
      expect(await all({ from: 'latest', to: 'dev' })).toEqual([['insert', 9, undefined]])
      await expect(all({ from: 'none' })).rejects.toMatchObject({ code: 'TableTagNotFound' })
      await expect(all({ from: 99 })).rejects.toMatchObject({ code: 'TableVersionNotFound' })
      await made.optimize()
      expect(await all({ from: 3 })).toEqual([])
    },
  )

  lanceIt('the time that many columns take grows with their number', async () => {
    const catalog = closedAfterwards(await openCatalog(await freshFolder(), howLanceRuns))
    let tables = 0
    const timeOf = async (columns: number) => {
      const id = [`t${tables++}`]
      const row = Object.fromEntries(Array.from({ length: columns }, (_, i) => [`c${i}`, i]))
      await catalog.createTable({ id, data: [row], properties: { format: 'lance' } })
      await catalog.insertIntoTable({ id, data: [row] })
      const before = process.cpuUsage()
      expect(await changed(catalog, id, { from: 1 })).toHaveLength(1)
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
    await timeOf(10)
    const few = await timeOf(600)
    // Four times as many columns took ten times as long when Lance looked each name up among all.
    // A collection of garbage, or an index of the machine's own, may come in between, but not twice.
    const many = Math.min(await timeOf(2_400), await timeOf(2_400))
    expect(many).toBeLessThan(7 * few)
  })

  lanceIt('what cannot be compared is refused, and damage is told', async () => {
    const catalog = closedAfterwards(await openCatalog(await freshFolder(), howLanceRuns))
    const id = ['t']
    await catalog.createTable({
      id,
      data: numbered(10),
      properties: { format: 'lance' },
    })
    await catalog.insertIntoTable({ id, data: numbered(1, 10) })
    const refused = (request: object, code: string, words: string | RegExp) =>
      expect(changed(catalog, id, request)).rejects.toMatchObject({
        code,
        message: expect.stringMatching(words),
      })
    await refused({ from: 1, on: 'none' }, 'TableColumnNotFound', '"none"')
    await refused({ from: 1, on: 'n', columns: ['name'] }, 'InvalidInput', 'leaves out')
    await refused({ from: 'x@1' }, 'TableBranchNotFound', '"x"')
    await refused({ from: '@1' }, 'InvalidInput', 'begins with @')
    const { versions } = await catalog.listTableVersions({ id })
    const path = `/${versions[0]!.manifest_path}`
    const whole = readFileSync(path)
    // The end stays, by which a manifest is known.
    for (const cut of [20, 200]) {
      writeFileSync(path, Buffer.concat([whole.subarray(cut)]))
      await refused({ from: 1, to: 2 }, 'InvalidTableState', /manifest|Lance cannot read/)
    }
    writeFileSync(path, whole)
    expect(await changed(catalog, id, { from: 1 })).toHaveLength(1)
  })
})
