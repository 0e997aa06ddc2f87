import { describe, expect, it } from 'vitest'
import { CatalogError } from '../../../src/base/errors.ts'
import { checkTableMetadata } from './at-once.ts'
import {
  apply,
  field,
  history,
  location,
  now,
  otherUuid,
  partition,
  sorted,
  struct,
  uuid,
  xyz,
} from './tables.ts'

/** A file of version 1 as the first writers wrote it. */
const oldest = {
  'format-version': 1,
  location,
  'last-updated-ms': now,
  'last-column-id': 3,
  schema: { type: 'struct', fields: xyz.fields },
  'partition-spec': [partition(1, 'identity', 'x'), partition(2, 'bucket[4]', 'y_bucket')],
  properties: {},
  'current-snapshot-id': -1,
  snapshots: [],
}

/** A file of version 2 with nothing that may be left out. */
const least = {
  'format-version': 2,
  'table-uuid': uuid,
  location,
  'last-sequence-number': 34,
  'last-updated-ms': now,
  'last-column-id': 3,
  'current-schema-id': 0,
  schemas: [xyz],
  'default-spec-id': 0,
  'partition-specs': [{ 'spec-id': 0, fields: [partition(1, 'identity', 'x', 1000)] }],
  'last-partition-id': 1000,
  'default-sort-order-id': 3,
  'sort-orders': [{ 'order-id': 3, fields: [sorted(2), sorted(3, 'desc', 'bucket[4]')] }],
}

const empty = {
  properties: {},
  'current-snapshot-id': -1,
  refs: {},
  snapshots: [],
  statistics: [],
  'partition-statistics': [],
  'snapshot-log': [],
  'metadata-log': [],
}

describe('a metadata file', () => {
  it('of version 1 gets the members that were added later', () => {
    expect(checkTableMetadata(oldest)).toEqual({
      ...oldest,
      ...empty,
      schema: xyz,
      schemas: [xyz],
      'current-schema-id': 0,
      'partition-spec': [partition(1, 'identity', 'x', 1000), partition(2, 'bucket[4]', 'y_bucket', 1001)],
      'partition-specs': [
        {
          'spec-id': 0,
          fields: [partition(1, 'identity', 'x', 1000), partition(2, 'bucket[4]', 'y_bucket', 1001)],
        },
      ],
      'default-spec-id': 0,
      'last-partition-id': 1001,
      'sort-orders': [{ 'order-id': 0, fields: [] }],
      'default-sort-order-id': 0,
    })
  })

  it('may leave out what is empty', () => {
    expect(checkTableMetadata(least)).toEqual({ ...least, ...empty })
    const none = Object.fromEntries(Object.keys(empty).map((name) => [name, null]))
    expect(checkTableMetadata({ ...least, ...none })).toEqual({ ...least, ...empty })
    const third = checkTableMetadata({ ...least, 'format-version': 3, 'next-row-id': 7 })
    expect(third).toMatchObject({ 'current-snapshot-id': null, 'next-row-id': 7 })
  })

  it('has a branch main where its current snapshot is', () => {
    const { refs: _, ...without } = history()
    const main = { 'snapshot-id': 2, type: 'branch' }
    expect(checkTableMetadata(without).refs).toEqual({ main })
    expect(checkTableMetadata({ ...without, refs: {} }).refs).toEqual({ main })
    expect(checkTableMetadata({ ...without, refs: null }).refs).toEqual({ main })
  })

  it.each([1, 2, 3])('stays as it is where nothing is missing, in version %i', (version) => {
    const made = history(version)
    expect(checkTableMetadata(made)).toBe(made)
  })

  it('keeps unknown members, but not the second schema of later versions', () => {
    const made = checkTableMetadata({
      ...least,
      schema: xyz,
      'partition-spec': [],
      future: [{ a: 2n ** 62n }],
    })
    expect(made).toHaveProperty('future', [{ a: 2n ** 62n }])
    expect(made).not.toHaveProperty('schema')
    expect(made).not.toHaveProperty('partition-spec')
  })

  it('has one form of each integer', () => {
    const made = checkTableMetadata({ ...history(), 'current-snapshot-id': 2n, 'last-sequence-number': 2n })
    expect(made).toEqual(history())
  })

  it('may have specs and orders of columns that are gone, but for the default ones', () => {
    const old = { 'spec-id': 1, fields: [partition(9, 'identity', 'gone', 1001)] }
    const oldOrder = { 'order-id': 4, fields: [sorted(9)] }
    const given = {
      ...least,
      'partition-specs': [...least['partition-specs'], old],
      'sort-orders': [...least['sort-orders'], oldOrder],
    }
    expect(checkTableMetadata(given)['partition-specs']).toHaveLength(2)
    refused(
      { ...given, 'default-spec-id': 1 },
      'Cannot find source column for partition field: 1001: gone: identity(9)',
    )
    refused({ ...given, 'default-sort-order-id': 4 }, 'Cannot find source column for sort field')
  })

  it('may have a name of a member that objects have by themselves', () => {
    const json = JSON.stringify(least).replace('{', '{"__proto__":{"polluted":1},"constructor":2,')
    const made = checkTableMetadata(JSON.parse(json))
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype)
    expect(JSON.parse(JSON.stringify(made))).toEqual({ ...JSON.parse(json), ...empty })
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    expect(Object.hasOwn(apply(made, [{ action: 'set-properties', updates: { a: 'b' } }]), '__proto__')).toBe(
      true,
    )
  })
})

