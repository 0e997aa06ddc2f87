import { describe, expect, it } from 'vitest'
import { checkTableMetadata } from './at-once.ts'
import { addSnapshot, apply, history, now, refused, setRef, snapshot, table } from './tables.ts'

const removeSnapshots = (...ids: (number | bigint)[]) => ({ action: 'remove-snapshots', 'snapshot-ids': ids })
const removeRef = (name: string) => ({ action: 'remove-snapshot-ref', 'ref-name': name })
const entry = (id: number, at: number) => ({ 'snapshot-id': id, 'timestamp-ms': at })
const ids = (items: readonly { readonly 'snapshot-id': unknown }[]) =>
  items.map((item) => item['snapshot-id'])

describe('updates that add snapshots', () => {
  it.each([1, 2, 3])(
    'keep them in their order, with the log and the branch main, in version %i',
    (version) => {
      const made = history(version)
      expect(ids(made.snapshots)).toEqual([1, 2])
      expect(made['current-snapshot-id']).toBe(2)
      expect(made.refs).toEqual({
        main: { 'snapshot-id': 2, type: 'branch' },
        first: { 'snapshot-id': 1, type: 'tag' },
      })
      expect(made['snapshot-log']).toEqual([entry(1, now), entry(2, now + 10)])
      expect(made['last-sequence-number']).toBe(version > 1 ? 2 : undefined)
      expect(made['next-row-id']).toBe(version > 2 ? 15 : undefined)
      expect(checkTableMetadata(made)).toBe(made)
    },
  )

  it('take ids of 64 bits', () => {
    const id = 9_223_372_036_854_775_807n
    const made = apply(table(), [addSnapshot(id), setRef('main', id)])
    expect(made['current-snapshot-id']).toBe(id)
    const next = apply(made, [removeSnapshots(id)])
    expect(next.snapshots).toEqual([])
    // A small integer has one form.
    expect(apply(table(), [addSnapshot(7n), setRef('main', 7)]).snapshots[0]!['snapshot-id']).toBe(7)
  })

  it('keep members that the specification does not name', () => {
    const more = { future: { big: 2n ** 60n }, summary: { operation: 'append', 'added-files': '3' } }
    expect(apply(table(), [addSnapshot(1, more)]).snapshots[0]).toEqual(snapshot(1, more))
  })

  it('write the operation that readers assume where a summary has none', () => {
    const made = apply(table(), [addSnapshot(1, { summary: { 'added-files': '3' } })])
    expect(made.snapshots[0]!.summary).toEqual({ operation: 'overwrite', 'added-files': '3' })
  })

  it('need a schema, a spec and an order', () => {
    refused(
      () => apply(undefined, [addSnapshot(1)]),
      'ValidationException',
      'Attempting to add a snapshot before a schema is added',
    )
  })

  it('are a conflict where others committed meanwhile, so that clients try again', () => {
    const stale = addSnapshot(3, { 'sequence-number': 2, 'parent-snapshot-id': 2 })
    refused(
      () => apply(history(), [stale]),
      'CommitFailedException',
      'Validation failed, please retry: Cannot add snapshot with sequence number 2 older than last sequence number 2',
    )
    const rows = addSnapshot(3, { 'sequence-number': 3, 'first-row-id': 14, 'added-rows': 1 })
    refused(
      () => apply(history(3), [rows]),
      'CommitFailedException',
      'Validation failed, please retry: Cannot add a snapshot, first-row-id is behind table next-row-id: 14 < 15',
    )
  })

  it.each([
    [
      'an id that exists',
      history(),
      addSnapshot(1),
      'ValidationException',
      'Snapshot already exists for id: 1',
    ],
    [
      'the id that says there is none',
      table(),
      addSnapshot(-1),
      'IllegalArgumentException',
      'Invalid snapshot ID',
    ],
    [
      'a sequence number in version 1',
      table(1),
      addSnapshot(1),
      'IllegalArgumentException',
      'Sequence number must be 0 in v1: 1',
    ],
    [
      'a sequence number below zero',
      table(),
      addSnapshot(1, { 'sequence-number': -1 }),
      'IllegalArgumentException',
      'Invalid sequence number',
    ],
    [
      'a lower sequence number than that of others',
      history(),
      addSnapshot(3, { 'sequence-number': 1 }),
      'ValidationException',
      'Invalid snapshot with sequence number 2 greater than last sequence number 1',
    ],
    [
      'no first row id in version 3',
      table(3),
      addSnapshot(1),
      'ValidationException',
      'Cannot add a snapshot: first-row-id is null',
    ],
    [
      'a first row id below zero',
      table(3),
      addSnapshot(1, { 'first-row-id': -1, 'added-rows': 1 }),
      'IllegalArgumentException',
      'Invalid first-row-id (cannot be negative): -1',
    ],
    [
      'added rows below zero',
      table(3),
      addSnapshot(1, { 'first-row-id': 0, 'added-rows': -1 }),
      'IllegalArgumentException',
      'Invalid added-rows (cannot be negative): -1',
    ],
    [
      'no added rows with a first row id',
      table(3),
      addSnapshot(1, { 'first-row-id': 0 }),
      'IllegalArgumentException',
      'Invalid added-rows (required when first-row-id is set): null',
    ],
    [
      'more rows than there are ids',
      table(3),
      addSnapshot(1, { 'first-row-id': 2n ** 62n, 'added-rows': 2n ** 62n }),
      'IllegalArgumentException',
      'Invalid next-row-id',
    ],
    [
      'an id of more than 64 bits',
      table(),
      addSnapshot(2n ** 63n),
      'IllegalArgumentException',
      'Cannot parse to a long value: updates[0].snapshot.snapshot-id',
    ],
    ['an id that is no integer', table(), addSnapshot(1.5), 'IllegalArgumentException', 'snapshot-id: 1.5'],
    [
      'an id that a number does not hold',
      table(),
      addSnapshot(2 ** 60),
      'IllegalArgumentException',
      'Cannot parse to a long value',
    ],
    [
      'no time',
      table(),
      { action: 'add-snapshot', snapshot: { 'snapshot-id': 1 } },
      'IllegalArgumentException',
      'Cannot parse missing long: updates[0].snapshot.timestamp-ms',
    ],
    [
      'no manifests',
      table(),
      addSnapshot(1, { 'manifest-list': null }),
      'IllegalArgumentException',
      'Cannot parse missing list: updates[0].snapshot.manifests',
    ],
    [
      'a summary with a number',
      table(),
      addSnapshot(1, { summary: { operation: 'append', n: 1 } }),
      'IllegalArgumentException',
      'Cannot parse to a string value: updates[0].snapshot.summary.n: 1',
    ],
    [
      'no snapshot',
      table(),
      { action: 'add-snapshot' },
      'IllegalArgumentException',
      'Cannot parse an object from undefined: updates[0].snapshot',
    ],
  ] as const)('are refused with %s', (_, base, update, type, message) => {
    refused(() => apply(base, [update]), type, message)
  })

  it('keep row ids apart, also where a writer left some out', () => {
    const rows = { 'first-row-id': 20, 'added-rows': 10, 'sequence-number': 3 }
    expect(apply(history(3), [addSnapshot(3, rows)])['next-row-id']).toBe(30)
    const big = apply(table(3), [addSnapshot(1, { 'first-row-id': 2 ** 53 - 1, 'added-rows': 10 })])
    expect(big['next-row-id']).toBe(2n ** 53n + 9n)
  })

  it('leave out added rows that have no first id', () => {
    expect(apply(table(), [addSnapshot(1, { 'added-rows': 10 })]).snapshots[0]).toEqual(snapshot(1))
  })
})

