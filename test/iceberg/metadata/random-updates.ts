import fc from 'fast-check'
import { field, now, partition, snapshot, sorted, struct, xyz } from './tables.ts'

/*
 * Random updates that often fit a table: they name few ids, so that they meet. Whether they do is for the table to say.
 */

const someId = fc.oneof(fc.integer({ min: 0, max: 2 }), fc.constant(-1))
const someIds = fc.oneof(
  fc.array(someId, { maxLength: 2 }),
  someId.map((id) => [id]),
)
const snapshotId = fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constant(2n ** 62n))
const refName = fc.constantFrom('main', 'main', 'main', 'audit', 'old', '__proto__')
const action = <T extends object>(name: string, members: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record({ action: fc.constant(name), ...members })

const columns = [
  ...xyz.fields,
  field(4, 'w', 'string', { required: false }),
  field(5, 'day', 'date', { required: false }),
  field(6, 'p', { type: 'struct', fields: [field(7, 'a'), field(8, 'b', 'timestamp')] }),
]
const schema = fc.subarray(columns, { minLength: 2 }).chain((fields) =>
  fc.constantFrom(struct(...fields), {
    ...struct(...fields),
    'identifier-field-ids': [(fields[0] as { id: number }).id],
  }),
)
const specFields = fc.uniqueArray(
  fc.constantFrom(
    partition(1, 'identity', 'x'),
    partition(1, 'bucket[2]', 'x_bucket'),
    partition(1, 'truncate[9]', 'x_part'),
    partition(2, 'bucket[4]', 'y_bucket'),
    partition(5, 'month', 'day_month'),
    partition(8, 'hour', 'b_hour'),
    partition(4, 'truncate[3]', 'w_part'),
  ),
  { selector: (each) => each.name, maxLength: 3 },
)
const orderFields = fc.uniqueArray(
  fc.constantFrom(sorted(1), sorted(2, 'desc'), sorted(8), sorted(1, 'desc')),
  {
    maxLength: 2,
  },
)
const addSortOrder = action('add-sort-order', {
  'sort-order': orderFields.map((fields) => ({ 'order-id': fields.length === 0 ? 0 : 1, fields })),
})
const statistics = snapshotId.map((id) => ({
  'snapshot-id': id,
  'statistics-path': `s3://b/${id}`,
  'file-size-in-bytes': 1,
  'file-footer-size-in-bytes': 1,
  'blob-metadata': [],
}))
const newSnapshot = fc
  .tuple(
    snapshotId,
    fc.integer({ min: 0, max: 60 }),
    fc.integer({ min: 0, max: 100 }),
    fc.boolean(),
    fc.nat(200),
  )
  .map(([id, number, time, isRoot, first]) =>
    snapshot(id, {
      'sequence-number': number,
      'timestamp-ms': now + time,
      ...(isRoot ? {} : { 'parent-snapshot-id': 1 }),
      'first-row-id': first,
      'added-rows': 3,
    }),
  )
const ref = fc.record({
  action: fc.constant('set-snapshot-ref'),
  'ref-name': refName,
  type: fc.constantFrom('branch', 'branch', 'branch', 'tag'),
  'snapshot-id': snapshotId,
})

/** One update. */
export const update: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  action('upgrade-format-version', { 'format-version': fc.integer({ min: 1, max: 3 }) }),
  { weight: 2, arbitrary: action('add-schema', { schema }) },
  action('set-current-schema', { 'schema-id': someId }),
  { weight: 2, arbitrary: action('remove-schemas', { 'schema-ids': someIds }) },
  {
    weight: 3,
    arbitrary: action('add-spec', { spec: specFields.map((fields) => ({ 'spec-id': 0, fields })) }),
  },
  { weight: 3, arbitrary: action('set-default-spec', { 'spec-id': someId }) },
  { weight: 3, arbitrary: action('remove-partition-specs', { 'spec-ids': someIds }) },
  { weight: 2, arbitrary: addSortOrder },
  { weight: 2, arbitrary: action('set-default-sort-order', { 'sort-order-id': someId }) },
  { weight: 4, arbitrary: action('add-snapshot', { snapshot: newSnapshot }) },
  { weight: 4, arbitrary: ref },
  action('remove-snapshots', { 'snapshot-ids': fc.array(snapshotId, { maxLength: 2 }) }),
  action('remove-snapshot-ref', { 'ref-name': refName }),
  action('set-statistics', { statistics }),
  action('remove-statistics', { 'snapshot-id': snapshotId }),
  action('set-partition-statistics', { 'partition-statistics': statistics }),
  action('remove-partition-statistics', { 'snapshot-id': snapshotId }),
  action('add-encryption-key', {
    'encryption-key': fc
      .constantFrom('a', 'b')
      .map((id) => ({ 'key-id': id, 'encrypted-key-metadata': 'aGk=' })),
  }),
  action('remove-encryption-key', { 'key-id': fc.constantFrom('a', 'b') }),
  action('set-location', { location: fc.constantFrom('s3://b/t', 's3://b/u/') }),
  action('set-properties', {
    updates: fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'toString'), fc.string({ maxLength: 3 })),
  }),
  action('remove-properties', { removals: fc.array(fc.constantFrom('a', 'b', '__proto__', 'c')) }),
)

/** The text of JSON that has integers of 64 bits, and back. Integers beyond 53 bits become bigint. */
export function throughText(value: unknown): unknown {
  const text = JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? { $long: String(each) } : each))
  return JSON.parse(text, (_, each) => (each?.$long === undefined ? each : BigInt(each.$long)))
}
