import fc from 'fast-check'
import { beginnings, beginningWithRows, command } from '../histories/commands.ts'
import { runHistory } from '../histories/run-history.ts'
import { stages } from '../histories/stages.ts'
import type { Scenario } from './scenario.ts'
import { tryRandomly } from './try-randomly.ts'

const length = 25

/** Sequential and concurrent histories of one process, on each store, compared with the model. */
export async function histories(seed: number): Promise<Scenario> {
  const counts = { histories: 0 }
  const one = command()
  const group = fc.array(one, { minLength: 1, maxLength: 3 })
  const history = fc.tuple(
    fc.constantFrom(...Object.keys(stages)),
    fc.constantFrom(...beginnings, beginningWithRows),
    fc.array(group, { maxLength: length, size: 'max' }),
  )
  const check = async ([stage, first, rest]: typeof history extends fc.Arbitrary<infer T> ? T : never) => {
    await using opened = await stages[stage]!()
    await runHistory(opened, [...first.map((call) => [call]), ...rest])
  }
  return {
    counts,
    async round(until) {
      const trial = { numRuns: 3, seed: seed + counts.histories, until }
      await tryRandomly(history, check, trial)
      counts.histories += trial.numRuns
    },
    end: async () => {},
  }
}
