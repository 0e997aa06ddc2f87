import { test } from 'vitest'
import { CrashRun } from './crash-run.ts'

const factor = Number(process.env.HISTORY_RUNS ?? 1)

test.concurrent.each([
  { kills: 14 * factor, faults: 0 },
  { kills: 8 * factor, faults: 0 },
  { kills: 10 * factor, faults: 0.05 },
])(
  'what was acknowledged is there and nothing in part, after $kills kills on a disk that fails $faults of all writes',
  {
    timeout: 240_000 * factor,
  },
  async ({ kills, faults }) => {
    const run = await CrashRun.begin(faults)
    // A busy machine may kill many processes before their disk has failed once.
    const isTried = () =>
      run.acknowledged.total > kills &&
      run.acknowledged.pairs.size > 0 &&
      (faults === 0 || run.acknowledged.faults > 0)
    for (let n = 0; n < kills || !isTried(); n++) await run.kill()
    await run.end()
  },
)
