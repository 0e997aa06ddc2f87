import { describe, onTestFinished, test } from 'vitest'
import { missingPostgres } from '../support/postgres.ts'
import { limitEach } from '../support/time-limit.ts'
import { databasePlace } from './database-place.ts'
import { runSlowly } from './slow-function-run.ts'

// Inserters are processes of their own, and a function loses to them until it gets a turn.
limitEach(60)

describe.skipIf(missingPostgres)('in PostgreSQL', () => {
  test.each([
    ['an inserter in a process of its own', { processes: 1, inserters: 0 }],
    ['four inserters in processes of their own', { processes: 4, inserters: 0 }],
    ['four inserters in its process', { processes: 0, inserters: 4 }],
    [
      'two inserters in processes of their own and two inserters in its process',
      { processes: 2, inserters: 2 },
    ],
  ])('a slow function commits beside %s', async (_, others) => {
    const { location, dispose } = await databasePlace()
    onTestFinished(dispose)
    await runSlowly(location, others)
  })

  test('over HTTP, a slow function commits beside inserters in processes of their own and in that of the server', async () => {
    const { location, dispose } = await databasePlace()
    onTestFinished(dispose)
    await runSlowly(location, { processes: 2, inserters: 2, overHttp: true })
  })
})