describe('updates of references', () => {
  it('set a branch or a tag with its retention', () => {
    const retention = { 'min-snapshots-to-keep': 2, 'max-snapshot-age-ms': 3, 'max-ref-age-ms': 4 }
    const next = apply(history(), [
      setRef('audit', 1, retention),
      setRef('old', 1, { type: 'TAG', 'max-ref-age-ms': 9 }),
    ])
    expect(next.refs).toMatchObject({
      audit: { 'snapshot-id': 1, type: 'branch', ...retention },
      old: { 'snapshot-id': 1, type: 'tag', 'max-ref-age-ms': 9 },
    })
    expect(next['snapshot-log']).toHaveLength(2)
  })

  it('change nothing where a reference is so already', () => {
    const base = history()
    expect(apply(base, [setRef('main', 2), removeRef('none')])).toBe(base)
  })

  it('write a rollback into the log, at the time of the commit', () => {
    const next = apply(history(), [setRef('main', 1)])
    expect(next['current-snapshot-id']).toBe(1)
    expect(next['snapshot-log']).toEqual([entry(1, now), entry(2, now + 10), entry(1, now + 1_000)])
  })

  it('remove the branch main, and keep snapshots and the log', () => {
    const base = history()
    const next = apply(base, [removeRef('main')])
    expect(next['current-snapshot-id']).toBe(-1)
    expect(next.refs).toEqual({ first: { 'snapshot-id': 1, type: 'tag' } })
    expect(next.snapshots).toBe(base.snapshots)
    expect(next['snapshot-log']).toBe(base['snapshot-log'])
    expect(apply(history(3), [removeRef('main')])['current-snapshot-id']).toBeNull()
  })

  it('take names that objects have by themselves', () => {
    const names = ['__proto__', 'constructor', 'toString', '']
    const next = apply(
      history(),
      names.map((name) => setRef(name, 1)),
    )
    expect(Object.keys(next.refs).sort()).toEqual([...names, 'first', 'main'].sort())
    expect(Object.getPrototypeOf(next.refs)).toBe(Object.prototype)
    expect(Object.keys(apply(next, names.map(removeRef)).refs).sort()).toEqual(['first', 'main'])
    expect(apply(history(), names.map(removeRef)).refs).toEqual(history().refs)
  })

  it.each([
    ['an unknown snapshot', setRef('b', 9), 'ValidationException', 'Cannot set b to unknown snapshot: 9'],
    [
      'a tag named main',
      setRef('main', 1, { type: 'tag' }),
      'ValidationException',
      'Cannot set main to a tag, it must be a branch',
    ],
    [
      'an unknown type',
      setRef('b', 1, { type: 'fork' }),
      'IllegalArgumentException',
      'Invalid snapshot ref type: "fork"',
    ],
    [
      'a tag that keeps snapshots',
      setRef('b', 1, { type: 'tag', 'min-snapshots-to-keep': 1 }),
      'IllegalArgumentException',
      'Tags do not support setting minSnapshotsToKeep',
    ],
    [
      'a tag with an age of snapshots',
      setRef('b', 1, { type: 'tag', 'max-snapshot-age-ms': 1 }),
      'IllegalArgumentException',
      'Tags do not support setting maxSnapshotAgeMs',
    ],
    [
      'no snapshots to keep',
      setRef('b', 1, { 'min-snapshots-to-keep': 0 }),
      'IllegalArgumentException',
      'Min snapshots to keep must be greater than 0',
    ],
    [
      'no age of snapshots',
      setRef('b', 1, { 'max-snapshot-age-ms': 0 }),
      'IllegalArgumentException',
      'Max snapshot age must be greater than 0 ms',
    ],
    [
      'no age',
      setRef('b', 1, { 'max-ref-age-ms': -1 }),
      'IllegalArgumentException',
      'Max reference age must be greater than 0',
    ],
    [
      'no name',
      { ...setRef('b', 1), 'ref-name': null },
      'IllegalArgumentException',
      'Cannot parse to a string value: updates[0].ref-name: null',
    ],
  ] as const)('are refused with %s', (_, update, type, message) => {
    refused(() => apply(history(), [update]), type, message)
  })
})
