import { describe, expect, it } from 'vitest'
import {
  apply,
  field,
  location,
  now,
  otherUuid,
  partition,
  refused,
  sorted,
  struct,
  table,
  xyz,
} from './tables.ts'

const addSchema = (schema: unknown) => ({ action: 'add-schema', schema })
const setSchema = (id: number) => ({ action: 'set-current-schema', 'schema-id': id })
const addSpec = (...fields: unknown[]) => ({ action: 'add-spec', spec: { 'spec-id': 0, fields } })
const setSpec = (id: number) => ({ action: 'set-default-spec', 'spec-id': id })
const addOrder = (...fields: unknown[]) => ({
  action: 'add-sort-order',
  'sort-order': { 'order-id': fields.length === 0 ? 0 : 1, fields },
})
const setOrder = (id: number) => ({ action: 'set-default-sort-order', 'sort-order-id': id })
const xyzw = struct(...xyz.fields, field(4, 'w', 'string', { required: false }))
const ids = (items: readonly { readonly [member: string]: unknown }[], name: string) =>
  items.map((item) => item[name])

describe('updates of schemas', () => {
  it('add a schema with the next id, and make it the current one', () => {
    const base = table()
    const next = apply(base, [addSchema(xyzw), setSchema(-1)])
    expect(next).toMatchObject({ 'current-schema-id': 1, 'last-column-id': 4 })
    expect(next.schemas).toEqual([xyz, { ...xyzw, 'schema-id': 1 }])
    expect(next.schemas[0]).toBe(base.schemas[0])
    expect(next['last-updated-ms']).toBe(now + 1_000)
    expect(base).toEqual(table())
  })

  it('find the schema that is the same, whatever its id', () => {
    const base = apply(table(), [addSchema(xyzw), setSchema(-1)])
    expect(apply(base, [addSchema({ ...xyzw, 'schema-id': 9 }), setSchema(1)])).toBe(base)
    const back = apply(base, [addSchema(xyz), setSchema(-1)])
    expect(back['current-schema-id']).toBe(0)
    expect(back.schemas).toBe(base.schemas)
    // The highest id ever is kept: that of a dropped column is not given again.
    expect(back['last-column-id']).toBe(4)
  })

  it.each([
    ['a doc', struct(...xyz.fields.slice(0, 2), field(3, 'z', 'long', { doc: 'd' }))],
    ['a type', struct(...xyz.fields.slice(0, 2), field(3, 'z', 'double'))],
    [
      'whether values may be missing',
      struct(...xyz.fields.slice(0, 2), field(3, 'z', 'long', { required: false })),
    ],
    ['a write default', struct(...xyz.fields.slice(0, 2), field(3, 'z', 'long', { 'write-default': 1 }))],
    ['identifier fields', { ...xyz, 'identifier-field-ids': [1] }],
    ['the order of columns', struct(...[...xyz.fields].reverse())],
  ])('tell schemas apart by %s', (_, schema) => {
    expect(apply(table(), [addSchema(schema)]).schemas).toHaveLength(2)
  })

  it('raise the last id of columns where another writer left it too low', () => {
    const low = { ...table(), 'last-column-id': 2 }
    expect(apply(low, [addSchema(xyz)])['last-column-id']).toBe(3)
  })

  it('find types that are spelt differently', () => {
    const base = table(3, { schema: struct(field(1, 'd', 'decimal(9,2)'), field(2, 'g', 'geometry')) })
    const same = struct(field(1, 'd', 'decimal(9, 2)'), field(2, 'g', 'geometry(ogc:crs84)'))
    expect(apply(base, [addSchema(same)])).toBe(base)
  })

  it('remove schemas, but not the current one', () => {
    const base = apply(table(), [addSchema(xyzw), setSchema(-1)])
    const remove = (...schemaIds: number[]) => ({ action: 'remove-schemas', 'schema-ids': schemaIds })
    expect(ids(apply(base, [remove(0)]).schemas, 'schema-id')).toEqual([1])
    expect(apply(base, [remove()])).toBe(base)
    expect(apply(base, [remove(7)])).toBe(base)
    refused(() => apply(base, [remove(0, 1)]), 'IllegalArgumentException', 'Cannot remove the current schema')
  })

  it('are refused where they do not fit', () => {
    refused(
      () => apply(table(), [setSchema(-1)]),
      'ValidationException',
      'Cannot set last added schema: no schema has been added',
    )
    refused(
      () => apply(table(), [setSchema(5)]),
      'IllegalArgumentException',
      'Cannot set current schema to unknown schema: 5',
    )
    refused(
      () => apply(table(), [addSchema(struct(field(1, 'v', 'variant', { required: false })))]),
      'ValidationException',
      'Invalid schema for v2',
    )
    refused(
      () => apply(table(), [addSchema(struct(field(2_147_483_600, 'a')))]),
      'IllegalArgumentException',
      'reserved',
    )
    const partitioned = table(2, { partitionSpec: { fields: [partition(1, 'bucket[4]', 'w')] } })
    refused(
      () => apply(partitioned, [addSchema(xyzw), setSchema(-1)]),
      'IllegalArgumentException',
      'Cannot create identity partition sourced from different field in schema: "w"',
    )
  })

  it('are refused where the default spec or order needs a column that is gone', () => {
    const without = [addSchema(struct(field(2, 'y'))), setSchema(-1)]
    const partitioned = table(2, { partitionSpec: { fields: [partition(1, 'identity', 'x')] } })
    refused(
      () => apply(partitioned, without),
      'ValidationException',
      'Cannot find source column for partition field: 1000: x: identity(1)',
    )
    const ordered = table(2, { sortOrder: { 'order-id': 1, fields: [sorted(1)] } })
    refused(
      () => apply(ordered, without),
      'ValidationException',
      'Cannot find source column for sort field: identity(1) ASC NULLS FIRST',
    )
    const voided = table(1, { partitionSpec: { fields: [partition(1, 'void', 'x')] } })
    expect(apply(voided, without)['current-schema-id']).toBe(1)
  })
})

