import fc from 'fast-check'
import { describe, test } from 'vitest'
import { beginnings, beginningWithRows, command, transactionOf } from './commands.ts'
import type { TransactionCommand } from './linearize.ts'
import { runTransactions } from './run-transactions.ts'
import { stages } from './stages.ts'

/** Multiplies the number of histories, for long runs. */
const factor = Number(process.env.HISTORY_RUNS ?? 1)

const beginning = fc.constantFrom(...beginnings, beginningWithRows, beginningWithRows)

describe.each([
  ['memory', 30],
  ['lmdb', 10],
  ['http', 12],
] as const)('random histories of transactions on %s', (store, runs) => {
  const check = async (
    ...history: Parameters<typeof runTransactions> extends [unknown, ...infer Rest] ? Rest : never
  ) => {
    await using stage = await stages[store]!()
    await runTransactions(stage, ...history)
  }

  test('one after the other: each is done as a whole, or not at all', {
    timeout: 60_000 * factor,
  }, async () => {
    const one = transactionOf(command()).map((transaction) => [transaction])
    const history = fc.array(one, { maxLength: 8, size: 'max' })
    await fc.assert(
      fc.asyncProperty(beginning, history, (first, then) => check(first, then)),
      { numRuns: runs * factor },
    )
  })

  test('at the same time: they come to what some order of them does', {
    timeout: 60_000 * factor,
  }, async () => {
    const group = fc.oneof(
      groupOf(command()),
      groupOf(command({ table: ['t'] })),
      groupOf(command({ table: ['a', 't'] })),
    )
    const history = fc.array(group, { maxLength: 4, size: 'max' })
    await fc.assert(
      fc.asyncProperty(beginning, history, (first, then) => check(first, then)),
      { numRuns: runs * factor },
    )
  })

  test('inserts that follow one another become one version', {
    timeout: 60_000 * factor,
  }, async () => {
    const group = fc.array(transactionOf(insertOrNot, 10), { minLength: 1, maxLength: 2, size: 'max' })
    const history = fc.array(group, { minLength: 1, maxLength: 3, size: 'max' })
    await fc.assert(
      fc.asyncProperty(history, (then) => check(beginningWithRows, then)),
      { numRuns: Math.ceil(runs / 3) * factor },
    )
  })
})

/** Mostly inserts into two tables and their branches, and whatever comes between them. */
const inserts = command({ table: ['a', 't'], only: ['insertIntoTable'] })
const between = command({
  table: ['a', 't'],
  only: [
    'countTableRows',
    'queryTable',
    'deleteFromTable',
    'updateTable',
    'mergeInsertIntoTable',
    'alterTableAddColumns',
    'alterTableDropColumns',
    'createTableBranch',
    'createTableTag',
    'restoreTable',
    'listTableVersions',
    'optimizeTable',
  ],
})
const insertOrNot = fc.oneof(
  { weight: 8, arbitrary: inserts },
  { weight: 2, arbitrary: command({ table: ['t'], only: ['insertIntoTable'] }) },
  { weight: 4, arbitrary: between },
  { weight: 1, arbitrary: command() },
)

function groupOf(calls: ReturnType<typeof command>): fc.Arbitrary<TransactionCommand[]> {
  return fc.array(transactionOf(calls), { minLength: 2, maxLength: 3, size: 'max' })
}
