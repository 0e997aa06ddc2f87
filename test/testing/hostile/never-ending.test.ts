import { expect, it } from 'vitest'
import { catalogFixture, fakeCatalog } from '../../../src/testing/index.ts'

const forever = () => new Promise<never>(() => {})
const seed = { t: [{ x: 1 }] }

it('closing a fake ends a transaction whose function never ends, and says so', async () => {
  const fake = await fakeCatalog({ seed })
  let id = ''
  const endless = fake.transaction(async (tx) => {
    id = tx.transactionId
    await tx.insertIntoTable({ id: ['t'], data: [{ x: 2 }] })
    await forever()
  })
  const caught = endless.catch((error) => error)
  while (id === '') await new Promise((resolve) => setImmediate(resolve))
  const before = fake.fork()
  await fake.close()
  expect(await caught).toMatchObject({
    code: 'ServiceUnavailable',
    message: expect.stringContaining('was closed while the function of the transaction'),
  })
  expect((await before.countTableRows({ id: ['t'] })).count).toBe(1)
  await before.close()
  await fake.close()
})

it('a fixture waits for nothing that never comes', async () => {
  const fixture = catalogFixture({ seed })
  const caught: unknown[] = []
  await fixture({}, async (catalog) => {
    catalog.faults.add({ operation: 'tableExists', delay: { clock: 5_000 } })
    catalog.faults.add({ operation: 'dropTable', running: true })
    await catalog.dropTable({ id: ['t'] })
    void catalog.tableExists({ id: ['t'] }).catch((error) => caught.push(error))
    void catalog.transaction(forever).catch((error) => caught.push(error))
    const { signal } = new AbortController()
    void catalog.transaction(forever, { signal }).catch((error) => caught.push(error))
    const watched = catalog.watch()[Symbol.asyncIterator]()
    void watched.next().catch((error: unknown) => caught.push(error))
    await catalog.beginTransaction({})
  })
  expect(
    caught.filter((error) => (error as { code?: string }).code === 'ServiceUnavailable').length,
  ).toBeGreaterThan(1)
  await fixture({}, async (catalog) => {
    expect((await catalog.countTableRows({ id: ['t'] })).count).toBe(1)
  })
})
