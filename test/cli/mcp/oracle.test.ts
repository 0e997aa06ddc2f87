import fc from 'fast-check'
import { expect, it } from 'vitest'
import { rowsOfParts } from '../../../src/cli/rows/arrow.ts'
import {
  type Catalog,
  CatalogError,
  type MemorySnapshot,
  type OperationName,
  openCatalog,
} from '../../../src/tabularium/index.ts'
import { limitEach } from '../../support/time-limit.ts'
import { connected, type ToolClient } from './clients.ts'

limitEach(120)

/*
 * Random calls of tools beside the operations themselves. The oracle is a second catalog: a snapshot before each change
 * is what `undo` goes back to, and a snapshot of the last commit is what others see and what `rollback` goes back to.
 */

type Fields = Readonly<Record<string, unknown>>

type Step =
  | { readonly kind: 'operation'; readonly name: OperationName; readonly request: Fields }
  | { readonly kind: 'commit' | 'undo' | 'rollback' }

const table = fc.constantFrom(['a'], ['a'], ['b'], ['n', 'a'], ['none', 'a'])
const row = fc.record({ k: fc.integer({ min: 0, max: 5 }), t: fc.constantFrom('x', 'y', null) })
const data = fc.array(row, { minLength: 1, maxLength: 4 })
const predicate = fc.constantFrom('k > 2', "t = 'x'", 't IS NULL', 'k = 1 OR k = 3', 'missing > 1', 'k >')

const op = <T extends Record<string, fc.Arbitrary<unknown>>>(name: OperationName, fields: T) =>
  fc.record(fields).map((request): Step => ({ kind: 'operation', name, request: request as Fields }))

const changes = [
  op('createNamespace', { id: fc.constant(['n']) }),
  op('createTable', { id: table, data, mode: fc.constantFrom('Create', 'ExistOk', 'Overwrite') }),
  op('insertIntoTable', { id: table, data }),
  op('deleteFromTable', { id: table, predicate }),
  op('updateTable', { id: table, predicate, updates: fc.constant([['k', 'k + 1']]) }),
  op('mergeInsertIntoTable', {
    id: table,
    on: fc.constant('k'),
    data: data.map((rows) => [...new Map(rows.map((one) => [one.k, one])).values()]),
    when_matched_update_all: fc.boolean(),
    when_not_matched_insert_all: fc.constant(true),
  }),
  op('alterTableAddColumns', {
    id: table,
    new_columns: fc.constant([{ name: 'twice', expression: 'k * 2' }]),
  }),
  op('alterTableDropColumns', { id: table, columns: fc.constant(['twice']) }),
  op('renameTable', { id: table, new_table_name: fc.constantFrom('a', 'b', 'c') }),
  op('dropTable', { id: table }),
  op('dropNamespace', { id: fc.constant(['n']), behavior: fc.constantFrom('Restrict', 'Cascade') }),
]

const reads = [
  op('listNamespaces', { id: fc.constant([]) }),
  op('listTables', { id: fc.constantFrom([], ['n'], ['none']), limit: fc.integer({ min: 1, max: 3 }) }),
  op('describeTable', { id: table }),
  op('countTableRows', { id: table, predicate: fc.option(predicate) }),
  op('queryTable', {
    id: table,
    filter: fc.option(predicate),
    columns: fc.option(fc.constantFrom(['k'], ['t', 'k'], ['missing'])),
    order_by: fc.option(fc.constantFrom(['k desc', 't'], ['t nulls first', 'k'])),
    limit: fc.option(fc.integer({ min: 0, max: 5 })),
    offset: fc.option(fc.integer({ min: 0, max: 3 })),
  }),
]

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.oneof(...changes) },
  { weight: 8, arbitrary: fc.oneof(...reads) },
  { weight: 5, arbitrary: fc.constant<Step>({ kind: 'undo' }) },
  { weight: 2, arbitrary: fc.constant<Step>({ kind: 'commit' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'rollback' }) },
)

