import fc from 'fast-check'
import { concurrentHistory, LinearProcesses } from '../processes/linear-run.ts'
import type { Scenario } from './scenario.ts'

const processCount = 3

/** Histories of several processes at once, some over HTTP, against the model. */
export async function linear(seed: number): Promise<Scenario> {
  const processes = new LinearProcesses(processCount)
  const counts = { histories: 0, calls: 0 }
  return {
    counts,
    async round() {
      const check = fc.asyncProperty(concurrentHistory(processCount), async (history) => {
        counts.calls += await processes.check(history)
      })
      const numRuns = 5
      await fc.assert(check, { numRuns, seed: seed + counts.histories })
      counts.histories += numRuns
    },
    async end() {
      processes[Symbol.dispose]()
    },
  }
}
