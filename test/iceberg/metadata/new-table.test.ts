import { describe, expect, it } from 'vitest'
import { checkTableMetadata } from './at-once.ts'
import { field, location, now, partition, refused, sorted, struct, table, uuid, xyz } from './tables.ts'

describe('a new table', () => {
  it('has the members of its version, with nothing in it', () => {
    expect(table()).toEqual({
      'format-version': 2,
      'table-uuid': uuid,
      location,
      'last-sequence-number': 0,
      'last-updated-ms': now,
      'last-column-id': 3,
      'current-schema-id': 0,
      schemas: [xyz],
      'default-spec-id': 0,
      'partition-specs': [{ 'spec-id': 0, fields: [] }],
      'last-partition-id': 999,
      'default-sort-order-id': 0,
      'sort-orders': [{ 'order-id': 0, fields: [] }],
      properties: { 'write.parquet.compression-codec': 'zstd' },
      'current-snapshot-id': -1,
      refs: {},
      snapshots: [],
      statistics: [],
      'partition-statistics': [],
      'snapshot-log': [],
      'metadata-log': [],
    })
    expect(table(3)).toMatchObject({ 'format-version': 3, 'current-snapshot-id': null, 'next-row-id': 0 })
    const first = table(1)
    expect(first).toMatchObject({ 'format-version': 1, schema: xyz, 'partition-spec': [] })
    expect(first).not.toHaveProperty('last-sequence-number')
  })

  it.each([1, 2, 3])('is metadata that a file may have, in version %i', (version) => {
    const made = table(version)
    expect(checkTableMetadata(made)).toBe(made)
  })

  it('has version 2 unless its properties say another, and keeps no property that is reserved', () => {
    const given = { key: 'value', uuid: 'x', 'current-schema': '{}' }
    const { properties } = table(3, { properties: given })
    expect(properties).toEqual({ 'write.parquet.compression-codec': 'zstd', key: 'value' })
    const own = table(2, { properties: { 'write.parquet.compression-codec': 'gzip' } })
    expect(own.properties).toEqual({ 'write.parquet.compression-codec': 'gzip' })
  })

  it('numbers all columns anew: the fields of a struct before those inside', () => {
    const point = (id: number) => ({
      type: 'struct',
      fields: [field(id, 'a'), field(id + 1, 'b')],
    })
    const schema = {
      ...struct(
        field(30, 'points', { type: 'list', 'element-id': 31, element: point(32), 'element-required': true }),
        field(40, 'named', {
          type: 'map',
          'key-id': 41,
          key: 'string',
          'value-id': 42,
          value: point(43),
          'value-required': false,
        }),
        field(50, 'id'),
      ),
      'schema-id': 7,
      'identifier-field-ids': [50],
    }
    const made = table(2, { schema })
    expect(made.schemas).toEqual([
      {
        ...struct(
          field(1, 'points', { type: 'list', 'element-id': 4, element: point(5), 'element-required': true }),
          field(2, 'named', {
            type: 'map',
            'key-id': 7,
            key: 'string',
            'value-id': 8,
            value: point(9),
            'value-required': false,
          }),
          field(3, 'id'),
        ),
        'identifier-field-ids': [3],
      },
    ])
    expect(made['last-column-id']).toBe(10)
  })

  it('has its spec and order on the new ids', () => {
    const schema = struct(field(3, 'x'), field(4, 'y'), field(5, 'z'))
    const partitionSpec = {
      'spec-id': 5,
      fields: [
        partition(3, 'BUCKET[4]', 'x_partition', 1005),
        partition(5, 'bucket[8]', 'z_partition', 1003),
      ],
    }
    const sortOrder = { 'order-id': 9, fields: [sorted(4), sorted(5, 'desc', 'bucket[4]')] }
    const made = table(2, { schema, partitionSpec, sortOrder })
    expect(made['partition-specs']).toEqual([
      {
        'spec-id': 0,
        fields: [
          partition(1, 'bucket[4]', 'x_partition', 1000),
          partition(3, 'bucket[8]', 'z_partition', 1001),
        ],
      },
    ])
    expect(made['last-partition-id']).toBe(1001)
    expect(made['sort-orders']).toEqual([
      { 'order-id': 1, fields: [sorted(2), sorted(3, 'desc', 'bucket[4]')] },
    ])
    expect(made['default-sort-order-id']).toBe(1)
  })

  it('partitions and sorts by fields of structs, which keep their ids by their full names', () => {
    const schema = struct(
      field(10, 'point', { type: 'struct', fields: [field(11, 'x'), field(12, 'y')] }),
      field(13, 'x'),
    )
    const spec = { fields: [partition(12, 'identity', 'point.y')] }
    const made = table(2, { schema, partitionSpec: spec, sortOrder: { 'order-id': 1, fields: [sorted(11)] } })
    expect(made['partition-specs'][0]!.fields[0]).toMatchObject({ 'source-id': 4, 'field-id': 1000 })
    expect(made['sort-orders'][0]!.fields[0]).toMatchObject({ 'source-id': 3 })
  })

  it('has no slash at the end of its location', () => {
    expect(table(2, { location: 's3://bucket/t///' }).location).toBe('s3://bucket/t')
    expect(table(2, { location: 'file:///' }).location).toBe('file://')
  })
})