const toolOf = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The parts of an answer that are the same in both catalogs: no ids, no places, and no numbers of versions. */
function steady(name: OperationName, answer: Fields): unknown {
  switch (name) {
    case 'describeTable':
      return { schema: answer.schema }
    case 'listTables':
      return { tables: answer.tables, more: answer.page_token !== undefined }
    case 'listNamespaces':
      return { namespaces: answer.namespaces }
    case 'countTableRows':
      return { count: answer.count }
    case 'queryTable':
      return { rows: answer.rows, more: answer.more }
    case 'insertIntoTable':
      return { inserted: answer.num_inserted_rows }
    case 'deleteFromTable':
      return { deleted: answer.num_deleted_rows }
    case 'updateTable':
      return { updated: answer.updated_rows }
    case 'mergeInsertIntoTable':
      return { updated: answer.num_updated_rows, inserted: answer.num_inserted_rows }
    default:
      return {}
  }
}

/** What an operation answers, in the form of the tool. */
async function direct(catalog: Catalog, name: OperationName, request: Fields): Promise<unknown> {
  const run = catalog[name] as unknown as (request: Fields) => Promise<Fields>
  try {
    if (name === 'queryTable') {
      const { limit, ...all } = request
      const rows: unknown[] = []
      for await (const part of rowsOfParts((await run({ ...all, limit: null })).data as Uint8Array))
        rows.push(...part.rows)
      const most = (limit as number | null) ?? 100
      return steady(name, { rows: rows.slice(0, most), more: rows.length > most })
    }
    const detailed = name === 'describeTable' ? { load_detailed_metadata: true } : {}
    const answer = await run({ ...detailed, ...request })
    const named =
      name === 'listTables' ? (answer.tables as string[]).map((text) => text.split('$')) : answer.tables
    return steady(name, { ...answer, tables: named })
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    return error.code
  }
}

async function throughTool(tool: ToolClient, name: OperationName, request: Fields): Promise<unknown> {
  const { text, isError } = await tool.call(toolOf(name), request)
  return isError ? text.split(':')[0] : steady(name, JSON.parse(text))
}

async function contents(catalog: Catalog): Promise<unknown> {
  const { tables } = await catalog.listTables({ id: [] })
  const rows = await Promise.all(
    tables.map(async (name) => {
      const found: unknown[] = []
      for await (const one of catalog.rows({ id: name.split('$') })) found.push(one)
      return [name, found]
    }),
  )
  return [rows, (await catalog.listNamespaces({ id: [] })).namespaces]
}

it('tools answer as the operations do, and commit, undo and rollback do what they say', async () => {
  const trial = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
    await using catalog = await openCatalog('memory:')
    await using oracle = await openCatalog('memory:')
    for (const one of [catalog, oracle]) {
      await one.createNamespace({ id: ['n'] })
      for (const id of [['a'], ['n', 'a']]) await one.createTable({ id, data: [{ k: 1, t: 'x' }] })
    }
    const tool = await connected(catalog)
    let committed = oracle.snapshot()
    let before: MemorySnapshot[] = []
    for (const one of steps) {
      if (one.kind === 'operation') {
        const snapshot = oracle.snapshot()
        const wanted = await direct(oracle, one.name, one.request)
        expect(await throughTool(tool, one.name, one.request)).toEqual(wanted)
        const isChange = !/^(list|describe|count|query)/.test(one.name)
        if (isChange && typeof wanted !== 'string') before.push(snapshot)
      } else {
        const answer = await tool.ask(one.kind)
        if (one.kind === 'commit') {
          expect(answer.committed_changes).toBe(before.length)
          committed = oracle.snapshot()
          before = []
        } else if (one.kind === 'rollback') {
          expect(answer.undone_changes).toBe(before.length)
          oracle.restore(committed)
          before = []
        } else {
          const last = before.pop()
          expect(answer.undone === null).toBe(last === undefined)
          if (last) oracle.restore(last)
        }
        expect(answer.uncommitted_changes).toBe(before.length)
        // Others see the last commit.
        const mine = oracle.snapshot()
        oracle.restore(committed)
        expect(await contents(catalog)).toEqual(await contents(oracle))
        oracle.restore(mine)
      }
    }
    await tool.client.close()
    await expect
      .poll(async () => (await catalog.listTransactions({ status: ['Running'] })).transactions)
      .toEqual([])
    oracle.restore(committed)
    expect(await contents(catalog)).toEqual(await contents(oracle))
  })
  await fc.assert(trial, { numRuns: 5 * Number(process.env.HISTORY_RUNS ?? 1) })
})
