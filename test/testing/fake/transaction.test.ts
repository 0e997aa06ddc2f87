import { describe, expect, test } from 'vitest'
import { connect } from '../../../src/client/index.ts'
import { fetchHandler } from '../../../src/server/index.ts'
import { type FakeCatalog, fakeCatalog, transactionSuite } from '../../../src/testing/index.ts'
import { limitEach } from '../../support/time-limit.ts'
import { outcome } from './ways.ts'

// A rule waits for a turn, which lasts five seconds.
limitEach(60)

transactionSuite({ describe, test }, () => fakeCatalog(), { name: 'transactions of a fake' })

const open = () => fakeCatalog({ seed: { a: [{ k: 1 }], b: [{ k: 1 }] } })
const count = async (fake: FakeCatalog, name: string) => (await fake.countTableRows({ id: [name] })).count

/** Adds a row to both tables. Returns how often the function has run. */
function adding(fake: FakeCatalog) {
  let runs = 0
  return fake.transaction(async (tx) => {
    for (const name of ['a', 'b']) await tx.insertIntoTable({ id: [name], data: [{ k: 2 }] })
    return ++runs
  })
}

test('a transaction is recorded, and so are the calls in it', async () => {
  const fake = await open()
  await count(fake, 'a')
  await adding(fake)
  const calls = Array.from(fake.calls, ({ n, operation, outcome, transaction }) => [
    n,
    operation,
    outcome,
    transaction,
  ])
  expect(calls).toEqual([
    [1, 'countTableRows', 'succeeded', undefined],
    [2, 'transaction', 'succeeded', undefined],
    [3, 'insertIntoTable', 'succeeded', 2],
    [4, 'insertIntoTable', 'succeeded', 2],
  ])
  expect(fake.calls.of('transaction')[0]!.response).toBe(1)
  const own = new RangeError('no')
  const failing = fake.transaction(async () => {
    throw own
  })
  await expect(failing).rejects.toBe(own)
  expect(fake.calls.last).toMatchObject({ operation: 'transaction', outcome: 'failed', error: own })
})

test('a conflict at the commit makes the function run again', async () => {
  const fake = await open()
  const fault = fake.faults.add({ operation: 'transaction', fail: 'ConcurrentModification', times: 2 })
  expect(await adding(fake)).toBe(3)
  expect(fault.fired).toBe(2)
  expect(fake.calls.of('transaction')[0]!.faults).toEqual([fault.id])
  expect([await count(fake, 'a'), await count(fake, 'b')]).toEqual([2, 2])
  fake.faults.add({ operation: 'transaction', fail: 'ConcurrentModification' })
  expect(await outcome(adding(fake))).toBe('ConcurrentModification')
  expect([await count(fake, 'a'), await count(fake, 'b')]).toEqual([2, 2])
})

test('any other failure at the commit ends it, and nothing has happened', async () => {
  const fake = await open()
  fake.faults.add({ operation: 'transaction', fail: 'ServiceUnavailable', times: 1 })
  expect(await outcome(adding(fake))).toBe('ServiceUnavailable')
  expect([await count(fake, 'a'), await count(fake, 'b')]).toEqual([1, 1])
  expect(await adding(fake)).toBe(1)
})

test('an answer is lost after the commit: all of it is there, and the caller is not told', async () => {
  const fake = await open()
  for (const fail of ['ServiceUnavailable', 'ConcurrentModification'] as const) {
    fake.faults.add({ operation: 'transaction', fail, when: 'after', times: 1 })
    const before = await count(fake, 'a')
    expect(await outcome(adding(fake))).toBe(fail)
    expect([await count(fake, 'a'), await count(fake, 'b')]).toEqual([before + 1, before + 1])
  }
  // A transaction without a commit has no response to lose.
  const fault = fake.faults.add({ operation: 'transaction', fail: 'Throttling', when: 'after' })
  let cancel: Promise<unknown> = Promise.resolve()
  const canceled = fake.transaction(async (tx) => {
    const actions = [{ setStatusAction: { status: 'Canceled' as const } }]
    await tx.declareTable({ id: ['c'] })
    cancel = tx.alterTransaction({ id: [tx.transactionId], actions })
    await cancel
  })
  expect(await outcome(canceled)).toBe('ConcurrentModification')
  expect(fault.fired).toBe(0)
})