function refused(json: unknown, message: string): void {
  let thrown: unknown
  try {
    checkTableMetadata(json)
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(CatalogError)
  expect((thrown as CatalogError).code).toBe('InvalidInput')
  expect((thrown as CatalogError).message).toContain(message)
}

const without = (name: string, json: object = least) =>
  Object.fromEntries(Object.entries(json).filter(([key]) => key !== name))

describe('metadata is refused', () => {
  const full = history()
  const [one, two] = full.snapshots
  it.each([
    ['that is no object', [], 'Cannot parse metadata from a non-object: an array of 0'],
    ['that is empty', {}, 'Cannot parse missing int: metadata.format-version'],
    ['of a later version', { ...least, 'format-version': 4 }, 'Cannot read unsupported version 4'],
    ['of no version', { ...least, 'format-version': 0 }, 'Cannot read unsupported version 0'],
    ['without an id', without('table-uuid'), 'UUID is required in format v2'],
    ['without a location', without('location'), 'Cannot parse missing string: metadata.location'],
    [
      'without a last sequence number',
      without('last-sequence-number'),
      'Cannot parse missing long: metadata.last-sequence-number',
    ],
    [
      'without a last update',
      without('last-updated-ms'),
      'Cannot parse missing long: metadata.last-updated-ms',
    ],
    ['without a last column', without('last-column-id'), 'Cannot parse missing int: metadata.last-column-id'],
    ['without schemas', without('schemas'), 'schemas must exist in format v2'],
    ['without specs', without('partition-specs'), 'partition-specs must exist in format v2'],
    ['without a last partition', without('last-partition-id'), 'last-partition-id must exist in format v2'],
    ['without orders', without('sort-orders'), 'sort-orders must exist in format v2'],
    [
      'without a next row',
      { ...least, 'format-version': 3 },
      'Cannot parse missing long: metadata.next-row-id',
    ],
    [
      'without its current schema',
      { ...least, 'current-schema-id': 2 },
      'Cannot find schema with current-schema-id=2 from schemas',
    ],
    [
      'without its default spec',
      { ...least, 'default-spec-id': 2 },
      'Cannot find partition spec with default-spec-id=2 from partition-specs',
    ],
    [
      'without its default order',
      { ...least, 'default-sort-order-id': 2 },
      'Cannot find sort order with default-sort-order-id=2 from sort-orders',
    ],
    [
      'with two schemas of one id',
      { ...least, schemas: [xyz, xyz] },
      'Multiple entries with schema-id=0 in schemas',
    ],
    [
      'with a schema that has no type',
      { ...oldest, schema: { fields: [] } },
      'Cannot parse type from json: metadata.schema',
    ],
    [
      'with a schema that is wrong',
      { ...least, schemas: [struct(field(1, 'x', 'tinyint'))] },
      'Cannot parse type string to primitive: "tinyint"',
    ],
    [
      'with a partition by the name of another column',
      { ...least, 'partition-specs': [{ 'spec-id': 0, fields: [partition(1, 'identity', 'y', 1000)] }] },
      'Cannot create identity partition sourced from different field in schema',
    ],
    [
      'whose current snapshot is not there',
      { ...full, snapshots: [one], 'last-sequence-number': 9 },
      'Invalid table metadata: Cannot find current version',
    ],
    [
      'whose main branch is elsewhere',
      { ...full, refs: { main: { 'snapshot-id': 1, type: 'branch' } } },
      'Current snapshot ID does not match main branch (2 != 1)',
    ],
    [
      'whose main branch has no current snapshot',
      { ...full, 'current-snapshot-id': -1 },
      'Current snapshot is not set, but main branch exists',
    ],
    [
      'whose main branch is a tag',
      { ...full, refs: { main: { 'snapshot-id': 2, type: 'tag' } } },
      'Cannot set main to a tag',
    ],
    [
      'with a branch of no snapshot',
      { ...full, refs: { b: { 'snapshot-id': 9, type: 'branch' } } },
      'Snapshot for reference "b" does not exist in the existing snapshots list',
    ],
    [
      'with two snapshots of one id',
      { ...full, snapshots: [one, two, two] },
      'Multiple snapshots with snapshot-id=2 in snapshots',
    ],
    [
      'with a snapshot of a later sequence number',
      { ...full, 'last-sequence-number': 1 },
      'Invalid snapshot with sequence number 2 greater than last sequence number 1',
    ],
    [
      'with a snapshot that has no time',
      { ...full, snapshots: [one, without('timestamp-ms', two)] },
      'Cannot parse missing long: metadata.snapshots[1].timestamp-ms',
    ],
    [
      'with a log that is not in order',
      {
        ...full,
        'snapshot-log': [...full['snapshot-log'], { 'snapshot-id': 1, 'timestamp-ms': now - 70_000 }],
      },
      'Expected sorted snapshot log entries',
    ],
    [
      'with a log of later times',
      { ...full, 'last-updated-ms': now - 60_001 },
      'before last snapshot log entry',
    ],
    [
      'with files of later times',
      { ...least, 'metadata-log': [{ 'metadata-file': 'a', 'timestamp-ms': now + 60_001 }] },
      'before the latest metadata log entry timestamp',
    ],
    [
      'with a file that has no name',
      { ...least, 'metadata-log': [{ 'timestamp-ms': now }] },
      'Cannot parse missing string: metadata.metadata-log[0].metadata-file',
    ],
    [
      'with properties that are no texts',
      { ...least, properties: { a: {} } },
      'Cannot parse to a string value: metadata.properties.a: an object',
    ],
    [
      'with snapshots that are no list',
      { ...least, snapshots: {} },
      'Cannot parse JSON array from an object: metadata.snapshots',
    ],
    [
      'with two keys of one id',
      { ...least, 'encryption-keys': [0, 1].map(() => ({ 'key-id': 'a', 'encrypted-key-metadata': '' })) },
      'Multiple keys with the same key-id',
    ],
    [
      'with a value that JSON does not have',
      { ...least, future: undefined, other: () => 0 },
      'Cannot parse a value that is not JSON: metadata',
    ],
  ])('%s', (_, json, message) => {
    refused(json, message)
  })

  it('nested deeper than anyone can follow', () => {
    let deep: unknown = 1
    for (let n = 0; n < 100_000; n++) deep = [deep]
    refused({ ...least, future: deep }, 'Cannot parse values nested deeper than 100: metadata')
  })

  it('and is not changed by the check', () => {
    const json = { ...least, 'table-uuid': otherUuid, location: `${location}/` }
    const before = structuredClone(json)
    checkTableMetadata(json)
    expect(json).toEqual(before)
  })
})
