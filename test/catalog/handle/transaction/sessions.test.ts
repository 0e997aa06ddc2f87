import { expect, test } from 'vitest'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../../src/stores/memory/index.ts'
import { type Catalog, openCatalog, type Store } from '../../../../src/tabularium/index.ts'
import { closedAfterwards, eachCatalog, eachLocalCatalog, stoppedClock } from '../../../support/catalogs.ts'
import { gate } from '../../../support/gate.ts'

type Inside = readonly [request: { context?: Record<string, string> }, options?: { transaction: string }]

/** What a request inside of a transaction looks like in each of its forms. */
const forms: Readonly<Record<string, (transaction: string) => Inside>> = {
  option: (transaction: string) => [{}, { transaction }],
  entry: (transaction: string) => [{ context: { 'header.x-tabularium-transaction': transaction } }],
  'entry in another case': (transaction: string) => [
    { context: { 'header.X-Tabularium-Transaction': transaction } },
  ],
}

const counted = async (on: Catalog, table: string, transaction?: string) =>
  (await on.countTableRows({ id: [table] }, { transaction })).count

const tables = async (on: Catalog, transaction?: string) =>
  (await on.listTables({ id: [], include_declared: true }, { transaction })).tables

const status = async (on: Catalog, id: string) => (await on.describeTransaction({ id: [id] })).status

async function begin(on: Catalog, request: Parameters<Catalog['beginTransaction']>[0] = {}) {
  return (await on.beginTransaction(request)).transaction_id
}

const refusal = (code: string, message: RegExp, transaction_id?: string) =>
  expect.objectContaining({
    code,
    message: expect.stringMatching(message),
    ...(transaction_id !== undefined && { transaction_id }),
  })

