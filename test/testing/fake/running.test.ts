import { describe, expect, it } from 'vitest'
import { type Fault, fakeCatalog } from '../../../src/testing/index.ts'
import { eachWay, outcome } from './ways.ts'

const seed = { prod: { flights: [{ delay: 75 }, { delay: 12 }] } }
const flights = ['prod', 'flights']

eachWay((open) => {
  const start = async (fault: Partial<Fault>) => {
    const { fake, catalog } = await open({ seed })
    const active = fake.faults.add({ operation: 'insertIntoTable', running: true, ...fault })
    const answer = await catalog.insertIntoTable({ id: flights, data: [{ delay: 1 }] })
    const status = async () => (await catalog.describeTransaction({ id: [answer.transaction_id!] })).status
    const count = async () => (await catalog.countTableRows({ id: flights })).count
    return { fake, catalog, active, answer, status, count }
  }

  it('is acknowledged and not seen, until it is released', async () => {
    const { active, answer, status, count, catalog } = await start({})
    expect(answer).toMatchObject({ version: 2, num_inserted_rows: 1 })
    expect([await status(), await count()]).toEqual(['Running', 2])
    await active.release()
    expect([await status(), await count()]).toEqual(['Succeeded', 3])
    expect((await catalog.listTableVersions({ id: flights })).versions.map(({ version }) => version)).toEqual(
      [1, 2],
    )
    await active.release()
    expect(await count()).toBe(3)
  })

  it('is done when the clock has moved on, however far', async () => {
    const { fake, status, count } = await start({ running: { clock: 3_600_000 } })
    fake.clock.advance(3_599_999)
    expect([await status(), await count()]).toEqual(['Running', 2])
    fake.clock.advance(1)
    await fake.faults.clear()
    expect([await status(), await count()]).toEqual(['Succeeded', 3])
  })

  it('is done when it was described so often', async () => {
    const { status, count } = await start({ running: { describes: 2 } })
    expect([await status(), await status(), await count()]).toEqual(['Running', 'Running', 2])
    expect([await status(), await status(), await count()]).toEqual(['Succeeded', 'Succeeded', 3])
  })

  it('is called off when it is canceled', async () => {
    const { fake, catalog, answer, status, count } = await start({})
    await catalog.alterTransaction({
      id: [answer.transaction_id!],
      actions: [{ setStatusAction: { status: 'Canceled' } }],
    })
    await fake.faults.clear()
    expect([await status(), await count()]).toEqual(['Canceled', 2])
  })

  it('fails when it cannot be made any more', async () => {
    const { fake, catalog, answer, status } = await start({})
    await catalog.dropTable({ id: flights })
    await fake.faults.clear()
    expect(await status()).toBe('Failed')
    const { properties } = await catalog.describeTransaction({ id: [answer.transaction_id!] })
    expect(properties).toMatchObject({ failure_code: 'TableNotFound' })
  })

  it('lets others go first, and is made on what they left', async () => {
    const { fake, catalog, status, count } = await start({ times: 1 })
    await catalog.insertIntoTable({ id: flights, data: [{ delay: 2 }, { delay: 3 }] })
    expect(await count()).toBe(4)
    await fake.faults.clear()
    expect([await status(), await count()]).toEqual(['Succeeded', 5])
  })
})

describe('a change that stays Running', () => {
  it.each([
    ['createTable', { id: ['prod', 'a'], data: [{ x: 1 }] }],
    ['declareTable', { id: ['prod', 'a'] }],
    ['renameTable', { id: flights, new_table_name: 'trips' }],
    ['dropTable', { id: flights }],
    ['createTableTag', { id: flights, tag: 't', version: 1 }],
    [
      'batchCommitTables',
      { operations: [{ declare_table: { id: ['prod', 'a'] } }, { deregister_table: { id: flights } }] },
    ],
  ] as const)('ends as it would have at once: %s', async (name, request) => {
    const at = async (faults: Fault[]) => {
      const fake = await fakeCatalog({ seed, faults })
      const answer = await fake[name](request as never)
      const transaction = await fake.describeTransaction({ id: [answer.transaction_id!] })
      const before = await fake.listTables({ id: [] })
      await fake.faults.clear()
      const after = {
        answer,
        tables: await fake.listTables({ id: [] }),
        tags: await outcome(fake.listTableTags({ id: flights })),
        described: await outcome(fake.describeTable({ id: ['prod', 'a'] })),
        transaction: await fake.describeTransaction({ id: [answer.transaction_id!] }),
      }
      return { status: transaction.status, before, after }
    }
    const once = await at([])
    const held = await at([{ operation: name, running: true }])
    expect([once.status, held.status]).toEqual(['Succeeded', 'Running'])
    expect(held.before.tables).toEqual(['prod$flights'])
    expect(held.after).toEqual(once.after)
  })

  it('is nothing to wait for when nothing had to change, and not there when it is refused', async () => {
    const manifest_path = '1.manifest-6f9a1b2c-3d4e-4f5a-8b6c-7d8e9f0a1b2c'
    const fake = await fakeCatalog({ seed: { t: { $versions: [{ manifest_path }] } } })
    const fault = fake.faults.add({ running: true })
    const { transaction_id } = await fake.createTableVersion({ id: ['t'], version: 1, manifest_path })
    expect(transaction_id).toBe(undefined)
    expect(await outcome(fake.dropTable({ id: ['u'] }))).toBe('TableNotFound')
    await fault.release()
    expect((await fake.listTableVersions({ id: ['t'] })).versions.length).toBe(1)
  })
})
