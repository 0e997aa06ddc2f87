import { expect, it } from 'vitest'
import { limitEach } from '../support/time-limit.ts'
import { loadSimulation } from './load.ts'

// It tries simulated fleets until one violates an invariant, and then shrinks its script.
limitEach(120)

const simulation = await loadSimulation()
const { firstViolation, shrink, sizeOf, mutations } = simulation

/** The number of seeds to try until a bug shows. */
const most = 2_000

it.each(Object.entries(mutations))('%s: the simulation finds it', async (name, mutation) => {
  const found = await firstViolation(1, most, mutation)
  expect(found, `${name} is not found by ${most} seeds.`).toBeDefined()
  // Without the bug, the same script violates no invariant.
  expect((await simulation.simulate(found!.script)).failure).toBeUndefined()
  const short = await shrink(found!, mutation)
  expect(sizeOf(short.script)).toBeLessThan(sizeOf(found!.script))
})