eachCatalog((open) => {
  test.each(Object.keys(forms))(
    'an operation is part of the transaction that it names, by %s',
    async (form) => {
      const catalog = await open()
      await catalog.createTable({ id: ['a'], data: [{ k: 1 }] })
      const id = await begin(catalog)
      const [request, options] = forms[form]!(id)
      await catalog.insertIntoTable({ id: ['a'], data: [{ k: 2 }], ...request }, options)
      await catalog.renameTable({ id: ['a'], new_table_name: 'b', ...request }, options)
      await catalog.createTable({ id: ['c'], data: [{ s: 'x' }], ...request }, options)
      await catalog.insertIntoTable({ id: ['c'], data: [{ s: 'y' }], ...request }, options)
      expect((await catalog.countTableRows({ id: ['b'], ...request }, options)).count).toBe(2)
      expect([await counted(catalog, 'a'), await tables(catalog)]).toEqual([1, ['a']])
      expect(await status(catalog, id)).toBe('Running')
      const done = await catalog.commitTransaction({ id: [id] })
      expect(done).toMatchObject({ transaction_id: id, status: 'Succeeded' })
      expect([await counted(catalog, 'b'), await counted(catalog, 'c')]).toEqual([2, 2])
      expect(await tables(catalog)).toEqual(['b', 'c'])
      expect(await status(catalog, id)).toBe('Succeeded')
    },
  )

  test('a commit asked for again answers the same, and nothing else is taken any more', async () => {
    const catalog = await open()
    const id = await begin(catalog, { properties: { by: 'a test' }, idle_timeout_seconds: 300 })
    await catalog.declareTable({ id: ['a'] }, { transaction: id })
    const [first, second] = await Promise.all([
      catalog.commitTransaction({ id: [id] }),
      catalog.commitTransaction({ id: [id] }),
    ])
    expect(second).toEqual(first)
    expect(first.properties).toMatchObject({ by: 'a test', operation: 'Transaction' })
    // Its own header does no harm to a commit.
    expect(await catalog.commitTransaction({ id: [id] }, { transaction: id })).toEqual(first)
    await expect(tables(catalog, id)).rejects.toEqual(refusal('InvalidInput', /is committed/))
    await expect(catalog.rollbackTransaction({ id: [id] })).rejects.toEqual(
      refusal('ConcurrentModification', /stays so/),
    )
    expect(await tables(catalog)).toEqual(['a'])
  })

  test('what is given up is not there, by rollback and by cancel', async () => {
    const catalog = await open()
    const ways = [
      (id: string) => catalog.rollbackTransaction({ id: [id] }),
      (id: string) =>
        catalog.alterTransaction({ id: [id], actions: [{ setStatusAction: { status: 'Canceled' } }] }),
    ]
    for (const giveUp of ways) {
      const id = await begin(catalog)
      await catalog.declareTable({ id: ['a'] }, { transaction: id })
      expect((await giveUp(id)).status).toBe('Canceled')
      const canceled = refusal('ConcurrentModification', /was canceled/, id)
      await expect(catalog.declareTable({ id: ['b'] }, { transaction: id })).rejects.toEqual(canceled)
      await expect(catalog.commitTransaction({ id: [id] })).rejects.toEqual(canceled)
      expect((await catalog.rollbackTransaction({ id: [id] })).status).toBe('Canceled')
      expect(await tables(catalog)).toEqual([])
    }
    const id = await begin(catalog)
    const failed = await catalog.rollbackTransaction({ id: [id], failure: 'out of stock' })
    expect(failed).toMatchObject({
      status: 'Failed',
      properties: { failure: 'out of stock', failure_code: 'Internal' },
    })
    await expect(catalog.commitTransaction({ id: [id] })).rejects.toEqual(
      refusal('TransactionNotFound', /out of stock/, id),
    )
  })

  test('a lost race is told with the id of the transaction, at once and later', async () => {
    const catalog = await open()
    await catalog.createTable({ id: ['a'], data: [{ k: 1 }] })
    const id = await begin(catalog)
    await catalog.declareTable({ id: ['b'] }, { transaction: id })
    expect(await counted(catalog, 'a', id)).toBe(1)
    await catalog.insertIntoTable({ id: ['a'], data: [{ k: 2 }] })
    const lost = refusal('ConcurrentModification', /Others changed/, id)
    await expect(counted(catalog, 'a', id)).rejects.toEqual(lost)
    await expect(tables(catalog, id)).rejects.toEqual(lost)
    await expect(catalog.commitTransaction({ id: [id] })).rejects.toEqual(lost)
    expect(await status(catalog, id)).toBe('Failed')
    expect(await tables(catalog)).toEqual(['a'])
    // Noticed at the commit only.
    const second = await begin(catalog)
    expect(await counted(catalog, 'a', second)).toBe(2)
    await catalog.declareTable({ id: ['b'] }, { transaction: second })
    await catalog.insertIntoTable({ id: ['a'], data: [{ k: 3 }] })
    await expect(catalog.commitTransaction({ id: [second] })).rejects.toEqual(
      refusal('ConcurrentModification', /Others changed/, second),
    )
    expect(await tables(catalog)).toEqual(['a'])
  })

  test('appends to the same table, and a table that others drop or rename meanwhile', async () => {
    const catalog = await open()
    await catalog.createTable({ id: ['a'], data: [{ k: 1 }] })
    const ids = [await begin(catalog), await begin(catalog)]
    for (const transaction of ids)
      await catalog.insertIntoTable({ id: ['a'], data: [{ k: 2 }] }, { transaction })
    for (const id of ids) await catalog.commitTransaction({ id: [id] })
    expect(await counted(catalog, 'a')).toBe(3)
    for (const change of [
      () => catalog.renameTable({ id: ['a'], new_table_name: 'b' }),
      () => catalog.dropTable({ id: ['b'] }),
    ]) {
      const [name] = await tables(catalog)
      const id = await begin(catalog)
      await catalog.insertIntoTable({ id: [name!], data: [{ k: 9 }] }, { transaction: id })
      await catalog.declareTable({ id: ['never'] }, { transaction: id })
      await change()
      await expect(catalog.commitTransaction({ id: [id] })).rejects.toEqual(
        refusal('ConcurrentModification', /Others changed/, id),
      )
    }
    expect(await tables(catalog)).toEqual([])
  })

  test('an operation that is refused inside leaves the transaction as it was', async () => {
    const catalog = await open()
    const id = await begin(catalog)
    await catalog.createTable({ id: ['a'], data: [{ k: 1 }] }, { transaction: id })
    await expect(
      catalog.createTable({ id: ['a'], data: [{ k: 1 }] }, { transaction: id }),
    ).rejects.toMatchObject({ code: 'TableAlreadyExists' })
    const wrong = catalog.insertIntoTable({ id: ['a'], data: [{ k: 'x' }] }, { transaction: id })
    await expect(wrong).rejects.toMatchObject({ code: expect.stringMatching(/Invalid|Validation/) })
    expect(await counted(catalog, 'a', id)).toBe(1)
    await catalog.commitTransaction({ id: [id] })
    expect(await counted(catalog, 'a')).toBe(1)
  })

  test('ten thousand changes are committed at once', async () => {
    const catalog = await open()
    const transaction = await begin(catalog)
    for (let part = 0; part < 10; part++) {
      const operations = Array.from({ length: 1_000 }, (_, i) => ({
        declare_table: { id: [`t${part * 1_000 + i}`] },
      }))
      await catalog.batchCommitTables({ operations }, { transaction })
    }
    expect(await tables(catalog)).toEqual([])
    await catalog.commitTransaction({ id: [transaction] })
    const page = await catalog.listTables({ id: [], include_declared: true, limit: 10_000 })
    expect(page.tables.length).toBe(10_000)
  })

  test('what makes no sense is refused, with nothing in part', async () => {
    const catalog = await open()
    const id = await begin(catalog)
    const other = await begin(catalog)
    const attempts: [() => Promise<unknown>, string, RegExp][] = [
      [() => catalog.beginTransaction({}, { transaction: id }), 'Unsupported', /inside/],
      [() => catalog.commitTransaction({ id: [other] }, { transaction: id }), 'InvalidInput', /inside/],
      [() => catalog.rollbackTransaction({ id: [other] }, { transaction: id }), 'InvalidInput', /inside/],
      [() => catalog.listTables({ id: [] }, { transaction: '' }), 'InvalidInput', /transaction_id/],
      [() => catalog.listTables({ id: [] }, { transaction: 'a, b' }), 'InvalidInput', /one id/],
      [() => catalog.listTables({ id: [] }, { transaction: 'x'.repeat(129) }), 'InvalidInput', /one id/],
      [() => catalog.listTables({ id: [] }, { transaction: 7 as never }), 'InvalidInput', /one id/],
      [() => catalog.listTables({ id: [] }, { transaction: 'none' }), 'TransactionNotFound', /"none"/],
      [() => catalog.commitTransaction({ id: ['none'] }), 'TransactionNotFound', /"none"/],
      [() => catalog.rollbackTransaction({ id: ['none'] }), 'TransactionNotFound', /"none"/],
      [() => catalog.commitTransaction({ id: ['t', id] }), 'TransactionNotFound', /of t/],
      [() => catalog.commitTransaction({ id: [] }), 'InvalidInput', /empty/],
      [
        () =>
          catalog.listTables(
            { id: [], context: { 'header.x-tabularium-transaction': other } },
            { transaction: id },
          ),
        'InvalidInput',
        /two transactions/,
      ],
      [() => catalog.beginTransaction({ idle_timeout_seconds: 0 }), 'InvalidInput', /idle_timeout_seconds/],
      [() => catalog.beginTransaction({ idle_timeout_seconds: 1e9 }), 'InvalidInput', /idle_timeout_seconds/],
      [() => catalog.beginTransaction({ properties: { id: 'x' } }), 'InvalidInput', /"id"/],
    ]
    for (const [attempt, code, message] of attempts)
      await expect(attempt(), message.source).rejects.toEqual(refusal(code, message))
    // The record of another change is no transaction to work in.
    const { transaction_id } = await catalog.declareTable({ id: ['a'] })
    await expect(tables(catalog, transaction_id)).rejects.toMatchObject({ code: 'TransactionNotFound' })
    await expect(catalog.commitTransaction({ id: [transaction_id!] })).rejects.toMatchObject({
      code: 'TransactionNotFound',
    })
    for (const open of [id, other]) await catalog.commitTransaction({ id: [open] })
  })

  test('in a function, neither another transaction nor its own end can be asked for', async () => {
    const catalog = await open()
    const other = await begin(catalog)
    await catalog.transaction(async (tx) => {
      const own = tx.transactionId
      await expect(tx.beginTransaction({})).rejects.toMatchObject({ code: 'Unsupported' })
      await expect(tx.listTables({ id: [] }, { transaction: other })).rejects.toMatchObject({
        code: 'InvalidInput',
      })
      await tx.declareTable({ id: ['a'] }, { transaction: own })
    })
    expect(await tables(catalog)).toEqual(['a'])
    await catalog.rollbackTransaction({ id: [other] })
  })
})

