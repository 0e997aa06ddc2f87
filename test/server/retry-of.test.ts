import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { fetchHandler } from '../../src/server/index.ts'
import { type Catalog, type CatalogOptions, openCatalog } from '../../src/tabularium/index.ts'
import { closedAfterwards } from '../support/catalogs.ts'
import { limitEach } from '../support/time-limit.ts'
import { turns } from '../support/turns.ts'

// Turns last five seconds each, whatever the machine does.
limitEach(120)

const tokens = ['token-of-the-first', 'token-of-the-second']
const id = ['t']

/** A served catalog with a table, and two callers of it. */
async function served(options: CatalogOptions = {}, timeout?: number) {
  const catalog = closedAfterwards(await openCatalog('memory:', options))
  const handler = await fetchHandler(catalog, { auth: { tokens }, limits: { eventLoopDelay: 0 } })
  onTestFinished(() => handler.close())
  const [first, second] = tokens.map((token) =>
    connect('http://catalog.test', { token, fetch: handler, timeout }),
  )
  await catalog.createTable({ id, data: [{ k: 1 }] })
  const insert = () => catalog.insertIntoTable({ id, data: [{ k: 2 }] })
  const begin = async (client: Catalog, retry_of?: string, signal?: AbortSignal) =>
    (await client.beginTransaction({ retry_of, idle_timeout_seconds: 3_600 }, { signal })).transaction_id
  const count = (client: Catalog, transaction: string) => client.countTableRows({ id }, { transaction })
  /** Begins a transaction that loses a race. */
  const lose = async (client: Catalog, retry_of?: string) => {
    const transaction = await begin(client, retry_of)
    await count(client, transaction)
    await insert()
    await expect(count(client, transaction)).rejects.toMatchObject({ transaction_id: transaction })
    return transaction
  }
  /** What one does again who then gets a turn. */
  const lostTwice = async (client: Catalog) => lose(client, await lose(client))
  /** Whether somebody has a turn. Then the insert waits for seconds, and nothing happens for one of them. */
  const isHeld = async () => {
    const inserted = insert()
    // A pause of the machine ends the second before an insert that nobody holds up has had its turns.
    const isOver = setTimeout(1_000).then(() => turns())
    const isInserted = await Promise.race([inserted.then(() => true), isOver.then(() => false)])
    return { isHeld: !isInserted, inserted }
  }
  return { catalog, first: first!, second: second!, begin, count, lose, lostTwice, isHeld, insert }
}

test('a transaction that does two lost ones again has a turn until its end', async () => {
  const { first, begin, lostTwice, isHeld } = await served()
  const third = await begin(first, await lostTwice(first))
  const meanwhile = await isHeld()
  expect(meanwhile.isHeld).toBe(true)
  await first.rollbackTransaction({ id: [third] })
  await meanwhile.inserted
})

test('what was lost is handed over once', async () => {
  const { first, begin, lostTwice, isHeld } = await served()
  const lost = await lostTwice(first)
  const third = await begin(first, lost)
  await first.rollbackTransaction({ id: [third] })
  // It lost nothing, and what those before it lost is used up.
  for (const again of [third, lost]) {
    await begin(first, again)
    expect((await isHeld()).isHeld).toBe(false)
  }
})

test('two transactions that do the same one again at once have one turn', async () => {
  const { first, begin, lostTwice, isHeld } = await served()
  const lost = await lostTwice(first)
  // The second one would wait for seconds, if it had a turn.
  const both = await Promise.all([begin(first, lost), begin(first, lost)])
  const meanwhile = await isHeld()
  expect(meanwhile.isHeld).toBe(true)
  for (const one of both) await first.rollbackTransaction({ id: [one] })
  await meanwhile.inserted
  expect((await isHeld()).isHeld).toBe(false)
})

