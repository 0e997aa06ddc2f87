import fc from 'fast-check'
import { describe, test } from 'vitest'
import { missingPostgres } from '../support/postgres.ts'
import { beginnings, beginningWithRows, byTime, command, tableRules } from './commands.ts'
import { type Command, type ModelOperation, modelOperations } from './model/index.ts'
import type { Rules } from './model/state.ts'
import { places } from './places.ts'
import { type PlainStep, runCombined, type Step } from './run-combined.ts'

const second = 1_000
const hour = 3_600 * second
const pick = fc.constantFrom

/** What the features that are combined are about. */
const often: readonly ModelOperation[] = [
  'insertIntoTable',
  'deleteFromTable',
  'createTableTag',
  'createTableBranch',
  'dropTable',
  'undropTable',
  'renameTable',
  'createTable',
  'cloneTable',
  'queryTable',
  'restoreTable',
]
/** The records of transactions are compared as a whole. Their ids are not known where an answer got lost. */
const aboutTransactions = new Set<string>(['listTransactions', 'describeTransaction', 'alterTransaction'])
const only = modelOperations.filter((operation) => !aboutTransactions.has(operation))

const calls: fc.Arbitrary<Command> = byTime(
  fc.oneof(
    { weight: 3, arbitrary: command({ only }) },
    { weight: 4, arbitrary: command({ only: often, table: ['a', 't'] }) },
    { weight: 2, arbitrary: command({ only: often, table: ['t'] }) },
    {
      weight: 2,
      arbitrary: pick('dropTable', 'undropTable').map((operation) => ({
        operation,
        request: { id: ['a', 't'] },
      })),
    },
    {
      weight: 1,
      arbitrary: tableRules.map((rule) => ({
        operation: 'updateTableProperties' as const,
        request: { id: ['a', 't'], ...rule },
      })),
    },
  ),
)
const slot = pick(0, 1)
const key = pick('k', 'l', 'm', 'n')
const called = fc.oneof(
  { weight: 3, arbitrary: fc.record({ call: calls }) },
  { weight: 1, arbitrary: fc.record({ call: calls, key }) },
  { weight: 3, arbitrary: fc.record({ call: calls, inside: slot }) },
  { weight: 1, arbitrary: fc.record({ call: calls, key, inside: slot }) },
)
const grace = pick(0, 0, second, hour)
const plain: fc.Arbitrary<PlainStep> = fc.oneof(
  { weight: 12, arbitrary: called },
  {
    weight: 2,
    arbitrary: fc.record(
      { again: fc.nat(5), other: calls, inside: slot },
      { requiredKeys: ['again'], noNullPrototype: true },
    ),
  },
  { weight: 3, arbitrary: slot.map((commit) => ({ commit })) },
  { weight: 2, arbitrary: grace.map((vacuum) => ({ vacuum })) },
  { weight: 1, arbitrary: fc.constant('upkeep' as const) },
)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 20, arbitrary: plain },
  { weight: 3, arbitrary: slot.map((begin) => ({ begin })) },
  { weight: 1, arbitrary: slot.map((undo) => ({ undo })) },
  { weight: 2, arbitrary: pick({ seconds: 1 }) },
  { weight: 1, arbitrary: pick(1, 2, 23, 25).map((hours) => ({ hours })) },
  { weight: 1, arbitrary: pick<Step[]>('reopen', 'check') },
  { weight: 3, arbitrary: fc.record({ amid: plain, after: pick(0, 1, 1, 2, 3, 5, 8) }) },
)
/** A transaction names a version, which retention then leaves until its end. Single steps seldom come so. */
const pinning: fc.Arbitrary<Step[]> = fc
  .tuple(slot, pick(1, 2, 3), grace)
  .map(([inside, version, vacuum]) => {
    const id = ['a', 't']
    const call: Command = { operation: 'countTableRows', request: { id, version } }
    const insert = beginningWithRows.find(({ operation }) => operation === 'insertIntoTable')!
    return [
      { begin: inside },
      { call, inside },
      { call: insert },
      { call: insert },
      { vacuum },
      { call, inside },
    ]
  })
/** What a catalog keeps. */
const rules: fc.Arbitrary<Rules> = fc.record(
  {
    retainDropped: pick(2 * second, 2 * hour, 0),
    retention: pick({ versions: 1 }, { versions: 2, age: 2 * second }, { age: hour }),
  },
  { requiredKeys: [], noNullPrototype: true },
)
const beginning = pick<(readonly Command[])[]>(
  ...beginnings,
  beginningWithRows,
  beginningWithRows,
  beginningWithRows,
)
/** The steps of a history, most of which begin with the usual first calls. */
const history = fc
  .tuple(
    beginning,
    fc.array(
      fc.oneof({ weight: 40, arbitrary: step.map((one) => [one]) }, { weight: 1, arbitrary: pinning }),
      { maxLength: 40, size: 'max' },
    ),
  )
  .map(([first, then]): Step[] => [...first.map((call) => ({ call })), ...then.flat()])

/** Histories that combine all, as one property. */
export const combined = (kind: keyof typeof places) =>
  fc.asyncProperty(rules, history, async (rules, steps) => {
    await using place = await places[kind]()
    await runCombined(place, rules, steps)
  })

/** Multiplies the number of histories, for long runs. */
const factor = Number(process.env.HISTORY_RUNS ?? 1)

/** Tests so many histories over each kind of place. */
export function testCombined(
  runs: Readonly<Record<keyof typeof places, number>>,
  options: { readonly seconds: number; readonly seed?: number },
): void {
  const { seconds, ...given } = options
  describe.each(Object.entries(runs) as [keyof typeof places, number][])(
    'histories that combine all on %s',
    (kind, numRuns) => {
      test.skipIf(kind === 'postgres' && missingPostgres)(
        'what is seen is what the model says, whenever the process dies',
        { timeout: seconds * 1_000 * factor },
        () => fc.assert(combined(kind), { ...given, numRuns: numRuns * factor }),
      )
    },
  )
}
