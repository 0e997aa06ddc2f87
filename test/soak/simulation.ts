import { loadSimulation } from '../simulation/load.ts'
import type { Scenario } from './scenario.ts'

/** The number of seeds in one round. */
const seeds = 25

/** Simulated fleets in virtual time, one seed at a time, with checks of their responses. */
export async function simulation(seed: number): Promise<Scenario> {
  const { simulate, scriptOf, shrink, report } = await loadSimulation()
  const counts = { fleets: 0, events: 0, 'virtual hours': 0 }
  return {
    counts,
    async round(until) {
      for (let i = 0; i < seeds && Date.now() < until; i++) {
        const script = scriptOf((seed + counts.fleets) >>> 0)
        const run = await simulate(script)
        counts.fleets++
        counts.events += run.events
        counts['virtual hours'] += Math.round(run.millis / 3_600_000)
        if (run.failure === undefined) continue
        const found = { script, run: { ...run, failure: run.failure } }
        throw new Error(report(found, await shrink(found)))
      }
    },
    end: async () => {},
  }
}
