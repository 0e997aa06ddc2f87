import { expect, test } from 'vitest'
import { compiled } from './compiled.ts'
import { CrashRun } from './crash-run.ts'

const factor = Number(process.env.HISTORY_RUNS ?? 1)

test.concurrent.each([
  { kills: 20 * factor, faults: 0 },
  { kills: 12 * factor, faults: 0 },
  { kills: 16 * factor, faults: 0.05 },
])(
  'what was acknowledged is there and nothing in part, after $kills kills on a disk that fails $faults of all writes',
  {
    timeout: 120_000 * factor,
  },
  async ({ kills, faults }) => {
    await using script = await compiled('crash-child.ts')
    const run = await CrashRun.begin(script.path, faults)
    for (let n = 0; n < kills; n++) await run.kill()
    await run.end()
    const { total, faults: injected } = run.acknowledged
    expect(total).toBeGreaterThan(kills)
    if (faults > 0) expect(injected).toBeGreaterThan(0)
  },
)