test('a turn counts from lost races only, and not from what was given up', async () => {
  const { first, begin, count, isHeld } = await served()
  let former: string | undefined
  for (let n = 0; n < 3; n++) {
    former = await begin(first, former)
    await count(first, former)
    await first.rollbackTransaction({ id: [former] })
  }
  await begin(first, former)
  expect((await isHeld()).isHeld).toBe(false)
})

test('what cannot be done again is refused, and nothing is begun', async () => {
  const { catalog, first, second, begin, lostTwice, isHeld } = await served({
    openTransactions: { perPrincipal: 1 },
  })
  const unknown = '0'.repeat(26)
  const lost = await lostTwice(second)
  const { transaction_id: change = '' } = await catalog.createNamespace({ id: ['n'] })
  for (const other of [unknown, lost, change]) {
    await expect(begin(first, other)).rejects.toMatchObject({
      code: 'TransactionNotFound',
      message: expect.stringContaining(other),
    })
  }
  for (const wrong of ['', 'two, ids', 'x'.repeat(129), 7, { id: unknown }]) {
    await expect(begin(first, wrong as string)).rejects.toMatchObject({
      code: 'InvalidInput',
      message: expect.stringContaining('retry_of'),
    })
  }
  // Its owner still has what it lost.
  const third = await begin(second, lost)
  const meanwhile = await isHeld()
  expect(meanwhile.isHeld).toBe(true)
  await second.commitTransaction({ id: [third] })
  await meanwhile.inserted
  await expect(begin(second, third)).rejects.toMatchObject({
    code: 'ConcurrentModification',
    message: expect.stringContaining('is committed'),
  })
  await first.rollbackTransaction({ id: [await begin(first)] })
})

test('what is still open is not done again, and goes on', async () => {
  const { first, begin, count } = await served()
  const open = await begin(first)
  await expect(begin(first, open)).rejects.toMatchObject({
    code: 'InvalidInput',
    message: expect.stringContaining('still open'),
  })
  expect((await count(first, open)).count).toBe(1)
  await first.commitTransaction({ id: [open] })
})

test('a caller who keeps turns and changes nothing gets none after two, and others do', async () => {
  const { first, second, begin, lostTwice, isHeld } = await served()
  // They are abandoned, and end by themselves.
  for (let turn = 0; turn < 2; turn++) {
    await begin(first, await lostTwice(first))
    const meanwhile = await isHeld()
    expect(meanwhile.isHeld).toBe(true)
    await meanwhile.inserted
  }
  await begin(first, await lostTwice(first))
  expect((await isHeld()).isHeld).toBe(false)
  const other = await begin(second, await lostTwice(second))
  const later = await isHeld()
  expect(later.isHeld).toBe(true)
  await second.rollbackTransaction({ id: [other] })
  await later.inserted
})

test('a caller who goes away while a transaction waits for its turn leaves none open', async () => {
  const { catalog, first, second, begin, lostTwice } = await served()
  const lost = await lostTwice(first)
  const holder = await begin(second, await lostTwice(second))
  const open = async () => (await catalog.metrics()).openTransactions
  const gone = new AbortController()
  const waiting = begin(first, lost, gone.signal)
  waiting.catch(() => {})
  await expect.poll(open).toBe(2)
  gone.abort(new Error('gone'))
  await expect(waiting).rejects.toThrow('gone')
  await expect.poll(open).toBe(1)
  await second.rollbackTransaction({ id: [holder] })
})

test('a function goes on without a turn that is not there within the timeout of its client', async () => {
  const { first, second, begin, lostTwice, insert } = await served({}, 1_000)
  const lost = await lostTwice(second)
  let runs = 0
  let holder = ''
  await first.transaction(
    async (tx) => {
      await tx.countTableRows({ id })
      if (++runs > 2) return
      await insert()
      if (runs === 2) holder = await begin(second, lost)
      await tx.countTableRows({ id })
    },
    { attempts: 3 },
  )
  expect(runs).toBe(3)
  await second.rollbackTransaction({ id: [holder] })
})