describe('a table is not created', () => {
  const spec = (...fields: unknown[]) => ({ partitionSpec: { fields } })
  const properties = (entries: object) => ({ properties: entries })
  const list = { type: 'list', 'element-id': 2, element: 'long', 'element-required': true }

  it.each([
    [
      'of a version that is not known',
      properties({ 'format-version': '4' }),
      'IllegalArgumentException',
      'Unsupported format version: v4 (supported: v3)',
    ],
    [
      'of a version that is no number',
      properties({ 'format-version': 'two' }),
      'IllegalArgumentException',
      'Invalid format-version: "two"',
    ],
    [
      'with settings of commits that are no numbers',
      properties({ 'commit.retry.num-retries': 'x' }),
      'ValidationException',
      'Table property commit.retry.num-retries must have integer value',
    ],
    [
      'with negative settings of commits',
      properties({ 'commit.retry.num-retries': '-1' }),
      'ValidationException',
      'must have non negative integer value',
    ],
    [
      'with metrics of no column',
      properties({ 'write.metadata.metrics.column.q': 'full' }),
      'ValidationException',
      'could not find column "q"',
    ],
    [
      'with encryption before version 3',
      properties({ 'encryption.key-id': 'k' }),
      'IllegalArgumentException',
      'Invalid properties for v2: [encryption.key-id]',
    ],
    [
      'with a property that is no text',
      properties({ a: 1 }),
      'IllegalArgumentException',
      'Cannot parse to a string value: request.properties.a: 1',
    ],
    [
      'partitioned by no column',
      spec(partition(9, 'identity', 'q')),
      'ValidationException',
      'Cannot find source column for partition field: 9',
    ],
    [
      'partitioned by a type that the transform does not take',
      spec(partition(1, 'day', 'd')),
      'ValidationException',
      'Invalid source type long for transform: day',
    ],
    [
      'partitioned by the name of another column',
      spec(partition(1, 'identity', 'y')),
      'IllegalArgumentException',
      'Cannot create identity partition sourced from different field in schema: "y"',
    ],
    [
      'with two partitions of one name',
      spec(partition(1, 'identity', 'p'), partition(2, 'identity', 'p')),
      'IllegalArgumentException',
      'Cannot use partition name more than once: "p"',
    ],
    [
      'with a partition that has no name',
      spec(partition(1, 'identity', '')),
      'IllegalArgumentException',
      'Cannot use empty partition name',
    ],
    [
      'with no buckets',
      spec(partition(1, 'bucket[0]', 'p')),
      'IllegalArgumentException',
      'Invalid number of buckets: 0 (must be > 0)',
    ],
    [
      'with ids of some partition fields',
      spec(partition(1, 'identity', 'x', 1000), partition(2, 'identity', 'y')),
      'IllegalArgumentException',
      'Cannot parse spec with missing field IDs: 1 missing of 2 fields.',
    ],
    [
      'partitioned by a list',
      { schema: struct(field(1, 'l', list)), ...spec(partition(1, 'identity', 'l')) },
      'ValidationException',
      'Cannot partition by non-primitive source field: list<long>',
    ],
    [
      'partitioned by elements of a list',
      { schema: struct(field(1, 'l', list)), ...spec(partition(2, 'identity', 'e')) },
      'ValidationException',
      'Invalid partition field parent: list<long>',
    ],
    [
      'sorted by no column',
      { sortOrder: { 'order-id': 1, fields: [sorted(9)] } },
      'ValidationException',
      'Cannot find source column for sort field: 9',
    ],
    [
      'sorted with the id of no order',
      { sortOrder: { 'order-id': 0, fields: [sorted(1)] } },
      'IllegalArgumentException',
      'Sort order ID 0 is reserved for unsorted order',
    ],
    [
      'unsorted with the id of an order',
      { sortOrder: { 'order-id': 1, fields: [] } },
      'IllegalArgumentException',
      'Unsorted order ID must be 0',
    ],
    [
      'sorted upwards and downwards',
      { sortOrder: { 'order-id': 1, fields: [sorted(1, 'up')] } },
      'IllegalArgumentException',
      'Invalid sort direction: "up"',
    ],
  ] as const)('%s', (_, more, type, message) => {
    refused(() => table(2, more), type, message)
  })
})
