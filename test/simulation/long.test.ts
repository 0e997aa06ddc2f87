import { expect, it } from 'vitest'
import { loadSimulation } from './load.ts'

/** Seeds after those of every test run. */
const first = 1_000
const count = 800 * Number(process.env.HISTORY_RUNS ?? 1)

it(`keeps all invariants in ${count} simulated fleets`, { timeout: 20_000 + 400 * count }, async () => {
  const { firstViolation, shrink, report } = await loadSimulation()
  const found = await firstViolation(first, count)
  expect(found && report(found, await shrink(found))).toBeUndefined()
})