test('a call inside fails by a fault as any other, and the transaction with it', async () => {
  const fake = await open()
  fake.faults.add({ operation: 'insertIntoTable', table: ['b'], fail: 'Throttling', times: 1 })
  expect(await outcome(adding(fake))).toBe('Throttling')
  expect([await count(fake, 'a'), await count(fake, 'b')]).toEqual([1, 1])
  // Faults by table do not match the transaction itself, which names none.
  const named = fake.faults.add({ table: ['b'], operation: 'transaction', fail: 'Throttling' })
  expect(await adding(fake)).toBe(1)
  expect([named.seen, named.fired]).toEqual([0, 0])
})

test('transactions that stay running, and answers of earlier, leave calls inside alone', async () => {
  const fake = await open()
  fake.faults.add({ operation: 'insertIntoTable', running: true })
  fake.faults.add({ operation: 'countTableRows', stale: 'state' })
  await fake.transaction(async (tx) => {
    await tx.insertIntoTable({ id: ['a'], data: [{ k: 2 }] })
    expect((await tx.countTableRows({ id: ['a'] })).count).toBe(2)
  })
  expect(fake.faults.unused().length).toBe(2)
  for (const effect of [{ running: true }, { stale: 'state' }] as const) {
    expect(() => fake.faults.add({ operation: 'transaction', ...effect })).toThrow(/delay or fail/)
  }
})

test('a fork has what was committed, and transactions of its own', async () => {
  const fake = await open()
  let forked: FakeCatalog | undefined
  await fake.transaction(async (tx) => {
    await tx.insertIntoTable({ id: ['a'], data: [{ k: 2 }] })
    forked = fake.fork()
  })
  expect([await count(fake, 'a'), await count(forked!, 'a')]).toEqual([2, 1])
  await adding(forked!)
  expect([await count(fake, 'b'), await count(forked!, 'b')]).toEqual([1, 2])
})

test('two runs of the same test give the same ids', async () => {
  const ids = async () => {
    const fake = await open()
    return fake.transaction(async (tx) => {
      const { transaction_id } = await tx.insertIntoTable({ id: ['a'], data: [{ k: 2 }] })
      return [tx.transactionId, transaction_id]
    })
  }
  expect(await ids()).toEqual(await ids())
})

