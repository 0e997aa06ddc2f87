import { expect, onTestFinished, test } from 'vitest'
import { valid } from '../soak/valid.ts'
import { limitEach } from '../support/time-limit.ts'

// Requests of every operation at the bounds of their fields take long.
limitEach(240)

/* `npm run soak -- --only valid` does this for a given time. */

const seed = Number(process.env.FC_SEED ?? 20_261_120)
const requests = 80 * Number(process.env.HISTORY_RUNS ?? 1)

test(
  'valid requests at the bounds of their fields are answered or refused, in bounded memory, disk and time',
  async () => {
    const scenario = await valid(seed)
    let hasEnded = false
    onTestFinished(async () => {
      if (!hasEnded) await scenario.end()
    })
    for (let i = 0; i < requests; i++) await scenario.round(Number.POSITIVE_INFINITY)
    hasEnded = true
    await scenario.end()
    expect(scenario.counts.requests).toBe(requests)
    // Most of them would say nothing if nothing were answered.
    expect(scenario.counts.answered).toBeGreaterThan(requests / 4)
  },
  requests * 1_500,
)
