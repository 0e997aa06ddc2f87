import { describe, expect, test } from 'vitest'
import { currentVersion } from '../../../src/iceberg/metadata/view-metadata.ts'
import {
  added,
  addSchema,
  addVersion,
  again,
  apply,
  bad,
  invalid,
  keep,
  loggedIds,
  now,
  one,
  schemaOf,
  setCurrent,
  setLocation,
  setProperties,
  sql,
  three,
  two,
  version,
  versionIds,
  view,
} from './views.ts'

describe('schemas', () => {
  test('get new ids from 0, and those that are the same are one', () => {
    const schemas = [schemaOf('x', 5), schemaOf('y', 7), schemaOf('z', 9)]
    const same = [schemaOf('x', 6), schemaOf('y', 8), schemaOf('z', 10)]
    const metadata = apply(undefined, [
      setLocation,
      ...[...schemas, ...same].map(addSchema),
      addVersion({ ...one, 'schema-id': -1 }),
      setCurrent(-1),
    ])
    expect(metadata.schemas).toEqual([schemaOf('x', 0), schemaOf('y', 1), schemaOf('z', 2)])
    // The last one that was added was there, and still is what -1 means.
    expect(metadata.versions).toEqual([{ ...one, 'schema-id': 2 }])
  })

  test('are needed by versions', () => {
    const last = addVersion({ ...one, 'schema-id': -1 })
    expect(() => apply(undefined, [setLocation, addVersion({ ...one, 'schema-id': 1 })])).toThrow(
      bad('Cannot add version with unknown schema: 1'),
    )
    expect(() => apply(undefined, [setLocation, last])).toThrow(
      invalid('Cannot set last added schema: no schema has been added'),
    )
    const base = view(addVersion(one), setCurrent(1))
    expect(() => apply(base, [last])).toThrow(
      invalid('Cannot set last added schema: no schema has been added'),
    )
    expect(() => apply(base, [addSchema({ ...schemaOf('y'), type: 'list' })])).toThrow(
      expect.objectContaining({ status: 400 }),
    )
    expect(() => apply(base, [{ action: 'add-schema' }])).toThrow(expect.objectContaining({ status: 400 }))
  })

  test('that were added last are -1', () => {
    const metadata = view(
      addSchema(schemaOf('y', 0, 2)),
      addVersion(one),
      addVersion({ ...two, 'schema-id': 1 }),
      addVersion({ ...version(2, 'select 3'), 'schema-id': -1 }),
      setCurrent(3),
    )
    expect(versionIds(metadata)).toEqual([1, 2, 3])
    expect(currentVersion(metadata)).toMatchObject({ 'version-id': 3, 'schema-id': 1 })
  })
})