describe('transactions that were begun', () => {
  const begin = async (fake: FakeCatalog) => (await fake.beginTransaction({})).transaction_id
  const insert = (fake: FakeCatalog, transaction: string) =>
    fake.insertIntoTable({ id: ['a'], data: [{ k: 2 }] }, { transaction })

  test('are recorded, and the calls in them', async () => {
    const fake = await open()
    const id = await begin(fake)
    await insert(fake, id)
    await fake.countTableRows({ id: ['a'], context: { 'header.x-tabularium-transaction': id } })
    await fake.countTableRows({ id: ['a'] })
    await fake.commitTransaction({ id: [id] })
    const calls = Array.from(fake.calls, ({ operation, transaction }) => [operation, transaction])
    expect(calls).toEqual([
      ['beginTransaction', undefined],
      ['insertIntoTable', 1],
      ['countTableRows', 1],
      ['countTableRows', undefined],
      ['commitTransaction', undefined],
    ])
  })

  test('can expire on demand, and by the clock', async () => {
    const fake = await open()
    const fault = fake.faults.add({ expired: true, nth: 2 })
    const id = await begin(fake)
    await count(fake, 'a')
    await insert(fake, id)
    expect(await outcome(insert(fake, id))).toBe('TransactionNotFound')
    expect(fault.fired).toBe(1)
    expect(await outcome(fake.commitTransaction({ id: [id] }))).toBe('TransactionNotFound')
    const second = await begin(fake)
    fake.clock.advance(60_000)
    expect(await outcome(fake.commitTransaction({ id: [second] }))).toBe('TransactionNotFound')
    expect(await count(fake, 'a')).toBe(1)
    const atCommit = fake.faults.add({ operation: 'commitTransaction', expired: true })
    expect(await outcome(fake.commitTransaction({ id: [await begin(fake)] }))).toBe('TransactionNotFound')
    expect(atCommit.fired).toBe(1)
  })

  test('have conflicts and lost answers at their commit', async () => {
    const fake = await open()
    fake.faults.add({ operation: 'commitTransaction', fail: 'ConcurrentModification', times: 1 })
    fake.faults.add({ operation: 'commitTransaction', fail: 'ServiceUnavailable', when: 'after', times: 1 })
    const id = await begin(fake)
    await insert(fake, id)
    const commit = () => fake.commitTransaction({ id: [id] })
    expect(await outcome(commit())).toBe('ConcurrentModification')
    expect(await count(fake, 'a')).toBe(1)
    expect(await outcome(commit())).toBe('ServiceUnavailable')
    expect(await count(fake, 'a')).toBe(2)
    expect((await commit()).status).toBe('Succeeded')
    expect(await count(fake, 'a')).toBe(2)
  })

  test('are left alone by faults that answer from elsewhere or later', async () => {
    const fake = await open()
    fake.faults.add({ stale: 'state' })
    fake.faults.add({ running: true })
    const id = await begin(fake)
    await insert(fake, id)
    expect((await fake.countTableRows({ id: ['a'] }, { transaction: id })).count).toBe(2)
    expect((await fake.commitTransaction({ id: [id] })).status).toBe('Succeeded')
    await fake.faults.clear()
    expect(await count(fake, 'a')).toBe(2)
  })

  test('stay with the fake that began them: a fork has them not, and a reset ends them', async () => {
    const fake = await open()
    const id = await begin(fake)
    await insert(fake, id)
    const fork = fake.fork()
    expect(await outcome(insert(fork, id))).toBe('TransactionNotFound')
    expect(await outcome(fork.commitTransaction({ id: [id] }))).toBe('TransactionNotFound')
    expect(await count(fork, 'a')).toBe(1)
    const own = await begin(fork)
    await insert(fork, own)
    await fork.commitTransaction({ id: [own] })
    await fake.commitTransaction({ id: [id] })
    expect([await count(fake, 'a'), await count(fork, 'a')]).toEqual([2, 2])
    const left = await begin(fake)
    fake.reset()
    expect(await outcome(fake.commitTransaction({ id: [left] }))).toBe('TransactionNotFound')
    const again = await begin(fake)
    expect(again).toBe(id)
    await insert(fake, again)
    await fake.commitTransaction({ id: [again] })
    expect(await count(fake, 'a')).toBe(2)
  })

  test('are run again by the client when the commit lost a race, and committed again when its answer was lost', async () => {
    const fake = await open()
    const handler = await fetchHandler(fake, { limits: { eventLoopDelay: 0 }, auth: false })
    await using remote = connect('http://localhost', { fetch: handler })
    fake.faults.add({ operation: 'commitTransaction', fail: 'ConcurrentModification', times: 2 })
    fake.faults.add({
      operation: 'commitTransaction',
      fail: 'ServiceUnavailable',
      when: 'after',
      times: 1,
      retryAfter: 0,
    })
    let runs = 0
    await remote.transaction(async (tx) => {
      runs++
      await tx.insertIntoTable({ id: ['a'], data: [{ k: 2 }] })
    })
    expect([runs, await count(fake, 'a')]).toEqual([3, 2])
    fake.faults.add({ expired: true, operation: 'insertIntoTable' })
    const expired = remote.transaction((tx) => tx.insertIntoTable({ id: ['a'], data: [{ k: 2 }] }))
    expect(await outcome(expired)).toBe('TransactionNotFound')
    await handler.close()
  })
})
