import { type ConcurrentHistory, concurrentHistory, LinearProcesses } from '../processes/linear-run.ts'
import type { Scenario } from './scenario.ts'
import { tryRandomly } from './try-randomly.ts'

const processCount = 3

/** Histories of several processes at once, some over HTTP, against the model. */
export async function linear(seed: number): Promise<Scenario> {
  const processes = new LinearProcesses(processCount)
  const counts = { histories: 0, calls: 0 }
  return {
    counts,
    async round(until) {
      const check = async (history: ConcurrentHistory) => {
        counts.calls += await processes.check(history)
      }
      const trial = { numRuns: 5, seed: seed + counts.histories, until }
      await tryRandomly(concurrentHistory(processCount), check, trial)
      counts.histories += trial.numRuns
    },
    async end() {
      processes[Symbol.dispose]()
    },
  }
}
