import { describe, expect, it } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { connected } from './clients.ts'

const id = ['t']

async function seeded() {
  const catalog = await openCatalog('memory:')
  await catalog.createTable({ id, data: [{ n: 1 }] })
  const count = async () => (await catalog.countTableRows({ id })).count
  const running = async () => (await catalog.listTransactions({ status: ['Running'] })).transactions
  return { catalog, count, running }
}

describe('a connection', () => {
  it('sees its own changes, and what others commit', async () => {
    const { catalog, count } = await seeded()
    await catalog.createTable({ id: ['z'], data: [{ n: 1 }] })
    const tool = await connected(catalog)
    await tool.ask('insert_into_table', { id, data: [{ n: 2 }] })
    expect(await tool.ask('count_table_rows', { id })).toEqual({ count: 2 })
    // A refused change leaves the others.
    expect(await tool.refused('create_table', { id: ['z'], data: [{ n: 2 }] })).toMatch(
      /^TableAlreadyExists: /,
    )
    await catalog.insertIntoTable({ id, data: [{ n: 3 }] })
    await catalog.createTable({ id: ['other'], data: [{ n: 3 }] })
    expect(await tool.ask('list_tables', { id: [] })).toEqual({ tables: [['other'], ['t'], ['z']] })
    expect(await tool.ask('commit')).toEqual({ committed_changes: 1, uncommitted_changes: 0 })
    expect(await tool.ask('query_table', { id, order_by: ['n'] })).toEqual({
      rows: [{ n: 1 }, { n: 2 }, { n: 3 }],
      more: false,
    })
    expect(await count()).toBe(3)
  })

  it('keeps no transaction after a first change that was refused', async () => {
    const { catalog, running } = await seeded()
    const tool = await connected(catalog)
    expect(await tool.refused('create_table', { id, data: [{ n: 1 }] })).toMatch(/^TableAlreadyExists: /)
    await catalog.insertIntoTable({ id, data: [{ n: 2 }] })
    expect(await tool.ask('count_table_rows', { id })).toEqual({ count: 2 })
    expect(await running()).toEqual([])
  })

  it('is told when others changed what its changes depend on, and begins anew', async () => {
    const { catalog } = await seeded()
    const tool = await connected(catalog)
    await tool.ask('create_namespace', { id: ['mine'] })
    await tool.ask('create_table', { id: ['u'], data: [{ n: 2 }] })
    await catalog.createTable({ id: ['u'], data: [{ n: 9 }] })
    expect(await tool.refused('commit')).toMatch(
      /^ConcurrentModification: .* The 2 uncommitted changes .* are gone\./,
    )
    expect((await catalog.listNamespaces({ id: [] })).namespaces).toEqual([])
    expect(await tool.ask('commit')).toEqual({ committed_changes: 0, uncommitted_changes: 0 })
    await tool.ask('insert_into_table', { id: ['u'], data: [{ n: 2 }] })
    expect(await tool.ask('commit')).toEqual({ committed_changes: 1, uncommitted_changes: 0 })
    expect(await tool.ask('count_table_rows', { id: ['u'] })).toEqual({ count: 2 })
  })

  it.each(['rolled back', 'canceled'])('is told when its transaction was %s', async (how) => {
    const { catalog, count } = await seeded()
    const tool = await connected(catalog)
    await tool.ask('insert_into_table', { id, data: [{ n: 2 }] })
    const [open] = await catalog
      .transactions({ status: ['Running'] })
      .next()
      .then(({ value }) => [value])
    const transaction = [(open as { transaction_id: string }).transaction_id]
    if (how === 'canceled')
      await catalog.alterTransaction({
        id: transaction,
        actions: [{ setStatusAction: { status: 'Canceled' } }],
      })
    else await catalog.rollbackTransaction({ id: transaction })
    expect(await tool.refused('count_table_rows', { id })).toMatch(
      /^(ConcurrentModification|TransactionNotFound): .* The 1 uncommitted changes of this connection are gone\./,
    )
    expect(await tool.ask('count_table_rows', { id })).toEqual({ count: 1 })
    expect(await count()).toBe(1)
  })

  it('undoes one change after the other, though others went on meanwhile', async () => {
    const { catalog, running } = await seeded()
    const tool = await connected(catalog)
    for (const n of [2, 3, 4]) await tool.ask('create_table', { id: [`t${n}`], data: [{ n }] })
    await catalog.createTable({ id: ['other'], data: [{ n: 0 }] })
    expect(await tool.ask('undo')).toEqual({ undone: 'create_table', uncommitted_changes: 2 })
    // Another takes a name that an earlier change took.
    await catalog.createTable({ id: ['t2'], data: [{ n: 0 }] })
    expect(await tool.refused('undo')).toMatch(
      /^TableAlreadyExists: undo repeats .* Nothing was taken back\./,
    )
    expect((await running()).length).toBe(1)
    expect(await tool.ask('rollback')).toEqual({ undone_changes: 2, uncommitted_changes: 0 })
    expect(await tool.ask('undo')).toEqual({ undone: null, uncommitted_changes: 0 })
    expect(await running()).toEqual([])
  })

  it('remembers so many changes for undo, and more for commit', async () => {
    const { catalog } = await seeded()
    const tool = await connected(catalog)
    for (let i = 0; i <= 1_000; i++) await tool.ask('create_namespace', { id: [`n${i}`] })
    expect(await tool.refused('undo')).toMatch(/^InvalidInput: undo repeats .* Use rollback/)
    expect(await tool.ask('commit')).toEqual({ committed_changes: 1_001, uncommitted_changes: 0 })
    await tool.ask('drop_namespace', { id: ['n0'] })
    expect(await tool.ask('undo')).toEqual({ undone: 'drop_namespace', uncommitted_changes: 0 })
  })

  it('leaves nothing when it ends, also amid a call', async () => {
    const { catalog, count, running } = await seeded()
    const tool = await connected(catalog, { report: () => {} })
    await tool.ask('insert_into_table', { id, data: [{ n: 2 }] })
    const calls = Array.from({ length: 20 }, (_, n) => tool.call('insert_into_table', { id, data: [{ n }] }))
    void Promise.allSettled(calls)
    await tool.client.close()
    await expect.poll(running).toEqual([])
    expect(await count()).toBe(1)
  })

  it('inserts values of every type from text', async () => {
    const { catalog } = await seeded()
    const tool = await connected(catalog)
    const types = {
      at: 'timestamp:us:UTC',
      day: 'date32:day',
      price: 'decimal:128:10:2',
      bytes: 'binary',
      big: 'int64',
    }
    const fields = Object.entries(types).map(([name, type]) => ({ name, nullable: true, type: { type } }))
    const row = {
      at: '2024-01-01T00:00:00.000Z',
      day: '2024-02-29',
      price: '12.50',
      bytes: 'AAEC',
      big: '9007199254740993',
    }
    await tool.ask('create_table', { id: ['typed'], data: [], schema: { fields } })
    await tool.ask('insert_into_table', { id: ['typed'], data: [row] })
    await tool.ask('commit')
    const { text } = await tool.call('query_table', { id: ['typed'] })
    expect(text).toBe(
      JSON.stringify({ rows: [{ ...row, big: 0 }], more: false }).replace('"big":0', `"big":${row.big}`),
    )
  })
})
