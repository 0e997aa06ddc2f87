import { describe, expect, it } from 'vitest'
import { checkTableMetadata } from './at-once.ts'
import { apply, history, location, now, otherUuid, refused, table, uuid } from './tables.ts'

const setProperties = (updates: object) => ({ action: 'set-properties', updates })
const upgrade = (version: number) => ({ action: 'upgrade-format-version', 'format-version': version })

describe('the id of a table', () => {
  const assign = (id: unknown) => ({ action: 'assign-uuid', uuid: id })

  it('is assigned once', () => {
    const base = table()
    expect(apply(base, [assign(uuid.toUpperCase())])).toBe(base)
    refused(() => apply(base, [assign(otherUuid)]), 'IllegalArgumentException', 'Cannot reassign uuid')
    const { 'table-uuid': _, ...without } = table(1)
    expect(apply(without, [assign(otherUuid)])['table-uuid']).toBe(otherUuid)
    refused(
      () => apply(table(), [assign('x')]),
      'IllegalArgumentException',
      'Invalid UUID: updates[0].uuid: "x"',
    )
    refused(
      () => apply(table(), [assign(null)]),
      'IllegalArgumentException',
      'Cannot parse to a string value: updates[0].uuid: null',
    )
  })
})

describe('the version of the format', () => {
  it('can be upgraded', () => {
    const second = apply(history(1), [upgrade(2)])
    expect(second).toMatchObject({ 'format-version': 2, 'last-sequence-number': 0 })
    expect(second).not.toHaveProperty('schema')
    expect(second).not.toHaveProperty('partition-spec')
    expect(checkTableMetadata(second)).toBe(second)
    const third = apply(table(2), [upgrade(3)])
    expect(third).toMatchObject({ 'format-version': 3, 'next-row-id': 0, 'current-snapshot-id': null })
    expect(apply(third, [upgrade(3)])).toBe(third)
    expect(apply(history(1), [upgrade(2), upgrade(3)])).toEqual(apply(history(1), [upgrade(3)]))
  })

  it('cannot go back, nor beyond what is known', () => {
    refused(
      () => apply(table(2), [upgrade(1)]),
      'IllegalArgumentException',
      'Cannot downgrade v2 table to v1',
    )
    refused(
      () => apply(table(2), [upgrade(4)]),
      'IllegalArgumentException',
      'Cannot upgrade table to unsupported format version: v4 (supported: v3)',
    )
    const { 'table-uuid': _, ...without } = table(1)
    refused(() => apply(without, [upgrade(2)]), 'IllegalArgumentException', 'UUID is required in format v2')
  })

  it('has row lineage from 3 on', () => {
    const base = table(3)
    expect(apply(base, [{ action: 'enable-row-lineage' }])).toBe(base)
    refused(
      () => apply(table(2), [{ action: 'enable-row-lineage' }]),
      'IllegalArgumentException',
      'Cannot use row lineage with format version 2',
    )
  })
})

