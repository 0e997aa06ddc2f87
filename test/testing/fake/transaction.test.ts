import { describe, expect, test } from 'vitest'
import { type FakeCatalog, fakeCatalog, transactionSuite } from '../../../src/testing/index.ts'
import { outcome } from './ways.ts'

transactionSuite({ describe, test }, () => fakeCatalog(), { name: 'transactions of a fake' })

const open = () => fakeCatalog({ seed: { a: [{ k: 1 }], b: [{ k: 1 }] } })
const count = async (fake: FakeCatalog, name: string) => (await fake.countTableRows({ id: [name] })).count

/** Adds a row to both tables. Answers with how often the function has run. */
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
  const told = Array.from(fake.calls, ({ n, operation, outcome, transaction }) => [
    n,
    operation,
    outcome,
    transaction,
  ])
  expect(told).toEqual([
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
  // What was not committed has no answer to lose.
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
