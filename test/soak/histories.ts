import fc from 'fast-check'
import { beginnings, beginningWithRows, command } from '../histories/commands.ts'
import { runHistory } from '../histories/run-history.ts'
import { stages } from '../histories/stages.ts'
import type { Scenario } from './scenario.ts'

const length = 25

/** Histories of one process, calls one by one and at the same time, against the model, on each store. */
export async function histories(seed: number): Promise<Scenario> {
  const counts = { histories: 0 }
  const one = command()
  const group = fc.array(one, { minLength: 1, maxLength: 3 })
  const history = fc.tuple(
    fc.constantFrom(...Object.keys(stages)),
    fc.constantFrom(...beginnings, beginningWithRows),
    fc.array(group, { maxLength: length, size: 'max' }),
  )
  const check = fc.asyncProperty(history, async ([stage, first, rest]) => {
    await using opened = await stages[stage]!()
    await runHistory(opened, [...first.map((call) => [call]), ...rest])
  })
  return {
    counts,
    async round() {
      const numRuns = 3
      await fc.assert(check, { numRuns, seed: seed + counts.histories })
      counts.histories += numRuns
    },
    end: async () => {},
  }
}
