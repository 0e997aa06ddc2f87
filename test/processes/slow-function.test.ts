import { test } from 'vitest'
import { freshFolder } from '../support/catalogs.ts'
import { limitEach } from '../support/time-limit.ts'
import { runSlowly } from './slow-function-run.ts'

// Inserters are processes of their own, and a function loses to them until it gets a turn.
limitEach(60)

test.each([
  ['an inserter in a process of its own', { processes: 1, inserters: 0 }],
  ['four inserters in processes of their own', { processes: 4, inserters: 0 }],
  ['an inserter in its process', { processes: 0, inserters: 1 }],
  ['four inserters in its process', { processes: 0, inserters: 4 }],
  [
    'two inserters in processes of their own and two inserters in its process',
    { processes: 2, inserters: 2 },
  ],
])('in a directory, a slow function commits beside %s', async (_, others) => {
  await runSlowly(await freshFolder(), others)
})

test.each([
  ['four inserters in processes of their own', { processes: 4, inserters: 0 }],
  ['four inserters in the process of the server', { processes: 0, inserters: 4 }],
])('over HTTP, in a directory, a slow function commits beside %s', async (_, others) => {
  await runSlowly(await freshFolder(), { ...others, overHttp: true })
})

test('in memory, a slow function commits beside quick inserts', async () => {
  await runSlowly('memory:', { processes: 0, inserters: 4 })
})

test('over HTTP, in memory, a slow function commits beside quick inserts', async () => {
  await runSlowly('memory:', { processes: 0, inserters: 4, overHttp: true })
})