describe('properties and location', () => {
  it('are set and removed', () => {
    const base = table(2, { properties: { a: '1', b: '2' } })
    const next = apply(base, [
      setProperties({ b: '3', c: '4' }),
      { action: 'remove-properties', removals: ['a', 'z'] },
    ])
    expect(next.properties).toEqual({ 'write.parquet.compression-codec': 'zstd', b: '3', c: '4' })
    expect(base.properties).toMatchObject({ a: '1', b: '2' })
    expect(apply(base, [setProperties({}), { action: 'remove-properties', removals: [] }])).toBe(base)
  })

  it('come from early clients under other names', () => {
    const next = apply(table(2, { properties: { a: '1' } }), [
      { action: 'set-properties', updated: { b: '2' } },
      { action: 'remove-properties', removed: ['a'] },
    ])
    expect(next.properties).toEqual({ 'write.parquet.compression-codec': 'zstd', b: '2' })
    const both = { action: 'set-properties', updated: { b: '2' }, updates: { c: '3' } }
    expect(apply(table(), [both]).properties).not.toHaveProperty('b')
  })

  it('may have names that objects have by themselves', () => {
    const updates = JSON.parse('{"__proto__":"a","constructor":"b","toString":"c"}')
    const next = apply(table(), [setProperties(updates)])
    expect(JSON.parse(JSON.stringify(next)).properties).toEqual({
      'write.parquet.compression-codec': 'zstd',
      ...updates,
    })
    expect(Object.getPrototypeOf(next.properties)).toBe(Object.prototype)
    const removals = { action: 'remove-properties', removals: Object.keys(updates) }
    expect(apply(next, [removals]).properties).toEqual(table().properties)
    expect(Object.getPrototypeOf({})).toBe(Object.prototype)
  })

  it.each([
    [{ a: 1 }, 'Cannot parse to a string value: updates[0].updates.a: 1'],
    [{ a: null }, 'Cannot parse to a string value: updates[0].updates.a: null'],
    [['a'], 'Cannot parse string map from non-object value: updates[0].updates: an array of 1'],
    [null, 'Cannot parse string map from non-object value: updates[0].updates: null'],
  ])('are texts: %j is refused', (updates, message) => {
    refused(() => apply(table(), [setProperties(updates as object)]), 'IllegalArgumentException', message)
  })

  it('move a table', () => {
    const move = (to: unknown) => ({ action: 'set-location', location: to })
    expect(apply(table(), [move('s3://other/t/')]).location).toBe('s3://other/t')
    const base = table()
    expect(apply(base, [move(`${location}/`)])).toBe(base)
    refused(() => apply(table(), [move('')]), 'IllegalArgumentException', 'Invalid table location')
    refused(() => apply(table(), [move(1)]), 'IllegalArgumentException', 'updates[0].location: 1')
  })
})

describe('encryption keys', () => {
  const key = (id: string) => ({
    'key-id': id,
    'encrypted-key-metadata': 'c2VjcmV0',
    'encrypted-by-id': 'kms',
  })
  const add = (id: string) => ({ action: 'add-encryption-key', 'encryption-key': key(id) })
  const remove = (id: string) => ({ action: 'remove-encryption-key', 'key-id': id })

  it('are added once, and removed', () => {
    const next = apply(table(3), [add('a'), add('b'), add('a')])
    expect(next['encryption-keys']).toEqual([key('a'), key('b')])
    expect(apply(next, [add('a'), remove('z')])).toBe(next)
    expect(apply(next, [remove('a')])['encryption-keys']).toEqual([key('b')])
    expect(apply(next, [remove('a'), remove('b')])).not.toHaveProperty('encryption-keys')
    expect(apply(next, [setProperties({ a: 'b' })])['encryption-keys']).toBe(next['encryption-keys'])
  })

  it('are refused where they cannot be read', () => {
    const update = {
      action: 'add-encryption-key',
      'encryption-key': { ...key('a'), 'encrypted-key-metadata': '§' },
    }
    refused(() => apply(table(3), [update]), 'IllegalArgumentException', 'Cannot parse Base64')
    refused(
      () => apply(table(3), [{ action: 'add-encryption-key' }]),
      'IllegalArgumentException',
      'updates[0].encryption-key',
    )
  })
})

