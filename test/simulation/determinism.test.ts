import { expect, it } from 'vitest'
import { loadSimulation } from './load.ts'

it('two runs of one seed are the same, event for event', async () => {
  const { simulate, scriptOf } = await loadSimulation()
  const hashes = new Set<number>()
  for (let seed = 1; seed <= 10; seed++) {
    const first = await simulate(scriptOf(seed))
    const second = await simulate(scriptOf(seed))
    expect([seed, second.hash, second.events]).toEqual([seed, first.hash, first.events])
    hashes.add(first.hash)
  }
  expect(hashes.size).toBe(10)
})