describe('updates of partition specs', () => {
  it('add a spec with the next id, and make it the default', () => {
    const next = apply(table(), [addSpec(partition(1, 'bucket[4]', 'b', 1000)), setSpec(-1)])
    expect(next).toMatchObject({ 'default-spec-id': 1, 'last-partition-id': 1000 })
    expect(next['partition-specs']).toEqual([
      { 'spec-id': 0, fields: [] },
      { 'spec-id': 1, fields: [partition(1, 'bucket[4]', 'b', 1000)] },
    ])
  })

  it('find the spec that partitions alike, whatever the ids of its fields', () => {
    const base = apply(table(), [addSpec(partition(1, 'bucket[4]', 'b', 1000)), setSpec(-1)])
    expect(apply(base, [addSpec(partition(1, 'BUCKET[4]', 'b', 1007)), setSpec(-1)])).toBe(base)
    expect(apply(base, [addSpec(), setSpec(-1)])['default-spec-id']).toBe(0)
    expect(apply(base, [addSpec(partition(1, 'bucket[4]', 'c', 1000))])['partition-specs']).toHaveLength(3)
  })

  it('give ids to fields that come without: those of the same fields before, and new ones', () => {
    const base = apply(table(), [addSpec(partition(1, 'bucket[4]', 'b')), setSpec(-1)])
    const next = apply(base, [addSpec(partition(2, 'identity', 'y'), partition(1, 'bucket[4]', 'renamed'))])
    expect(next['partition-specs'][2]!.fields.map((each) => each['field-id'])).toEqual([1001, 1000])
    expect(next['last-partition-id']).toBe(1001)
    const twice = apply(base, [addSpec(partition(1, 'bucket[4]', 'p'), partition(1, 'bucket[4]', 'q'))])
    expect(twice['partition-specs'][2]!.fields.map((each) => each['field-id'])).toEqual([1000, 1001])
  })

  it('need ids in their order in version 1', () => {
    const add = (id: number) => apply(table(1), [addSpec(partition(1, 'bucket[4]', 'b', id)), setSpec(-1)])
    refused(
      () => add(1005),
      'ValidationException',
      'Spec does not use sequential IDs that are required in v1',
    )
    expect(add(1000)['partition-spec']).toEqual([partition(1, 'bucket[4]', 'b', 1000)])
    expect(apply(table(2), [addSpec(partition(1, 'bucket[4]', 'b', 1005))])['last-partition-id']).toBe(1005)
  })

  it('know transforms in any case', () => {
    const next = apply(table(), [addSpec(partition(1, 'IDENTITY', 'x'))])
    expect(next['partition-specs'][1]!.fields[0]!.transform).toBe('identity')
  })

  it('never lower the last id of partition fields', () => {
    const base = apply(table(), [addSpec(partition(1, 'bucket[4]', 'b', 1005))])
    const next = apply(base, [addSpec(partition(2, 'bucket[4]', 'c', 1001))])
    expect(next['last-partition-id']).toBe(1005)
  })

  it('keep transforms that are unknown', () => {
    const next = apply(table(), [addSpec(partition(1, 'zOrder[3]', 'z_order'))])
    expect(next['partition-specs'][1]!.fields[0]!.transform).toBe('zOrder[3]')
  })

  it('remove specs, but not the default', () => {
    const base = apply(table(), [addSpec(partition(1, 'bucket[4]', 'b')), setSpec(-1)])
    const remove = (...specIds: number[]) => ({ action: 'remove-partition-specs', 'spec-ids': specIds })
    expect(ids(apply(base, [remove(0, 5)])['partition-specs'], 'spec-id')).toEqual([1])
    expect(apply(base, [remove(5)])).toBe(base)
    refused(
      () => apply(base, [remove(1)]),
      'IllegalArgumentException',
      'Cannot remove the default partition spec',
    )
    // A removed spec is added anew.
    const again = apply(base, [remove(0), addSpec(), setSpec(-1)])
    expect(again).toMatchObject({ 'default-spec-id': 2 })
  })

  it('are refused where they do not fit', () => {
    refused(
      () => apply(table(), [setSpec(-1)]),
      'ValidationException',
      'Cannot set last added spec: no spec has been added',
    )
    refused(
      () => apply(table(), [setSpec(3)]),
      'IllegalArgumentException',
      'Cannot set default spec to unknown spec: 3',
    )
    refused(
      () =>
        apply(table(), [addSpec(partition(1, 'identity', 'x', 1000), partition(2, 'identity', 'y', 1000))]),
      'ValidationException',
      'Cannot use partition field ID more than once',
    )
  })
})