describe('versions', () => {
  test('get the next id where theirs is taken', () => {
    const metadata = view(
      ...[one, two, three].map((each) => addVersion({ ...each, 'version-id': 1 })),
      setCurrent(3),
    )
    expect(metadata.versions).toEqual([one, two, three].map((each, i) => ({ ...each, 'version-id': i + 1 })))
    expect(metadata['current-version-id']).toBe(3)
  })

  test('that differ in their time only are one', () => {
    const first = [one, two, three].map((each) => addVersion({ ...each, 'version-id': 1 }))
    const later = [one, two, three].map((each, i) =>
      addVersion({ ...each, 'version-id': 1, 'timestamp-ms': 10 * i }),
    )
    const metadata = view(...first, ...later, setCurrent(3))
    expect(metadata.versions).toEqual([one, two, three])
  })

  test.each([
    ['summary', { summary: { user: 'some-user', key: 'val' } }],
    ['representations', { representations: [sql('select * from ns.tbl'), sql('select 1', 'trino')] }],
    [
      'order of representations',
      { representations: [sql('a', 'trino'), sql('b')] },
      { representations: [sql('b'), sql('a', 'trino')] },
    ],
    ['catalog', { 'default-catalog': 'prod' }],
    ['namespace', { 'default-namespace': ['ns', 'x'] }],
  ])('that differ in their %s are two', (_, more: object, less: object = {}) => {
    const metadata = view(addVersion({ ...one, ...less }), addVersion({ ...one, ...more }), setCurrent(1))
    expect(versionIds(metadata)).toEqual([1, 2])
  })

  test('that differ in the case of a type are one', () => {
    const upper = { ...one, representations: [{ ...one.representations[0], type: 'SQL' }] }
    expect(view(addVersion(upper), addVersion(one), setCurrent(1)).versions).toEqual([one])
  })

  test('that differ in the order of members are one', () => {
    const summary = { a: '1', b: '2' }
    const metadata = view(
      addVersion({ ...one, summary, 'default-catalog': null }),
      addVersion({
        ...one,
        summary: { b: '2', a: '1' },
        representations: [{ dialect: 'spark', sql: one.representations[0]!.sql, type: 'sql' }],
      }),
      setCurrent(-1),
    )
    expect(metadata.versions).toEqual([{ ...one, summary }])
    expect(metadata.versions[0]).not.toHaveProperty('default-catalog')
  })

  test('become current as the last one added, and as one that was there', () => {
    const base = view(addVersion(one), addVersion(two), setCurrent(1))
    expect(apply(base, [addVersion(three), setCurrent(-1)])['current-version-id']).toBe(3)
    expect(
      apply(base, [addVersion({ ...two, 'timestamp-ms': 9 }), setCurrent(-1)])['current-version-id'],
    ).toBe(2)
    expect(() => apply(base, [setCurrent(-1)])).toThrow(invalid('Cannot set last version id'))
  })

  test('have one query for a dialect', () => {
    const twice = { ...one, representations: [sql('select 1', 'spark'), sql('select 2', 'SpArK')] }
    expect(() => view(addVersion(twice))).toThrow(
      bad('Invalid view version: Cannot add multiple queries for dialect spark'),
    )
  })

  test.each([
    ['default-namespace', undefined, 'Cannot parse missing list: updates[0].view-version.default-namespace'],
    ['default-namespace', ['a\u0000'], 'null-byte character'],
    ['default-catalog', 5, 'Cannot parse to a string value'],
    ['representations', 23, 'Cannot parse JSON array from 23'],
    ['representations', undefined, 'Cannot parse missing list: updates[0].view-version.representations'],
    ['representations', [{ sql: 'a', dialect: 'b' }], 'Cannot parse missing string'],
    ['representations', [{ type: 'SQL', dialect: 'b' }], 'representations[0].sql'],
    ['summary', undefined, 'Cannot parse missing map'],
    ['summary', { a: 1 }, 'Cannot parse to a string value'],
    ['version-id', 2 ** 31, 'Cannot parse to an integer value'],
    ['timestamp-ms', '1', 'Cannot parse to a long value'],
    ['schema-id', null, 'Cannot parse to an integer value'],
  ])('are refused with %s %j', (name, value, message) => {
    const changed: Record<string, unknown> = { ...one, [name]: value }
    if (value === undefined) delete changed[name]
    expect(() => apply(view(addVersion(one), setCurrent(1)), [addVersion(changed)])).toThrow(bad(message))
  })
})

