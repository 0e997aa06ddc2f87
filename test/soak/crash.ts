import { CrashRun } from '../processes/crash-run.ts'
import type { Scenario } from './scenario.ts'

/** Processes on one catalog see so many kills before the next catalog is begun. */
const killsEach = 60

/** Kills processes at work; `faults` is the share of writes to the content that fail. */
export function crashes(faults: number): () => Promise<Scenario> {
  return async () => {
    const runs = [await CrashRun.begin(faults)]
    const sum = (what: 'total' | 'refused' | 'faults') =>
      runs.reduce((all, { acknowledged }) => all + acknowledged[what], 0)
    let kills = 0
    return {
      get counts() {
        const disk = { refused: sum('refused'), faults: sum('faults') }
        return { kills, acknowledged: sum('total'), ...(faults > 0 ? disk : {}) }
      },
      async round() {
        await runs.at(-1)!.kill()
        if (++kills % killsEach !== 0) return
        await runs.at(-1)!.end()
        runs.push(await CrashRun.begin(faults))
      },
      async end() {
        await runs.at(-1)!.end()
      },
    }
  }
}
