import type { Connection, Table } from '@lancedb/lancedb'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Served, served } from './support/served.ts'

/*
 * What LanceDB's remote client sends for computed columns, orders and row ids is answered as its local table does it.
 */

let server: Served
let remote: Table
let local: Table
let db: Connection
let other: Connection & AsyncDisposable

const data = Array.from({ length: 12 }, (_, i) => ({ id: i, score: (i * 7) % 5, name: `name ${i % 3}` }))

beforeAll(async () => {
  server = await served('memory')
  db = await server.remote()
  remote = await db.createTable('t', data)
  await remote.delete('id = 4')
  const { connect } = await import('@lancedb/lancedb')
  other = (await connect('memory://')) as Connection & AsyncDisposable
  local = await other.createTable('t', data)
  await local.delete('id = 4')
})
afterAll(async () => {
  other.close()
  await server[Symbol.asyncDispose]()
})

type Asked = (table: Table) => { toArray(): Promise<unknown[]> }
const ordered = (table: Table, order: unknown) => table.query().orderBy(order as never)

const cases: Readonly<Record<string, Asked>> = {
  'aliases of expressions': (table) =>
    table.query().select({ id: 'id', next: 'id + 1', up: "upper(name) || '!'" }).where('score > 2'),
  'an order': (table) => ordered(table, [{ columnName: 'score', ascending: false }, { columnName: 'id' }]),
  'an order with a limit and an offset': (table) =>
    ordered(table, [
      { columnName: 'name', nullsFirst: true },
      { columnName: 'id', ascending: false },
    ])
      .limit(4)
      .offset(1),
  'row ids': (table) => table.query().select(['id']).withRowId(),
  'rows by ids': (table) => (table as never as Takes).takeRowIds([3, 4, 7, 99]).select(['id', 'name']),
  'rows by offsets': (table) => (table as never as Takes).takeOffsets([0, 4, 5]).select(['id']),
}

interface Takes {
  takeRowIds(ids: number[]): { select(columns: string[]): { toArray(): Promise<unknown[]> } }
  takeOffsets(offsets: number[]): { select(columns: string[]): { toArray(): Promise<unknown[]> } }
}

it.each(Object.keys(cases))('%s', async (name) => {
  const plain = async (table: Table) =>
    JSON.parse(
      JSON.stringify(await cases[name]!(table).toArray(), (_, v) => (typeof v === 'bigint' ? Number(v) : v)),
    )
  const expected = await plain(local)
  expect(expected.length).toBeGreaterThan(0)
  expect(await plain(remote)).toEqual(expected)
})