describe('the history', () => {
  test('keeps as many versions as the property says, and those of the commit', () => {
    const first = view(keep('2'), ...added, setCurrent(3))
    expect(versionIds(first)).toEqual([1, 2, 3])
    expect(loggedIds(first)).toEqual([3])

    const second = again(first)
    expect(versionIds(second)).toEqual([2, 3])
    expect(loggedIds(second)).toEqual([3])

    const third = apply(second, [setCurrent(2)])
    const fourth = apply(third, [setCurrent(3)])
    expect(versionIds(fourth)).toEqual([2, 3])
    expect(loggedIds(fourth)).toEqual([3, 2, 3])
    expect(() => apply(fourth, [setCurrent(1)])).toThrow(
      bad('Cannot set current version to unknown version: 1'),
    )
  })

  test('keeps versions that the commit added, and the current one', () => {
    const base = view(keep('2'), addVersion(one), setCurrent(1))
    const more = apply(base, [addVersion(two), addVersion(three)])
    expect(versionIds(more)).toEqual([1, 2, 3])
    expect(versionIds(again(more))).toEqual([1, 3])
  })

  test('never loses the current version', () => {
    const metadata = again(view(keep('1'), ...added, setCurrent(1)))
    expect(metadata.versions).toEqual([one])
    expect(loggedIds(metadata)).toEqual([1])
  })

  test('begins after the last entry of an expired version', () => {
    const log = [3, 2, 1, 2, 3].map((id) => ({ 'timestamp-ms': id, 'version-id': id }))
    const base = { ...view(keep('2'), ...added, setCurrent(3)), 'version-log': log }
    expect(loggedIds(again(base))).toEqual([2, 3])
  })

  test('keeps 10 versions where no property says otherwise', () => {
    const versions = Array.from({ length: 12 }, (_, i) => addVersion(version(i + 1, `select ${i}`)))
    const base = view(...versions, setCurrent(12))
    expect(versionIds(base)).toHaveLength(12)
    expect(versionIds(again(base))).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
  })

  test.each([
    ['0', 'version.history.num-entries must be positive but was 0'],
    ['-1', 'must be positive but was -1'],
    ['many', 'must be an integer but was many'],
    ['2147483648', 'must be an integer but was 2147483648'],
    ['', 'must be an integer but was '],
  ])('refuses %j entries', (entries, message) => {
    expect(() => view(keep(entries), ...added, setCurrent(3))).toThrow(bad(message))
  })

  test('has the time of new versions, and of the commit for others', () => {
    const base = view(addVersion(one), addVersion(two), setCurrent(1))
    const second = apply(base, [setCurrent(2)])
    const third = apply(second, [addVersion(three), setCurrent(3)])
    const back = apply(third, [setCurrent(1)], { now: now + 1 })
    expect(back['version-log']).toEqual([
      { 'timestamp-ms': 1000, 'version-id': 1 },
      { 'timestamp-ms': now, 'version-id': 2 },
      { 'timestamp-ms': 3000, 'version-id': 3 },
      { 'timestamp-ms': now + 1, 'version-id': 1 },
    ])
  })

  test('has one entry for a commit', () => {
    const base = view(...added, setCurrent(1))
    expect(loggedIds(apply(base, [setCurrent(3), setCurrent(2)]))).toEqual([1, 2])
  })
})

describe('dialects', () => {
  const of = (id: number, ...dialects: string[]) =>
    version(id, '', { representations: dialects.map((dialect) => sql('select * from tbl', dialect)) })
  const base = (...dialects: string[]) => view(addVersion(of(1, ...dialects)), setCurrent(1))
  const lost = (before: string, after: string) =>
    invalid(
      'Cannot replace view due to loss of view dialects (replace.drop-dialect.allowed=false):\n' +
        `Previous dialects: [${before}]\nNew dialects: [${after}]`,
    )
  const allowed = (value: string) => setProperties({ 'replace.drop-dialect.allowed': value })

  test('are not dropped', () => {
    const replace = [addVersion(of(2, 'trino')), setCurrent(-1)]
    expect(() => apply(base('spark'), replace)).toThrow(lost('spark', 'trino'))
    expect(() => apply(base('spark'), [...replace, allowed('yes')])).toThrow(lost('spark', 'trino'))
  })

  test('are dropped where the property allows it, whenever it was set', () => {
    const dropped = apply(base('spark'), [addVersion(of(2, 'trino')), setCurrent(-1), allowed('TRUE')])
    expect(currentVersion(dropped).representations).toEqual([sql('select * from tbl', 'trino')])
    expect(() => apply(dropped, [setCurrent(1), allowed('false')])).toThrow(lost('trino', 'spark'))
  })

  test('may be added, and may be written in another case', () => {
    for (const dialects of [['spark', 'trino'], ['Spark']])
      expect(
        apply(base('spark'), [addVersion(of(2, ...dialects)), setCurrent(-1)])['current-version-id'],
      ).toBe(2)
    expect(apply(base(), [addVersion(of(2, 'spark')), setCurrent(-1)])['current-version-id']).toBe(2)
  })

  test('count at the end of a commit only', () => {
    const versions = [of(1, 'spark'), of(2, 'trino'), of(3, 'trino', 'spark')]
    const metadata = view(...versions.map(addVersion), setCurrent(1))
    expect(() => apply(metadata, [setCurrent(3), setCurrent(1), setCurrent(2)])).toThrow(
      lost('spark', 'trino'),
    )
    const both = apply(metadata, [setCurrent(3)])
    expect(() => apply(both, [setCurrent(1), setCurrent(2)])).toThrow(lost('trino, spark', 'trino'))
    expect(apply(metadata, [setCurrent(2), setCurrent(3)])['current-version-id']).toBe(3)
  })
})
