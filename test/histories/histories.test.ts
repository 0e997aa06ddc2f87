import fc from 'fast-check'
import { describe, test } from 'vitest'
import { beginnings, beginningWithRows, command } from './commands.ts'
import type { Command } from './model/index.ts'
import { runHistory } from './run-history.ts'
import { stages } from './stages.ts'

/** Multiplies the number of histories, for long runs. */
const factor = Number(process.env.HISTORY_RUNS ?? 1)

const kinds = [
  { rows: false, runs: { memory: 50, lmdb: 12, http: 8 } },
  { rows: true, runs: { memory: 40, lmdb: 10, http: 8 } },
] as const

describe.each(['memory', 'lmdb', 'http'] as const)('random histories on %s', (store) => {
  for (const { rows, runs } of kinds) {
    const title = rows ? 'with rows' : 'of names, versions, tags and branches'
    const one = command({ rows })
    const beginning = fc.constantFrom<(readonly Command[])[]>(
      ...beginnings,
      ...(rows ? [beginningWithRows, beginningWithRows] : []),
    )

    async function check(history: readonly (readonly Command[])[]): Promise<void> {
      await using stage = await stages[store]!()
      await runHistory(stage, history)
    }

    test(`${title}: every call comes to what the model says`, { timeout: 60_000 * factor }, async () => {
      const history = fc.tuple(beginning, fc.array(one, { maxLength: 25, size: 'max' }))
      await fc.assert(
        fc.asyncProperty(history, ([first, then]) => check([...first, ...then].map((call) => [call]))),
        { numRuns: runs[store] * factor },
      )
    })

    test(`${title}: calls at the same time come to what some order of them does`, {
      timeout: 60_000 * factor,
    }, async () => {
      const group = fc.oneof(
        groupOf(one),
        // Most races use one table.
        groupOf(command({ rows, table: ['t'] })),
        groupOf(command({ rows, table: ['a', 't'] })),
      )
      const groups = fc.array(group, { maxLength: 8, size: 'max' })
      await fc.assert(
        fc.asyncProperty(fc.tuple(beginning, groups), ([first, then]) =>
          check([...first.map((call) => [call]), ...then]),
        ),
        { numRuns: runs[store] * factor },
      )
    })
  }
})

function groupOf(one: fc.Arbitrary<Command>): fc.Arbitrary<Command[]> {
  return fc.array(one, { minLength: 1, maxLength: 4, size: 'max' })
}
