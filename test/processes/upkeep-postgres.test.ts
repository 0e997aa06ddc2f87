import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { keys, type TaskRecord } from '../../src/base/store/records.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { missingPostgres, sharedServer } from '../support/postgres.ts'
import { Child } from './child-process.ts'
import { databasePlace } from './database-place.ts'

/** The initial number of change records, and the number to keep. */
const many = 3_000
const few = 100

// It waits for a lease of a minute.
describe.skipIf(missingPostgres)('upkeep in PostgreSQL', { timeout: 420_000 }, () => {
  test('of a process that was killed in the middle of it is finished by another one', async () => {
    const place = await databasePlace()
    onTestFinished(() => place.dispose())
    const location = place.location as `postgres://${string}`
    const store = await openPostgresStore(location)
    onTestFinished(() => store.close())
    const lease = () => store.read((tx) => tx.get<TaskRecord>(keys.task(['upkeep'])))
    const records = () =>
      store.read((tx) => Array.from(tx.range({ prefix: keys.transactions, keysOnly: true })).length)
    const filling = await openCatalog(location)
    await Promise.all(Array.from({ length: many }, (_, n) => filling.createNamespace({ id: [`n${n}`] })))
    await filling.close()

    const server = await sharedServer()
    const ofHolders = () => server.query(`SELECT pid FROM pg_stat_activity WHERE application_name = 'holder'`)
    let held: TaskRecord | undefined
    // Skips a holder that has just finished.
    for (let n = 0; n < 10 && held === undefined; n++) {
      const child = new Child('test/processes/upkeep-holder-child.ts', [location, String(few)], {
        PGAPPNAME: 'holder',
      })
      onTestFinished(() => child.stop())
      await expect.poll(lease, { interval: 5 }).toBeDefined()
      await child.kill()
      // The database may still execute statements of the killed process.
      await expect.poll(ofHolders, { interval: 20 }).toEqual([])
      held = await lease()
    }
    expect(held!.until).toBeGreaterThan(store.now!())
    const left = await records()
    expect(left).toBeGreaterThan(2 * few)

    const other = await openCatalog(location, { transactionCount: few })
    onTestFinished(() => other.close())
    let made = 0
    const clears = async () => {
      await other.createNamespace({ id: [`other${made++}`] })
      return records()
    }
    // While the lease lasts, no other process clears records.
    while (store.now!() < held!.until - 5_000) {
      const there = await clears()
      if (store.now!() < held!.until) expect(there).toBe(left + made)
      // The lease lasts a minute: some looks are enough.
      await sleep(1_000)
    }
    await expect.poll(clears, { interval: 250, timeout: 180_000 }).toBeLessThan(2 * few)
    await expect.poll(lease).toBeUndefined()
  })
})
