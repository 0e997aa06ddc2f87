import { expect, test } from 'vitest'
import { limitEach } from '../support/time-limit.ts'
import { BeginningRun, type OpeningLoad, OpeningRun } from './opening-run.ts'

// Processes open and close a store for seconds.
limitEach(60)

const seconds = Number(process.env.OPENING_SECONDS ?? 10)

/** With one further process, and with many. */
const loads: Readonly<Record<string, OpeningLoad>> = {
  'one writer of 4 in flight, one opener': { writers: [4], lookers: 1, visitors: 0, kills: false },
  'writers of 4 and 64 in flight, 4 openers, some killed': {
    writers: [4, 64],
    lookers: 2,
    visitors: 2,
    copiers: 1,
    kills: true,
  },
  '16 openers': { writers: [4], lookers: 12, visitors: 4, kills: false },
}

test.each(Object.entries(loads))(
  'nothing acknowledged is lost while others open and close: %s',
  async (_, load) => {
    const run = await OpeningRun.begin(load)
    await run.round((seconds * 1000) / Object.keys(loads).length)
    await run.end()
    if (process.env.OPENING_SECONDS) console.log(run.totals, run.worst)
    expect(run.totals.opens).toBeGreaterThan(load.lookers)
    expect(run.totals.writes).toBeGreaterThan(0)
  },
  60_000 + seconds * 1000,
)

test(
  'new stores that several processes open in the same instant are one store each',
  async () => {
    using run = new BeginningRun()
    const end = Date.now() + seconds * 300
    let rounds = 0
    for (; Date.now() < end || rounds < 5; rounds++) await run.round()
    if (process.env.OPENING_SECONDS) console.log({ rounds })
  },
  60_000 + seconds * 1000,
)
