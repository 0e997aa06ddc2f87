import { BeginningRun, OpeningRun } from '../processes/opening-run.ts'
import type { Scenario } from './scenario.ts'

const roundMillis = 2000
/** The rounds before the next store, with other processes. */
const roundsEach = 10
const crowds = [
  { writers: [4], lookers: 1, visitors: 0, kills: false },
  { writers: [64], lookers: 2, visitors: 2, copiers: 2, kills: true },
  { writers: [4, 64], lookers: 12, visitors: 4, kills: true },
  { writers: [1], lookers: 0, visitors: 4, kills: false },
] as const

/** Processes open, write, close, are killed and exit, all on one store. The end checks the counter in it. */
export async function opening(): Promise<Scenario> {
  const counts = {
    stores: 0,
    opens: 0,
    writes: 0,
    kills: 0,
    'ms at most to open': 0,
    'ms at most to write': 0,
  }
  let run = await OpeningRun.begin(crowds[0]!)
  let rounds = 0
  const end = async () => {
    await run.end()
    counts.stores++
    counts.opens += run.totals.opens
    counts.writes += run.totals.writes
    counts.kills += run.totals.kills
    counts['ms at most to open'] = Math.max(counts['ms at most to open'], Math.round(run.worst.open))
    counts['ms at most to write'] = Math.max(counts['ms at most to write'], Math.round(run.worst.write))
  }
  return {
    counts,
    async round() {
      await run.round(roundMillis)
      if (++rounds % roundsEach !== 0) return
      await end()
      run = await OpeningRun.begin(crowds[(rounds / roundsEach) % crowds.length]!)
    },
    end,
  }
}

/** Processes open new stores together, repeatedly. */
export async function beginning(): Promise<Scenario> {
  const run = new BeginningRun()
  const counts = { stores: 0 }
  return {
    counts,
    async round() {
      await run.round()
      counts.stores++
    },
    async end() {
      run[Symbol.dispose]()
    },
  }
}
