import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { emptyWorld, linearize, type SingleCall } from '../histories/linearize.ts'
import { concurrentHistory, LinearProcesses } from './linear-run.ts'

const factor = Number(process.env.HISTORY_RUNS ?? 1)
const count = 3

let processes: LinearProcesses

beforeAll(() => {
  processes = new LinearProcesses(count)
})

afterAll(() => {
  processes?.[Symbol.dispose]()
})

test('what processes do at the same time, some over HTTP, comes to what some order of it does', {
  timeout: 60_000 * factor,
}, async () => {
  await fc.assert(
    fc.asyncProperty(concurrentHistory(count), async (history) => {
      await processes.check(history)
    }),
    { numRuns: 15 * factor },
  )
})

test('a history that no order explains is found', () => {
  const worlds = [emptyWorld()]
  const create = (start: number, end: number, outcome: SingleCall['outcome']): SingleCall => ({
    command: { operation: 'createNamespace', request: { id: ['a'] } },
    outcome,
    start,
    end,
  })
  const won = { answer: { properties: {}, transaction_id: 'x' } }
  const lost = { error: 'NamespaceAlreadyExists' } as const
  expect(linearize(worlds, [create(1, 4, won), create(2, 3, lost)])).toHaveLength(1)
  // The loser had ended before the winner began.
  expect(linearize(worlds, [create(3, 4, won), create(1, 2, lost)])).toEqual([])
})