describe('the log of metadata files', () => {
  const file = (n: number) => `${location}/metadata/0000${n}.metadata.json`
  const entry = (n: number, at: number) => ({ 'timestamp-ms': at, 'metadata-file': file(n) })
  const commit = (base: ReturnType<typeof table>, n: number, updates: object = { n: String(n) }) =>
    apply(base, [setProperties(updates)], { now: now + n, previousLocation: file(n) })

  it('gets the file of the base with its time', () => {
    expect(commit(table(), 1)['metadata-log']).toEqual([entry(1, now)])
    expect(commit(commit(table(), 1), 2)['metadata-log']).toEqual([entry(1, now), entry(2, now + 1)])
    expect(apply(commit(table(), 1), [setProperties({ a: 'b' })])['metadata-log']).toEqual([entry(1, now)])
  })

  it.each([
    ['2', [4, 5]],
    ['1', [5]],
    ['0', [5]],
    ['-3', [5]],
    ['9', [1, 2, 3, 4, 5]],
    ['many', [1, 2, 3, 4, 5]],
  ])('keeps as many as a property says: %s', (max, kept) => {
    let base = table()
    for (let n = 1; n < 5; n++) base = commit(base, n)
    const next = commit(base, 5, { 'write.metadata.previous-versions-max': max })
    expect(next['metadata-log'].map((each) => each['metadata-file'])).toEqual(kept.map(file))
  })

  it('keeps a hundred unless a property says so', () => {
    let base = table()
    for (let n = 1; n < 105; n++) base = commit(base, n)
    expect(base['metadata-log']).toHaveLength(100)
    expect(base['metadata-log'].at(-1)).toEqual(entry(104, now + 103))
  })

  it('has no time far after the commit', () => {
    const late = { ...table(), 'last-updated-ms': now + 100_000 }
    refused(
      () => commit(late, 1),
      'IllegalArgumentException',
      `before the latest metadata log entry timestamp ${now + 100_000}`,
    )
  })
})

describe('a commit', () => {
  it('keeps members that the specification does not name', () => {
    const base = checkTableMetadata({ ...table(), future: { a: [1] } })
    expect(apply(base, [setProperties({ a: 'b' })])).toHaveProperty('future', { a: [1] })
  })

  it.each([
    [
      { action: 'add-magic' },
      'BadRequestException',
      'Unknown metadata update action: "add-magic": updates[1]',
    ],
    [{ action: '__proto__' }, 'BadRequestException', 'Unknown metadata update action: "__proto__"'],
    [
      { action: 'add-view-version' },
      'BadRequestException',
      'Cannot apply update "add-view-version" to a table',
    ],
    [{ action: null }, 'IllegalArgumentException', 'Cannot parse metadata update. Missing field: action'],
    [
      { 'format-version': 2 },
      'IllegalArgumentException',
      'Cannot parse metadata update. Missing field: action',
    ],
    [{ action: 3 }, 'IllegalArgumentException', 'Cannot parse to a string value: updates[1].action: 3'],
    [
      'assign-uuid',
      'IllegalArgumentException',
      'Cannot parse metadata update from non-object value: "assign-uuid"',
    ],
    [[], 'IllegalArgumentException', 'Cannot parse metadata update from non-object value: an array of 0'],
  ] as const)('is refused with an update that is not understood: %j', (update, type, message) => {
    const base = table()
    refused(() => apply(base, [setProperties({ a: 'b' }), update]), type, message)
    expect(base).toEqual(table())
  })

  it('takes actions in any case, as the reference implementation does', () => {
    expect(
      apply(table(), [{ ...setProperties({ a: 'b' }), action: 'SET-Properties' }]).properties,
    ).toHaveProperty('a', 'b')
  })

  it('is refused with a value that nobody could write or read', () => {
    let deep: unknown = 1
    for (let n = 0; n < 100_000; n++) deep = { deep }
    const of = (future: unknown) => [{ action: 'set-properties', updates: { a: 'b' }, future }]
    refused(() => apply(table(), of(deep)), 'BadRequestException', 'nested deeper than 100: updates[0]')
    refused(() => apply(table(), of(undefined)), 'BadRequestException', 'not JSON: updates[0]')
    refused(() => apply(table(), of(Number.NaN)), 'BadRequestException', 'not JSON: updates[0]')
  })

  it('is refused without a list of updates', () => {
    refused(
      () => apply(table(), null as never),
      'IllegalArgumentException',
      'Cannot parse JSON array from null: updates',
    )
  })
})
