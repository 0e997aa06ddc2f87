import { expect, it } from 'vitest'
import { loadSimulation } from './load.ts'

const simulation = await loadSimulation()
const { firstBroken, shrink, sizeOf, mutations } = simulation

/** The number of seeds to try until a bug shows. */
const most = 2_000

it.each(Object.entries(mutations))('%s: the simulation finds it', async (name, mutation) => {
  const found = await firstBroken(1, most, mutation)
  expect(found, `${name} is not found by ${most} seeds.`).toBeDefined()
  // Without the bug, the same script violates no invariant.
  expect((await simulation.simulate(found!.script)).failure).toBeUndefined()
  const short = await shrink(found!, mutation)
  expect(sizeOf(short.script)).toBeLessThan(sizeOf(found!.script))
})
