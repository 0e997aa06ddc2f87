import { describe, expect, test } from 'vitest'
import { mapStrings } from './binding.ts'
import { beginningWithRows } from './commands.ts'
import { type Call, emptyWorld, linearize, type World } from './linearize.ts'
import { type Command, type Outcome, predict } from './model/index.ts'
import { findTable } from './model/state.ts'

const location = 's3://bucket/a'
/** A batch names the operation that found the location busy. */
const busy = ({ operation }: Command): Outcome => ({
  error: 'ConcurrentModification',
  ...(operation === 'batchCommitTables' && { at: 'operations[0]' }),
})
const claims: readonly (readonly [string, Command])[] = [
  ['declared at', { operation: 'declareTable', request: { id: ['b'], location } }],
  ['registered below', { operation: 'registerTable', request: { id: ['b'], location: `${location}/b` } }],
  [
    'declared in a batch, above',
    {
      operation: 'batchCommitTables',
      request: { operations: [{ declare_table: { id: ['b'], location: 's3://bucket' } }] },
    },
  ],
]

let chosen = 0

/** A call with the outcome that the model expects in a world. */
function done({ state, binding }: World, operation: Command['operation'], request: object, span = [0, 0]) {
  const outcome = predict(state, binding.toSymbols({ operation, request })).outcome
  // Values that the catalog chooses differ between calls.
  const real = mapStrings(binding.toReal(outcome), (text) => text.replace(/^#/, `${chosen++}-`))
  return { command: { operation, request }, outcome: real, start: span[0]!, end: span[1]! }
}

/** A transaction of one refused call. */
function refusedInside(command: Command, start: number, end: number, commits = true): Call {
  return { transaction: { calls: [command], commits }, outcomes: [busy(command)], start, end }
}

function having(world: World, ...calls: readonly (readonly [Command['operation'], object])[]): World {
  return calls.reduce(
    (now, [operation, request]) => linearize([now], [done(now, operation, request)])[0]!,
    world,
  )
}

describe.each(claims)('a location %s which a table is dropped', (_, claim) => {
  const before = having(emptyWorld(), ['declareTable', { id: ['a'], location }])
  const drop = done(before, 'dropTable', { id: ['a'] }, [10, 20])
  const explained = (...calls: Call[]) => linearize([before], [drop, ...calls]).length > 0

  test.each([true, false])(
    'may be refused inside of a transaction meanwhile, which commits: %s',
    (commits) => {
      expect(explained(refusedInside(claim, 1, 10, commits))).toBe(true)
      expect(explained(refusedInside(claim, 12, 13, commits))).toBe(true)
      expect(explained(refusedInside(claim, 20, 30, commits))).toBe(true)
    },
  )

  test('is not refused before, and not afterwards', () => {
    expect(explained(refusedInside(claim, 1, 9))).toBe(false)
    expect(explained(refusedInside(claim, 21, 30))).toBe(false)
    const [dropped] = linearize([before], [drop])
    expect(linearize([dropped!], [refusedInside(claim, 0, 0)])).toEqual([])
  })

  test('is not refused to a transaction that saw what began afterwards', () => {
    const later = done(before, 'createNamespace', { id: ['n'] }, [21, 22])
    const refused = refusedInside(claim, 12, 30)
    const saw: Call = {
      transaction: {
        calls: [{ operation: 'namespaceExists', request: { id: ['n'] } }, claim],
        commits: true,
      },
      outcomes: [{ answer: {} }, busy(claim)],
      start: 12,
      end: 30,
    }
    expect(explained(later, refused)).toBe(true)
    expect(explained(later, saw)).toBe(false)
  })

  test('is not refused to a call of its own', () => {
    expect(explained({ command: claim, outcome: busy(claim), start: 12, end: 13 })).toBe(false)
  })

  test('is not refused so by the drop of the same transaction', () => {
    const both: Call = {
      transaction: { calls: [drop.command, claim], commits: true },
      outcomes: [drop.outcome, busy(claim)],
      start: 1,
      end: 9,
    }
    expect(linearize([before], [both])).toEqual([])
  })
})

describe('files that clones need', () => {
  const names: Command['request'][] = [
    { id: ['c'], source: ['a', 't'] },
    { id: ['d'], source: ['c'] },
  ]
  const cloned = having(
    beginningWithRows.reduce(
      (world, { operation, request }) => having(world, [operation, request]),
      emptyWorld(),
    ),
    ...names.map((request) => ['cloneTable', request] as const),
    ['dropTable', { id: ['c'] }],
  )
  const at = cloned.binding.toReal(findTable(cloned.state, ['a', 't']).location)
  const claim: Command = { operation: 'declareTable', request: { id: ['b'], location: at } }
  const refused = (world: World, code: 'ConcurrentModification' | 'TableAlreadyExists', inside: boolean) => {
    const outcome: Outcome = { error: code }
    const span = { start: 0, end: 0 }
    const call: Call = inside
      ? { transaction: { calls: [claim], commits: true }, outcomes: [outcome], ...span }
      : { command: claim, outcome, ...span }
    return linearize([world], [call]).length > 0
  }

  test('keep the location of their table, also by a clone of a clone', () => {
    const dropped = having(cloned, ['dropTable', { id: ['a', 't'] }])
    expect(refused(dropped, 'TableAlreadyExists', false)).toBe(true)
    expect(refused(dropped, 'TableAlreadyExists', true)).toBe(true)
    expect(refused(dropped, 'ConcurrentModification', false)).toBe(false)
  })

  test('may wait to be removed when the last clone is dropped', () => {
    const unneeded = having(cloned, ['dropTable', { id: ['a', 't'] }], ['dropTable', { id: ['d'] }])
    expect(refused(unneeded, 'TableAlreadyExists', false)).toBe(false)
    expect(refused(unneeded, 'TableAlreadyExists', true)).toBe(false)
    expect(refused(unneeded, 'ConcurrentModification', true)).toBe(true)
    const taken = having(unneeded, [claim.operation, claim.request], ['dropTable', { id: ['b'] }])
    expect(refused(taken, 'ConcurrentModification', true)).toBe(false)
  })

  test('are none where the clone got copies, or the clones went first', () => {
    const without = having(cloned, ['dropTable', { id: ['d'] }])
    const copied = having(without, ['cloneTable', { id: ['e'], source: ['a', 't'], is_shallow: false }])
    const dropped = having(copied, ['dropTable', { id: ['a', 't'] }])
    expect(refused(dropped, 'TableAlreadyExists', false)).toBe(false)
    expect(refused(dropped, 'ConcurrentModification', true)).toBe(false)
  })
})

test('the version that a merge returns inside of a transaction is one that others may take first', () => {
  const id = ['a', 't']
  const schema = { fields: [{ name: 'id', type: { type: 'int32' }, nullable: false }] }
  const data = [{ id: 6, note: null }]
  const before = having(emptyWorld(), ['createNamespace', { id: ['a'] }], ['declareTable', { id }])
  const merge = done(before, 'mergeInsertIntoTable', {
    id,
    data,
    on: 'id',
    schema,
    when_not_matched_insert_all: true,
  })
  const inserted = done(before, 'insertIntoTable', { id, data: [], schema }, [1, 4])
  const returned = { ...merge, outcome: { answer: { ...answerOf(merge.outcome), version: 1 } } }
  const inside: Call = {
    transaction: { calls: [merge.command], commits: true },
    outcomes: [returned.outcome],
    start: 5,
    end: 6,
  }
  expect(linearize([before], [inserted, inside])).toHaveLength(1)
  // Outside of a transaction, the response describes committed state.
  expect(linearize([before], [inserted, { ...returned, start: 5, end: 6 }])).toEqual([])
  // The reported row count must match in any case.
  const wrong = { answer: { ...answerOf(merge.outcome), num_inserted_rows: 2 } }
  expect(linearize([before], [inserted, { ...inside, outcomes: [wrong] }])).toEqual([])
})

function answerOf(outcome: Outcome): object {
  return 'answer' in outcome ? (outcome.answer as object) : {}
}

describe('a change of rows in a table that is renamed meanwhile', () => {
  const before = beginningWithRows.reduce(
    (world, { operation, request }) => having(world, [operation, request]),
    emptyWorld(),
  )
  const rename = done(before, 'renameTable', { id: ['a', 't'], new_table_name: 'u' }, [10, 20])
  const renamed = linearize([before], [rename])[0]!
  /** A call that sees the new name, and two versions. */
  const seen = done(renamed, 'listTableVersions', { id: ['a', 'u'] }, [21, 22])
  const insertion = (start: number) => {
    const request = { id: ['a', 't'], data: [{ id: 3, note: 'y' }], schema: beginningWithRows[1]!.request }
    const { schema } = request.schema as unknown as { schema: object }
    return done(before, 'insertIntoTable', { ...request, schema }, [start, 30])
  }

  test('goes on under the new name', () => {
    const worlds = linearize([before], [rename, seen, insertion(5)])
    expect(worlds.length).toBeGreaterThan(0)
    const after = done(worlds[0]!, 'listTableVersions', { id: ['a', 'u'] }, [31, 32])
    expect((after.outcome as { answer: { versions: unknown[] } }).answer.versions).toHaveLength(3)
    expect(linearize(worlds, [after]).length).toBeGreaterThan(0)
  })

  test('does not find the old name once that is gone', () => {
    expect(linearize([before], [rename, seen, insertion(21)])).toEqual([])
  })
})

test('a clone is of the version that was the latest when the call began', () => {
  const before = beginningWithRows.reduce(
    (world, { operation, request }) => having(world, [operation, request]),
    emptyWorld(),
  )
  const insertion = done(
    before,
    'insertIntoTable',
    { ...beginningWithRows[2]!.request, data: [{ id: 3, note: 'y' }] },
    [10, 20],
  )
  const seen = done(linearize([before], [insertion])[0]!, 'countTableRows', { id: ['a', 't'] }, [21, 22])
  const clone = (start: number) => done(before, 'cloneTable', { id: ['u'], source: ['a', 't'] }, [start, 30])
  const worlds = linearize([before], [insertion, seen, clone(5)])
  const rows = worlds.map((world) => {
    const { outcome } = done(world, 'countTableRows', { id: ['u'] }, [31, 32])
    return (outcome as { answer: { count: number } }).answer.count
  })
  expect(new Set(rows)).toEqual(new Set([2, 3]))
  const late = linearize([before], [insertion, seen, clone(21)])
  expect(late.map((world) => done(world, 'countTableRows', { id: ['u'] }, [31, 32]).outcome)).toEqual([
    { answer: { count: 3 } },
  ])
})
