import { test } from 'vitest'
import { CrashRun } from './crash-run.ts'

const factor = Number(process.env.HISTORY_RUNS ?? 1)

test.concurrent.each([
  { kills: 14 * factor, faults: 0, only: '' },
  { kills: 8 * factor, faults: 0, only: '' },
  { kills: 10 * factor, faults: 0.05, only: '' },
  { kills: 5 * factor, faults: 0, only: 'pairs' },
])(
  'what was acknowledged is there and nothing in part, after $kills kills on a disk that fails $faults of all writes ($only)',
  {
    timeout: 120_000 * factor,
  },
  async ({ kills, faults, only }) => {
    const run = await CrashRun.begin(faults, only)
    // A busy machine may kill many processes before their disk has failed once.
    const isTried = () => run.acknowledged.total > kills && (faults === 0 || run.acknowledged.faults > 0)
    for (let n = 0; n < kills || !isTried(); n++) await run.kill()
    await run.end()
  },
)