eachLocalCatalog((open) => {
  test('a transaction that nobody uses expires, and tells so', async () => {
    const now = stoppedClock()
    const catalog = await open({ now, openTransactions: { idleSeconds: 10 } })
    const id = await begin(catalog)
    const patient = await begin(catalog, { idle_timeout_seconds: 30 })
    await catalog.declareTable({ id: ['a'] }, { transaction: id })
    now.move(9_999)
    await catalog.declareTable({ id: ['b'] }, { transaction: id })
    now.move(9_999)
    expect(await tables(catalog, id)).toEqual(['a', 'b'])
    now.move(10_000)
    const expired = refusal('TransactionNotFound', /No request came for 10 seconds/, id)
    await expect(tables(catalog, id)).rejects.toEqual(expired)
    await expect(catalog.commitTransaction({ id: [id] })).rejects.toEqual(expired)
    expect((await catalog.rollbackTransaction({ id: [id] })).status).toBe('Failed')
    expect(await status(catalog, id)).toBe('Failed')
    expect(await tables(catalog, patient)).toEqual([])
    await catalog.commitTransaction({ id: [patient] })
  })

  test('a transaction that nobody uses expires without being asked about', async () => {
    const catalog = await open({ openTransactions: { idleSeconds: 0.05, count: 1 } })
    const id = await begin(catalog)
    // There is room for one, so this one begins when that one is over.
    await expect.poll(() => begin(catalog).catch(() => undefined)).toBeDefined()
    expect(await status(catalog, id)).toBe('Failed')
  })

  test('what open transactions hold is bounded', async () => {
    const catalog = await open({ openTransactions: { bytes: 100_000 } })
    const [a, b] = [await begin(catalog), await begin(catalog)]
    const declare = (transaction: string, name: string) =>
      catalog.declareTable({ id: [name], properties: { x: 'y'.repeat(40_000) } }, { transaction })
    await declare(a, 'a')
    await declare(b, 'b')
    await expect(declare(b, 'c')).rejects.toEqual(refusal('Throttling', /100,000 bytes/))
    await catalog.commitTransaction({ id: [a] })
    await declare(b, 'c')
    await catalog.commitTransaction({ id: [b] })
    expect(await tables(catalog)).toEqual(['a', 'b', 'c'])
    const reading = await begin(catalog)
    const read = async () => {
      for (let i = 0; i < 400; i++)
        await catalog.tableExists({ id: [`t${i}`] }, { transaction: reading }).catch((error) => {
          if (error.code !== 'TableNotFound') throw error
        })
    }
    await expect(read()).rejects.toMatchObject({ code: 'Throttling' })
  })

  test('a commit is refused while an operation runs, and taken after it', async () => {
    const { open: asked, opened: isAsked } = gate()
    const { open: goOn, opened: mayGoOn } = gate()
    const catalog = await open({
      authorize: async ({ operation }) => {
        if (operation !== 'declareTable') return
        asked()
        await mayGoOn
      },
    })
    const id = await begin(catalog)
    const declared = catalog.declareTable({ id: ['a'] }, { transaction: id })
    await isAsked
    await expect(catalog.commitTransaction({ id: [id] })).rejects.toEqual(
      refusal('InvalidInput', /declareTable is still running/),
    )
    goOn()
    await declared
    await catalog.commitTransaction({ id: [id] })
    expect(await tables(catalog)).toEqual(['a'])
  })

  test('a transaction belongs to who began it', async () => {
    const catalog = await open({ openTransactions: { perPrincipal: 1 } })
    const as = (principal: string) => ({ context: { principal } })
    const { transaction_id: id } = await catalog.beginTransaction(as('ann'))
    await expect(catalog.beginTransaction(as('ann'))).rejects.toEqual(refusal('Throttling', /You have 1/))
    const unknown = await catalog.commitTransaction({ id: ['x'.repeat(26)], ...as('bob') }).catch((e) => e)
    const attempts = [
      () => catalog.listTables({ id: [], ...as('bob') }, { transaction: id }),
      () => catalog.commitTransaction({ id: [id], ...as('bob') }),
      () => catalog.rollbackTransaction({ id: [id], ...as('bob') }),
      () => catalog.describeTransaction({ id: [id], ...as('bob') }),
      () =>
        catalog.alterTransaction({
          id: [id],
          actions: [{ setStatusAction: { status: 'Canceled' } }],
          ...as('bob'),
        }),
      () => catalog.commitTransaction({ id: [id] }),
    ]
    for (const attempt of attempts) {
      const error = await attempt().catch((error) => error)
      expect(error.code).toBe('TransactionNotFound')
      expect(error.message.replace(id, 'x'.repeat(26))).toBe(unknown.message)
      expect(error.transaction_id).toBe(undefined)
    }
    await catalog.declareTable({ id: ['a'], ...as('ann') }, { transaction: id })
    await catalog.commitTransaction({ id: [id], ...as('ann') })
    await expect(catalog.commitTransaction({ id: [id], ...as('bob') })).rejects.toMatchObject({
      code: 'TransactionNotFound',
    })
  })

  test('the authorize hook is asked about operations inside, and about the end', async () => {
    const asked: string[] = []
    const catalog = await open({
      authorize: ({ operation, id }) => {
        asked.push(operation)
        return id?.[0] !== 'secret'
      },
    })
    const transaction = await begin(catalog)
    await expect(catalog.declareTable({ id: ['secret'] }, { transaction })).rejects.toMatchObject({
      code: 'PermissionDenied',
    })
    await catalog.declareTable({ id: ['a'] }, { transaction })
    await catalog.commitTransaction({ id: [transaction] })
    expect(asked).toEqual(['beginTransaction', 'declareTable', 'declareTable', 'commitTransaction'])
    expect(await tables(catalog)).toEqual(['a'])
  })
})

