import { describe, expect, it } from 'vitest'
import { keys, type TransactionRecord } from '../../../src/base/store/records.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type Catalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, eachCatalog } from '../../support/catalogs.ts'
import { fails } from '../../support/refusals.ts'

const id = ['t']

/** The operations and statuses of transactions, all pages of them. */
async function all(catalog: Catalog, request: Parameters<Catalog['transactions']>[0] = {}) {
  const found: string[] = []
  for await (const { operation, status } of catalog.transactions(request))
    found.push(`${operation} ${status}`)
  return found
}

eachCatalog((open) => {
  it('knows of one creation where several were content with an existing table', async () => {
    const catalog = await open()
    const create = () => catalog.createTable({ id, data: [{ x: 1 }], mode: 'ExistOk' })
    const made = await Promise.all([create(), create(), create(), create()])
    expect(made.filter(({ transaction_id }) => transaction_id !== undefined)).toHaveLength(1)
    expect(await all(catalog)).toEqual(['CreateTable Succeeded'])
    expect(await catalog.countTableRows({ id })).toEqual({ count: 1 })
  })

  it('lists what was done, the newest first, with what describing tells', async () => {
    const catalog = await open()
    await catalog.createTable({ id, data: [{ x: 1 }] })
    const failed = catalog.deleteFromTable({ id, predicate: 'none > 1' })
    await expect(failed).rejects.toMatchObject({ code: 'InvalidInput' })
    const { transaction_id } = await catalog.createTableTag({ id, tag: 'a', version: 1 })
    const { transactions, ...more } = await catalog.listTransactions({})
    expect(more).not.toHaveProperty('page_token')
    expect(transactions.map(({ operation, status }) => [operation, status])).toEqual([
      ['CreateTableTag', 'Succeeded'],
      ['DeleteFromTable', 'Failed'],
      ['CreateTable', 'Succeeded'],
    ])
    const [tagged, deleted] = transactions
    const { properties } = await catalog.describeTransaction({ id: [transaction_id!] })
    expect(tagged).toEqual({
      transaction_id,
      status: 'Succeeded',
      operation: properties.operation,
      subject: id,
      created_at: properties.created_at,
      finished_at: properties.finished_at,
      properties: {},
      changes: [{ operation: 'CreateTableTag', kind: 'table', id, effect: 'changed' }],
      num_changes: 1,
    })
    expect(deleted).toMatchObject({ failure: expect.stringContaining('none'), failure_code: 'InvalidInput' })
  })

  it('in pages, by status, and by when they began', async () => {
    const catalog = await open()
    for (const name of ['a', 'b', 'c', 'd', 'e']) await catalog.declareTable({ id: [name] })
    const subjects: string[][] = []
    let page_token: string | undefined
    do {
      const page = await catalog.listTransactions({ limit: 2, page_token })
      expect(page.transactions.length).toBeLessThanOrEqual(2)
      for (const { subject } of page.transactions) subjects.push(subject)
      page_token = page.page_token
    } while (page_token)
    expect(subjects).toEqual([['e'], ['d'], ['c'], ['b'], ['a']])
    expect(await all(catalog, { status: ['succeeded'], limit: 2 })).toHaveLength(2)
    expect(await all(catalog, { status: ['QUEUED', 'Running'] })).toEqual([])
    expect(await all(catalog, { since_millis: Date.now() + 600_000 })).toEqual([])
    expect(await all(catalog, { since_millis: Date.now() - 600_000 })).toHaveLength(5)
    const none = await catalog.listTransactions({ limit: 0 })
    expect(none).toMatchObject({ transactions: [], page_token: expect.any(String) })
    const after = await catalog.listTransactions({ limit: 1, page_token: none.page_token })
    expect(after.transactions).toMatchObject([{ subject: ['e'] }])
    await fails(
      catalog.listTransactions({ limit: 3, status: ['Failed'], page_token: none.page_token }),
      'InvalidInput',
    )
  })

  it('refuses statuses that there are not', async () => {
    const catalog = await open()
    await fails(catalog.listTransactions({ status: ['Done'] }), 'InvalidInput')
    await fails(catalog.listTransactions({ status: [] }), 'InvalidInput')
    await fails(catalog.listTransactions({ since_millis: -1 }), 'InvalidInput')
  })

  it('versions come with what made them, where that is asked for', async () => {
    const catalog = await open()
    await catalog.createTable({ id, data: [{ x: 1 }] })
    const { transaction_id } = await catalog.insertIntoTable({ id, data: [{ x: 2 }] })
    const { versions } = await catalog.listTableVersions({ id, with_transactions: true })
    expect(versions.map(({ operation }) => operation)).toEqual(['CreateTable', 'InsertIntoTable'])
    expect(versions[1]).toMatchObject({ transaction_id })
    const plain = await catalog.listTableVersions({ id })
    expect(plain.versions[1]).not.toHaveProperty('transaction_id')
  })

  it('is no part of a transaction', async () => {
    const catalog = await open()
    const { transaction_id: transaction } = await catalog.beginTransaction({})
    await fails(catalog.listTransactions({}, { transaction }), 'Unsupported', 'outside of it')
    expect(await all(catalog, { status: ['Running'] })).toEqual(['Transaction Running'])
    await catalog.rollbackTransaction({ id: [transaction] })
    expect(await all(catalog)).toEqual(['Transaction Canceled'])
  })
})

