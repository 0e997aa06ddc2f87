import { describe, expect, test } from 'vitest'
import { missingPostgres, sharedServer } from '../support/postgres.ts'
import { runApart } from './clock-run.ts'

const factor = Number(process.env.HISTORY_RUNS ?? 1)

describe.skipIf(missingPostgres)('in PostgreSQL', { timeout: 60_000 * factor }, () => {
  test('processes whose clocks stand hours apart lose nothing to leases, retention and vacuum', async () => {
    for (let seed = 1; seed <= factor; seed++) {
      expect(await runApart(await sharedServer(), seed * 10, 25)).toBeGreaterThan(0)
    }
  })

  test('over a network that is slow and loses connections, they neither lose anything nor do it twice', async () => {
    const network = { delay: 10, held: { share: 0.02, millis: 200 }, resets: 0.005, silences: 0 }
    for (let seed = 1; seed <= factor; seed++) {
      expect(await runApart(await sharedServer(), seed * 10 + 5, 12, network)).toBeGreaterThan(0)
    }
  })
})
