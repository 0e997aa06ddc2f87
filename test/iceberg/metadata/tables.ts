import { expect } from 'vitest'
import { IcebergError, type IcebergErrorType } from '../../../src/iceberg/errors.ts'
import { newTableMetadata, type TableMetadata } from '../../../src/iceberg/metadata/index.ts'
import { applyUpdates } from './at-once.ts'

export const uuid = '9c12d441-03fe-4693-9a96-a0705ddf69c1'
export const otherUuid = 'd20125c8-7284-442c-9aea-15fee620737c'
export const now = 1_700_000_000_000
export const location = 's3://bucket/test/location'

type Members = Record<string, unknown>

export const field = (id: number, name: string, type: unknown = 'long', more: Members = {}) => ({
  id,
  name,
  required: true,
  type,
  ...more,
})

export const struct = (...fields: unknown[]) => ({ type: 'struct' as const, 'schema-id': 0, fields })

export const xyz = struct(field(1, 'x'), field(2, 'y', 'long', { doc: 'comment' }), field(3, 'z'))

export const partition = (sourceId: number, transform: string, name: string, id?: number) => ({
  'source-id': sourceId,
  ...(id === undefined ? {} : { 'field-id': id }),
  name,
  transform,
})

export const sorted = (sourceId: number, direction = 'asc', transform = 'identity') => ({
  transform,
  'source-id': sourceId,
  direction,
  'null-order': direction === 'asc' ? 'nulls-first' : 'nulls-last',
})

export const snapshot = (id: number | bigint, more: Members = {}) => ({
  'snapshot-id': id,
  'timestamp-ms': now,
  'sequence-number': 1,
  summary: { operation: 'append' },
  'manifest-list': `s3://bucket/snap-${id}.avro`,
  'schema-id': 0,
  ...more,
})

export function table(version = 2, more: Members = {}): TableMetadata {
  const { properties, ...rest } = more
  return newTableMetadata({
    schema: xyz,
    location,
    uuid,
    now,
    ...rest,
    properties: { 'format-version': String(version), ...(properties as Members) },
  })
}

export const apply = (base: TableMetadata | undefined, updates: unknown[], more: Members = {}) =>
  applyUpdates(base, updates, { now: now + 1_000, newUuid: () => otherUuid, ...more })

export const addSnapshot = (id: number | bigint, more: Members = {}) => ({
  action: 'add-snapshot',
  snapshot: snapshot(id, more),
})

export const setRef = (name: string, id: number | bigint, more: Members = {}) => ({
  action: 'set-snapshot-ref',
  'ref-name': name,
  type: 'branch',
  'snapshot-id': id,
  ...more,
})

/** A table with two snapshots that were current one after the other, and a tag of the first. */
export function history(version = 2): TableMetadata {
  const rows = version >= 3
  const one = apply(table(version), [
    addSnapshot(1, {
      'sequence-number': version > 1 ? 1 : 0,
      ...(rows ? { 'first-row-id': 0, 'added-rows': 10 } : {}),
    }),
    setRef('main', 1),
    setRef('first', 1, { type: 'tag' }),
  ])
  return apply(one, [
    addSnapshot(2, {
      'sequence-number': version > 1 ? 2 : 0,
      'parent-snapshot-id': 1,
      'timestamp-ms': now + 10,
      ...(rows ? { 'first-row-id': 10, 'added-rows': 5 } : {}),
    }),
    setRef('main', 2),
  ])
}

/** Expects an `IcebergError` of a type whose message has a part. */
export function refused(run: () => unknown, type: IcebergErrorType, part: string | RegExp): void {
  let thrown: unknown
  try {
    run()
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(IcebergError)
  const error = thrown as IcebergError
  if (typeof part === 'string') expect(error.message).toContain(part)
  else expect(error.message).toMatch(part)
  expect(error.type).toBe(type)
}
