import { expect, test } from 'vitest'
import { markersOf } from './history.ts'
import { Ledger, type Outcome } from './ledger.ts'

/** Commits one after the other, whose markers are their numbers. */
function ledgerOf(...outcomes: Outcome[]): Ledger {
  const ledger = new Ledger()
  for (const [marker, outcome] of outcomes.entries()) {
    ledger.begin(marker)
    ledger.end(marker, outcome)
  }
  return ledger
}

test('commits that are there as their writers know are right', () => {
  const ledger = ledgerOf('acknowledged', 'refused', 'unknown', 'unknown', 'acknowledged')
  ledger.check([
    [0, 2, 4],
    [0, 2, 4],
  ])
  ledger.checkOrder([0, 2, 4])
  // Nobody knows when one without an answer happens.
  ledger.checkOrder([0, 4, 2, 3])
  expect(ledger.counts).toEqual({ acknowledged: 2, refused: 1, unknown: 2 })
})

test.each<[string, Outcome[], number[][], RegExp]>([
  ['half', ['acknowledged', 'unknown'], [[0, 1], [0]], /in part/],
  [
    'in two orders',
    ['unknown', 'unknown'],
    [
      [0, 1],
      [1, 0],
    ],
    /another order/,
  ],
  [
    'twice',
    ['acknowledged'],
    [
      [0, 0],
      [0, 0],
    ],
    /twice/,
  ],
  ['lost', ['acknowledged', 'acknowledged'], [[1], [1]], /commit 0 is lost/],
  ['refused', ['refused'], [[0], [0]], /refused commit 0 is there/],
])('a commit that is there %s is found', (_, outcomes, tables, message) => {
  expect(() => ledgerOf(...outcomes).check(tables)).toThrow(message)
})

test('commits in an order that cannot be are found, and those of nobody', () => {
  const ledger = ledgerOf('acknowledged', 'acknowledged')
  expect(() => ledger.checkOrder([1, 0])).toThrow(/commit 0 is behind/)
  expect(() => ledger.checkOrder([0, 1, 7])).toThrow(/nobody tried the commit 7/)
})

test('a reader who misses what was there before is found', () => {
  const ledger = ledgerOf('acknowledged', 'unknown')
  ledger.checkRead(ledger.acknowledged(), [[0], [0, 1]])
  expect(() => ledger.checkRead(ledger.acknowledged(), [[1]])).toThrow(/does not find/)
  expect(() => ledger.checkRead(ledger.acknowledged(), [[0, 1], [0]])).toThrow(/does not find/)
})

/** Metadata with snapshots 1, 2 and 3. */
function metadata() {
  const snapshots = [1, 2, 3].map((id) => {
    const parent = id > 1 ? { 'parent-snapshot-id': id - 1 } : {}
    return { 'snapshot-id': id, 'sequence-number': id, summary: { marker: String(id * 10) }, ...parent }
  })
  return {
    snapshots,
    'current-snapshot-id': 3,
    'last-sequence-number': 3,
    'snapshot-log': snapshots.map((one) => ({ 'snapshot-id': one['snapshot-id'] })),
    properties: { marker: '30' },
  }
}

type Metadata = ReturnType<typeof metadata>

test.each<[string, Partial<Metadata>, RegExp]>([
  [
    'parent',
    { snapshots: metadata().snapshots.map(({ 'parent-snapshot-id': _, ...rest }) => rest) },
    /no ancestor/,
  ],
  [
    'number',
    { snapshots: metadata().snapshots.map((one) => ({ ...one, 'sequence-number': 1 })) },
    /sequence numbers/,
  ],
  ['log', { 'snapshot-log': [] }, /snapshot log/],
  ['property', { properties: { marker: '20' } }, /property/],
])('metadata with a wrong %s is found', (_, damage, message) => {
  expect(markersOf(metadata())).toEqual([10, 20, 30])
  expect(() => markersOf({ ...metadata(), ...damage })).toThrow(message)
})