describe('what others began', () => {
  it('is not listed for callers with a name', async () => {
    const catalog = closedAfterwards(await openCatalog('memory:'))
    const ada = { context: { principal: 'ada' } }
    await catalog.beginTransaction(ada)
    await catalog.declareTable({ id, ...ada })
    const of = async (name?: string) => {
      const { transactions } = await catalog.listTransactions(name ? { context: { principal: name } } : {})
      return transactions.map(({ operation }) => operation)
    }
    expect(await of('bob')).toEqual(['DeclareTable'])
    expect(await of('ada')).toEqual(['DeclareTable', 'Transaction'])
    expect(await of()).toEqual(['DeclareTable', 'Transaction'])
  })
})

it('looks at some thousand records a page, and finds the old one that runs', async () => {
  const store = memoryStore()
  const catalog = closedAfterwards(await openCatalog({ store, content: memoryContent() }))
  const now = Date.now()
  const record = (more: Partial<TransactionRecord>): TransactionRecord => ({
    v: 1,
    status: 'Succeeded',
    operation: 'DeclareTable',
    subject: ['t'],
    created_at: now,
    properties: {},
    ...more,
  })
  await store.write((writer) => {
    writer.put(keys.transaction('A'), record({ status: 'Running', lease_until: now + 60_000 }))
    writer.put(keys.transaction('B'), record({ status: 'Running', lease_until: now - 1 }))
    for (let i = 0; i < 5_000; i++) writer.put(keys.transaction(`C${String(i).padStart(5, '0')}`), record({}))
  })
  const pages: number[] = []
  const found: string[] = []
  let page_token: string | undefined
  do {
    const page = await catalog.listTransactions({ status: ['Running'], page_token })
    pages.push(page.transactions.length)
    for (const { transaction_id } of page.transactions) found.push(transaction_id)
    page_token = page.page_token
  } while (page_token)
  expect([pages, found]).toEqual([[0, 0, 1], ['A']])
  const { transactions } = await catalog.listTransactions({ status: ['Failed'], page_token: undefined })
  expect(transactions).toEqual([])
  const { page_token: second } = await catalog.listTransactions({ status: ['Failed'] })
  const { page_token: third } = await catalog.listTransactions({ status: ['Failed'], page_token: second })
  const last = await catalog.listTransactions({ status: ['Failed'], page_token: third })
  expect(last.transactions).toMatchObject([
    { transaction_id: 'B', failure: expect.stringContaining('ended') },
  ])
})
