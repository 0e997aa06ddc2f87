import { CrashRun } from '../processes/crash-run.ts'
import type { Scenario } from './scenario.ts'

/** The kills on one catalog before the next one. */
const killsEach = 60

/** Kills working processes. `faults` is the share of content writes that fail, `only` the single task to run. */
export function crashes(faults: number, only = ''): () => Promise<Scenario> {
  return async () => {
    const runs = [await CrashRun.begin(faults, only)]
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
        runs.push(await CrashRun.begin(faults, only))
      },
      async end() {
        await runs.at(-1)!.end()
      },
    }
  }
}