describe('updates of sort orders', () => {
  it('add an order with the next id, and make it the default', () => {
    const base = table(2, { sortOrder: { 'order-id': 5, fields: [sorted(1)] } })
    expect(apply(base, [addOrder(sorted(1)), setOrder(-1)])).toBe(base)
    const unsorted = apply(base, [addOrder(), setOrder(-1)])
    expect(unsorted).toMatchObject({ 'default-sort-order-id': 0 })
    expect(ids(unsorted['sort-orders'], 'order-id')).toEqual([1, 0])
    const down = apply(unsorted, [addOrder(sorted(1, 'desc')), setOrder(-1)])
    expect(down).toMatchObject({ 'default-sort-order-id': 2 })
    expect(down['sort-orders'][2]).toEqual({ 'order-id': 2, fields: [sorted(1, 'desc')] })
    expect(apply(down, [addOrder(), setOrder(-1)])['default-sort-order-id']).toBe(0)
  })

  it('are refused where they do not fit', () => {
    refused(
      () => apply(table(), [setOrder(-1)]),
      'ValidationException',
      'Cannot set last added sort order: no sort order has been added',
    )
    refused(
      () => apply(table(), [setOrder(3)]),
      'IllegalArgumentException',
      'Cannot set default sort order to unknown sort order: 3',
    )
    refused(
      () => apply(table(), [addOrder(sorted(9))]),
      'ValidationException',
      'Cannot find source column for sort field',
    )
    refused(
      () => apply(table(), [addOrder(sorted(1, 'asc', 'hour'))]),
      'ValidationException',
      'Invalid source type long for transform: hour',
    )
  })
})

describe('updates that create a table', () => {
  const structure = [addSchema(xyz), setSchema(-1), addSpec(), setSpec(-1), addOrder(), setOrder(-1)]
  const place = { action: 'set-location', location: `${location}/` }

  it('make the metadata of a new one', () => {
    const made = apply(undefined, [...structure, place, { action: 'set-properties', updates: { a: 'b' } }])
    expect(made).toEqual({
      ...table(),
      'table-uuid': otherUuid,
      'last-updated-ms': now + 1_000,
      properties: { a: 'b' },
    })
  })

  it('say its id and its version, also one before the default', () => {
    const id = '00000000-0000-4000-8000-000000000000'
    const first = { action: 'upgrade-format-version', 'format-version': 1 }
    const made = apply(undefined, [{ action: 'assign-uuid', uuid: id }, first, ...structure, place])
    expect(made).toMatchObject({ 'format-version': 1, 'table-uuid': id, schema: xyz, 'partition-spec': [] })
    expect(made).not.toHaveProperty('last-sequence-number')
  })

  it('must say all that a table needs', () => {
    refused(() => apply(undefined, []), 'IllegalArgumentException', 'Partition specs cannot be null or empty')
    refused(
      () => apply(undefined, [addSpec()]),
      'ValidationException',
      'Cannot find schema with current-schema-id=0',
    )
    refused(
      () => apply(undefined, [addSchema(xyz), addSpec()]),
      'IllegalArgumentException',
      'Sort orders cannot be null or empty',
    )
    refused(
      () => apply(undefined, structure),
      'IllegalArgumentException',
      'Table location is required in format v2',
    )
    const upgrade = { action: 'upgrade-format-version', 'format-version': 0 }
    refused(
      () => apply(undefined, [upgrade, ...structure, place]),
      'IllegalArgumentException',
      'Unsupported format version: v0',
    )
  })
})
