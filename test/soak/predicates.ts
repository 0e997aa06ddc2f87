import assert from 'node:assert/strict'
import { differencesAmongUs, differencesToReference } from '../predicate/reference/judges.ts'
import { valueDifferences } from '../predicate/reference/value-judge.ts'
import type { Scenario } from './scenario.ts'

/** Random predicates and expressions over columns of every type, on other tables in each round. */
export async function predicates(seed: number): Promise<Scenario> {
  const counts = { rounds: 0, predicates: 0, comparisons: 0, expressions: 0 }
  const runs = 500
  return {
    counts,
    async round() {
      const round = seed + counts.rounds
      assertNone(round, await differencesToReference(round, runs))
      counts.predicates += runs
      assertNone(round, differencesAmongUs(round, runs))
      counts.comparisons += runs
      assertNone(round, await valueDifferences(round, runs))
      counts.expressions += runs
      counts.rounds++
    },
    async end() {},
  }
}

function assertNone(seed: number, differences: readonly string[]): void {
  assert.equal(differences.length, 0, `seed ${seed}:\n${differences.slice(0, 10).join('\n')}`)
}
