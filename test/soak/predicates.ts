import { differencesAmongUs, differencesToReference } from '../engine/predicate/reference/judges.ts'
import { valueDifferences } from '../engine/predicate/reference/value-judge.ts'
import { Refusals } from './refusals.ts'
import type { Scenario } from './scenario.ts'

/** Random predicates and expressions over columns of every type, on other tables in each round. */
export async function predicates(seed: number): Promise<Scenario> {
  const counts = { rounds: 0, predicates: 0, comparisons: 0, expressions: 0, refusals: 0 }
  const refusals = new Refusals()
  const runs = 500
  return {
    counts,
    notes: refusals.kept,
    async round() {
      const round = seed + counts.rounds
      refusals.add(round, await differencesToReference(round, runs))
      counts.predicates += runs
      refusals.add(round, differencesAmongUs(round, runs))
      counts.comparisons += runs
      refusals.add(round, await valueDifferences(round, runs))
      counts.expressions += runs
      counts.refusals = refusals.count
      refusals.check(counts.predicates + counts.expressions)
      counts.rounds++
    },
    async end() {},
  }
}
