import { expect, it } from 'vitest'
import { loadSimulation } from './load.ts'

/** `SIMULATION_SEED` and `SIMULATION_RUNS` set the first seed and the number of runs. */
const first = Number(process.env.SIMULATION_SEED ?? 1)
const count = Number(process.env.SIMULATION_RUNS ?? 50)

it(`keeps all invariants in ${count} simulated fleets from seed ${first} on`, {
  timeout: 20_000 + 500 * count,
}, async () => {
  const { firstViolation, shrink, report } = await loadSimulation()
  const found = await firstViolation(first, count)
  expect(found && report(found, await shrink(found))).toBeUndefined()
})
