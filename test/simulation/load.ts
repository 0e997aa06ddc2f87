import { createRequire } from 'node:module'
import { simulationPath } from '../support/scripts.ts'

type Simulation = typeof import('./index.ts')

/** The simulation, bundled with the package. `bundleScripts` has made it. */
export async function loadSimulation(): Promise<Simulation> {
  const simulation = createRequire(import.meta.url)(simulationPath) as Simulation
  // Warms up lazy modules and singletons of the package.
  for (let seed = 1; seed <= 2; seed++)
    await simulation.simulate(simulation.scriptOf(seed), {}, { loadingMillis: 5_000 })
  return simulation
}
