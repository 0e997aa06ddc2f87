import { describe, expect, it } from 'vitest'
import { limitEach } from '../../support/time-limit.ts'
import { withReferencedSnapshots } from './at-once.ts'
import { addSnapshot, apply, history, now, refused, setRef, snapshot, table } from './tables.ts'

limitEach(120)

const removeSnapshots = (...ids: (number | bigint)[]) => ({ action: 'remove-snapshots', 'snapshot-ids': ids })
const removeRef = (name: string) => ({ action: 'remove-snapshot-ref', 'ref-name': name })
const entry = (id: number, at: number) => ({ 'snapshot-id': id, 'timestamp-ms': at })
const ids = (items: readonly { readonly 'snapshot-id': unknown }[]) =>
  items.map((item) => item['snapshot-id'])

describe('the log of snapshots', () => {
  it('leaves out snapshots that were current within a commit only', () => {
    const next = apply(history(), [
      addSnapshot(3, { 'sequence-number': 3 }),
      setRef('main', 3),
      addSnapshot(4, { 'sequence-number': 4, 'timestamp-ms': now + 20 }),
      setRef('main', 4),
    ])
    expect(ids(next['snapshot-log'])).toEqual([1, 2, 4])
    expect(ids(next.snapshots)).toEqual([1, 2, 3, 4])
  })

  it('ends before a snapshot that is removed, as nobody could say what was current then', () => {
    const three = apply(history(), [
      addSnapshot(3, { 'sequence-number': 3, 'timestamp-ms': now + 20 }),
      setRef('main', 3),
    ])
    expect(ids(apply(three, [removeSnapshots(2)])['snapshot-log'])).toEqual([3])
    expect(ids(apply(three, [removeSnapshots(1)])['snapshot-log'])).toEqual([2, 3])
    const back = apply(three, [setRef('main', 1)])
    expect(back['snapshot-log']).toHaveLength(4)
    expect(apply(back, [removeSnapshots(2)])['snapshot-log']).toEqual([
      entry(3, now + 20),
      entry(1, now + 1_000),
    ])
  })

  it('may be empty where another writer kept none', () => {
    const base = { ...history(), 'snapshot-log': [] }
    expect(apply(base, [removeSnapshots(1)])['snapshot-log']).toEqual([])
  })

  it('has no times far after the commit, nor far before others', () => {
    const late = [addSnapshot(3, { 'sequence-number': 3, 'timestamp-ms': now + 61_001 }), setRef('main', 3)]
    refused(
      () => apply(history(), late),
      'IllegalArgumentException',
      `Invalid update timestamp ${now + 1_000}: before last snapshot log entry at ${now + 61_001}`,
    )
    const nearly = [addSnapshot(3, { 'sequence-number': 3, 'timestamp-ms': now + 61_000 }), setRef('main', 3)]
    expect(ids(apply(history(), nearly)['snapshot-log'])).toEqual([1, 2, 3])
    const early = [addSnapshot(3, { 'sequence-number': 3, 'timestamp-ms': now - 60_000 }), setRef('main', 3)]
    refused(() => apply(history(), early), 'IllegalArgumentException', 'Expected sorted snapshot log entries')
  })
})

