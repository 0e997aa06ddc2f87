import { rm } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { openCatalog } from '../../src/index.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { missingPostgres, sharedServer } from '../support/postgres.ts'
import { concurrentHistory, LinearProcesses } from './linear-run.ts'

const factor = Number(process.env.HISTORY_RUNS ?? 1)
const count = 4

async function databasePlace() {
  const location = (await (await sharedServer()).freshUrl()) as `postgres://${string}`
  const folder = await temporaryDirectory()
  const content = pathToFileURL(folder).href
  // The catalog remembers its content, so that the processes find it.
  await (await openCatalog(location, { content })).close()
  return { location, root: `${content}/`, dispose: () => rm(folder, { recursive: true, force: true }) }
}

describe.skipIf(missingPostgres)('in PostgreSQL', () => {
  test('what processes do at the same time, some over HTTP, comes to what some order of it does', {
    timeout: 240_000 * factor,
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
