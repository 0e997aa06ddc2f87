import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { batch, beginnings, beginningWithRows, command, transactionOf } from './commands.ts'
import { type Command, predict } from './model/index.ts'
import { emptyState } from './model/state.ts'
import { runHistory } from './run-history.ts'
import { runTransactions } from './run-transactions.ts'
import { stages } from './stages.ts'

/** Multiplies the number of histories, for long runs. */
const factor = Number(process.env.HISTORY_RUNS ?? 1)

/** Locations of tables, of content that waits for a registration, and of dropped tables whose files a clone refers to. */
const beginning = fc.constantFrom<(readonly Command[])[]>(
  [
    ...beginnings[1]!,
    { operation: 'declareTable', request: { id: ['u'], location: 's3://bucket/a', properties: { a: '1' } } },
    { operation: 'deregisterTable', request: { id: ['u'] } },
  ],
  [
    ...beginningWithRows,
    { operation: 'createTableTag', request: { id: ['a', 't'], tag: 'stable', version: 2 } },
    { operation: 'createTableBranch', request: { id: ['a', 't'], name: 'dev' } },
  ],
  [
    ...beginningWithRows,
    { operation: 'cloneTable', request: { id: ['u'], source: ['a', 't'] } },
    { operation: 'dropTable', request: { id: ['a', 't'] } },
  ],
)

const others = command({ rows: false })

describe.each([
  ['memory', 120],
  ['lmdb', 20],
  ['http', 25],
] as const)('batches with several items that fail, on %s', (store, runs) => {
  const limits = { timeout: 60_000 * factor }
  const many = { maxLength: 8, size: 'max' } as const

  test('fail with the first one, and as it fails alone', limits, async () => {
    const then = fc.array(fc.oneof({ weight: 4, arbitrary: batch() }, others), many)
    await fc.assert(
      fc.asyncProperty(beginning, then, async (first, then) => {
        await using stage = await stages[store]!()
        await runHistory(
          stage,
          [...first, ...then].map((call) => [call]),
        )
      }),
      { numRuns: runs * factor },
    )
  })

  test('do so inside of transactions', limits, async () => {
    const calls = fc.oneof({ weight: 3, arbitrary: batch() }, others)
    const then = fc.array(
      transactionOf(calls).map((one) => [one]),
      { maxLength: 4, size: 'max' },
    )
    await fc.assert(
      fc.asyncProperty(beginning, then, async (first, then) => {
        await using stage = await stages[store]!()
        await runTransactions(stage, first, then)
      }),
      { numRuns: Math.ceil((runs * factor) / 2) },
    )
  })
})

test('the model finds a batch by the tables that it changed', () => {
  const id = ['t']
  const batch = { operations: [{ declare_table: { id } }] }
  const made = predict(emptyState(), { operation: 'batchCommitTables', request: batch })
  const { transaction_id } = (made.outcome as { answer: { transaction_id: string } }).answer
  const found = (name: string) =>
    predict(made.state, { operation: 'describeTransaction', request: { id: [name, transaction_id] } }).outcome
  expect(found('t')).toMatchObject({ answer: { status: 'Succeeded' } })
  expect(found('u')).toMatchObject({ error: 'TransactionNotFound' })
})
