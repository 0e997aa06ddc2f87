import fc from 'fast-check'
import { describe, test } from 'vitest'
import { missingPostgres } from '../support/postgres.ts'
import { databasePlace } from './database-place.ts'
import { concurrentHistory, LinearProcesses } from './linear-run.ts'

const factor = Number(process.env.HISTORY_RUNS ?? 1)
const count = 4

describe.skipIf(missingPostgres)('in PostgreSQL', () => {
  test('what processes do at the same time, some over HTTP, comes to what some order of it does', {
    timeout: 60_000 * factor,
  }, async () => {
    using processes = new LinearProcesses(count, databasePlace)
    await fc.assert(
      fc.asyncProperty(concurrentHistory(count), async (history) => {
        await processes.check(history)
      }),
      { numRuns: 6 * factor },
    )
  })
})