describe('updates that remove snapshots', () => {
  const statistics = (id: number) => ({
    'snapshot-id': id,
    'statistics-path': `s3://b/${id}.puffin`,
    'file-size-in-bytes': 100,
    'file-footer-size-in-bytes': 10,
    'blob-metadata': [{ type: 'ndv', 'snapshot-id': id, 'sequence-number': 1, fields: [1] }],
  })
  const partitions = (id: number) => ({
    'snapshot-id': id,
    'statistics-path': `s3://b/${id}.parquet`,
    'file-size-in-bytes': 42,
  })
  const set = (id: number) => [
    { action: 'set-statistics', statistics: statistics(id) },
    { action: 'set-partition-statistics', 'partition-statistics': partitions(id) },
  ]
  const base = apply(history(), [...set(1), ...set(2)])

  it('remove their references and statistics, too', () => {
    const next = apply(base, [removeSnapshots(1, 99)])
    expect(ids(next.snapshots)).toEqual([2])
    expect(Object.keys(next.refs)).toEqual(['main'])
    expect(next.statistics).toEqual([statistics(2)])
    expect(next['partition-statistics']).toEqual([partitions(2)])
    expect(apply(base, [removeSnapshots(99)])).toBe(base)
  })

  it('remove the branch main with the current snapshot', () => {
    const next = apply(base, [removeSnapshots(2)])
    expect(next['current-snapshot-id']).toBe(-1)
    expect(Object.keys(next.refs)).toEqual(['first'])
    expect(next['snapshot-log']).toEqual([])
  })

  it('remove references that the same commit set', () => {
    const next = apply(base, [setRef('audit', 1), setRef('other', 2), removeSnapshots(1)])
    expect(Object.keys(next.refs).sort()).toEqual(['main', 'other'])
    const moved = apply(base, [setRef('first', 2), removeSnapshots(1)])
    expect(Object.keys(moved.refs).sort()).toEqual(['first', 'main'])
  })

  it('may add one of the same id again', () => {
    const next = apply(base, [removeSnapshots(1), addSnapshot(1, { 'sequence-number': 3 })])
    expect(ids(next.snapshots)).toEqual([2, 1])
  })

  it('remove statistics alone', () => {
    const next = apply(base, [
      { action: 'remove-statistics', 'snapshot-id': 1 },
      { action: 'remove-partition-statistics', 'snapshot-id': 2 },
    ])
    expect(next.statistics).toEqual([statistics(2)])
    expect(next['partition-statistics']).toEqual([partitions(1)])
    expect(apply(base, [{ action: 'remove-statistics', 'snapshot-id': 7 }])).toBe(base)
  })

  it('replace the statistics of a snapshot', () => {
    const other = { ...statistics(1), 'statistics-path': 's3://b/other.puffin' }
    const next = apply(base, [{ action: 'set-statistics', 'snapshot-id': 1, statistics: other }])
    expect(next.statistics).toEqual([statistics(2), other])
  })

  it('refuse statistics that are incomplete', () => {
    const { 'blob-metadata': _, ...without } = statistics(1)
    refused(
      () => apply(base, [{ action: 'set-statistics', statistics: without }]),
      'IllegalArgumentException',
      'Cannot parse missing list: updates[0].statistics.blob-metadata',
    )
  })

  it('are left out of what a client loads that asks for referenced ones only', () => {
    const untagged = apply(base, [removeRef('first')])
    const loaded = withReferencedSnapshots(untagged)
    expect(ids(loaded.snapshots)).toEqual([2])
    expect(ids(loaded.statistics)).toEqual([2])
    expect(loaded['snapshot-log']).toBe(untagged['snapshot-log'])
    expect(withReferencedSnapshots(base)).toBe(base)
  })
})

describe('a table of 100,000 snapshots', () => {
  const many = {
    ...table(),
    'last-sequence-number': 100_000,
    snapshots: Array.from({ length: 100_000 }, (_, i) => snapshot(i + 1, { 'sequence-number': i + 1 })),
    refs: { main: { 'snapshot-id': 100_000, type: 'branch' as const } },
    'current-snapshot-id': 100_000,
    'snapshot-log': [entry(100_000, now)],
  }

  it('shares all of them after a commit', () => {
    const properties = apply(many, [{ action: 'set-properties', updates: { a: 'b' } }])
    expect(properties.snapshots).toBe(many.snapshots)
    expect(properties.refs).toBe(many.refs)
    const next = apply(many, [addSnapshot(100_001, { 'sequence-number': 100_001 }), setRef('main', 100_001)])
    expect(next.snapshots).toHaveLength(100_001)
    expect(next.snapshots.slice(0, -1).every((each, i) => each === many.snapshots[i])).toBe(true)
  })

  it('loses each by an update of its own in the time of one commit', () => {
    const updates = many.snapshots.slice(0, -1).map((each) => removeSnapshots(each['snapshot-id']))
    expect(apply(many, updates).snapshots).toEqual([many.snapshots.at(-1)])
  })
})