test('a disk that is full at the commit leaves nothing in part', async () => {
  const below = memoryStore()
  let isFull = false
  const write: Store['write'] = (body) =>
    isFull ? Promise.reject(new Error('ENOSPC: no space left on device')) : below.write(body)
  const store: Store = {
    features: below.features,
    read: (body) => below.read(body),
    write,
    close: async () => {},
  }
  const catalog = closedAfterwards(await openCatalog({ store, content: memoryContent() }))
  await catalog.createTable({ id: ['a'], data: [{ k: 1 }] })
  const id = await begin(catalog)
  await catalog.insertIntoTable({ id: ['a'], data: [{ k: 2 }] }, { transaction: id })
  await catalog.declareTable({ id: ['b'] }, { transaction: id })
  isFull = true
  await expect(catalog.commitTransaction({ id: [id] })).rejects.toEqual(
    refusal('Internal', /commitTransaction failed/, id),
  )
  await expect(begin(catalog)).rejects.toMatchObject({ code: 'Internal' })
  isFull = false
  await expect(catalog.commitTransaction({ id: [id] })).rejects.toMatchObject({
    code: 'TransactionNotFound',
  })
  expect([await tables(catalog), await counted(catalog, 'a')]).toEqual([['a'], 1])
  await catalog.commitTransaction({ id: [await begin(catalog)] })
})
