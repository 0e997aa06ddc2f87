import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import type { TableMetadata } from '../../../src/iceberg/metadata/index.ts'
import { indexOf } from '../../../src/iceberg/metadata/schema-index.ts'
import { limitEach } from '../../support/time-limit.ts'
import { applyUpdates, checkTableMetadata } from './at-once.ts'
import { throughText, update } from './random-updates.ts'
import { history, now, otherUuid, table } from './tables.ts'

limitEach(120)

const bases = fc.constantFrom(table(1), table(2), table(3), history(1), history(2), history(3))
const context = { now: now + 5_000, newUuid: () => otherUuid, previousLocation: 's3://b/0.metadata.json' }

/** The result, or undefined where the updates do not fit. */
function applied(base: TableMetadata, updates: readonly unknown[]): TableMetadata | undefined {
  try {
    return applyUpdates(base, updates, context)
  } catch (error) {
    expect(error).toBeInstanceOf(IcebergError)
    expect([400, 409]).toContain((error as IcebergError).status)
    return undefined
  }
}

/** Applies each update that fits. */
function grow(base: TableMetadata, updates: readonly unknown[]): TableMetadata {
  return updates.reduce<TableMetadata>((metadata, each) => applied(metadata, [each]) ?? metadata, base)
}

function checkInvariants(metadata: TableMetadata): void {
  const { schemas, refs, snapshots } = metadata
  const ids = {
    schemas: schemas.map((each) => each['schema-id']),
    specs: metadata['partition-specs'].map((each) => each['spec-id']),
    orders: metadata['sort-orders'].map((each) => each['order-id']),
    snapshots: snapshots.map((each) => each['snapshot-id']),
  }
  for (const list of Object.values(ids)) expect(new Set(list).size).toBe(list.length)
  expect(ids.schemas).toContain(metadata['current-schema-id'])
  expect(ids.specs).toContain(metadata['default-spec-id'])
  expect(ids.orders).toContain(metadata['default-sort-order-id'])
  for (const schema of schemas)
    expect(indexOf(schema).highestId).toBeLessThanOrEqual(metadata['last-column-id'])
  for (const spec of metadata['partition-specs'])
    for (const each of spec.fields)
      expect(each['field-id']).toBeLessThanOrEqual(metadata['last-partition-id'])
  for (const ref of Object.values(refs)) expect(ids.snapshots).toContain(ref['snapshot-id'])
  const current = metadata['current-snapshot-id']
  const main = Object.hasOwn(refs, 'main') ? refs.main!['snapshot-id'] : undefined
  expect(main).toBe(current === -1 || current === null ? undefined : current)
  if (main !== undefined) expect(metadata['snapshot-log'].at(-1)?.['snapshot-id']).toBe(main)
  const last = metadata['last-sequence-number'] ?? 0
  for (const each of snapshots) expect((each['sequence-number'] ?? 0) <= last).toBe(true)
  expect(metadata['metadata-log'].length).toBeLessThanOrEqual(100)
}

describe('random updates', () => {
  it('fit a table often enough to say something', () => {
    const tried = new Map<unknown, { fit: number; not: number }>()
    fc.assert(
      fc.property(bases, fc.array(update, { minLength: 40, maxLength: 40 }), (base, updates) => {
        updates.reduce<TableMetadata>((metadata, each) => {
          const made = applied(metadata, [each])
          const counts = tried.get(each.action) ?? { fit: 0, not: 0 }
          tried.set(each.action, counts)
          if (made === undefined || made === metadata) counts.not++
          else counts.fit++
          return made ?? metadata
        }, base)
      }),
      { numRuns: 200 },
    )
    expect(tried.size).toBe(22)
    for (const [action, { fit }] of tried) expect([action, fit > 5]).toEqual([action, true])
  })

  it('give rows of version 3 ids that no other rows have', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(table(3), history(3)),
        fc.array(update, { maxLength: 40, size: 'max' }),
        (base, updates) => {
          const { snapshots, 'next-row-id': next } = grow(base, updates)
          const ranges = snapshots
            .map((each) => [BigInt(each['first-row-id']!), BigInt(each['added-rows']!)] as const)
            .sort(([left], [right]) => Number(left - right))
          let end = 0n
          for (const [first, added] of ranges) {
            expect(first >= end).toBe(true)
            end = first + added
          }
          expect(BigInt(next!) >= end).toBe(true)
        },
      ),
      { numRuns: 300 },
    )
  })

  it('leave a table as the specification wants it, which a file keeps', () => {
    fc.assert(
      fc.property(bases, fc.array(update, { maxLength: 40, size: 'max' }), (base, updates) => {
        const made = grow(base, updates)
        checkInvariants(made)
        expect(checkTableMetadata(made)).toBe(made)
        expect(throughText(checkTableMetadata(throughText(made)))).toEqual(throughText(made))
      }),
      { numRuns: 300 },
    )
  })

  it('never change the base, nor the updates', () => {
    fc.assert(
      fc.property(bases, fc.array(update, { maxLength: 15, size: 'max' }), (base, updates) => {
        const before = structuredClone(base)
        const given = structuredClone(updates)
        const made = applied(deepFreeze(grow(base, updates)), deepFreeze(updates))
        expect(base).toEqual(before)
        expect(updates).toEqual(given)
        if (made !== undefined) checkInvariants(made)
      }),
      { numRuns: 150 },
    )
  })

  it('make the same in one commit as in one for each, but for the logs', () => {
    let compared = 0
    fc.assert(
      fc.property(bases, fc.array(update, { maxLength: 12, size: 'max' }), (base, updates) => {
        const fitting = fittingOf(base, updates)
        const one = applied(base, fitting)
        fc.pre(one !== undefined)
        compared++
        const each = fitting.reduce<TableMetadata>(
          (metadata, next) => applyUpdates(metadata, [next], context),
          base,
        )
        expect(withoutLogs(one!)).toEqual(withoutLogs(each))
      }),
      { numRuns: 200 },
    )
    expect(compared).toBeGreaterThan(150)
  })

  it('that change nothing give the base itself', () => {
    fc.assert(
      fc.property(bases, fc.array(update, { maxLength: 20, size: 'max' }), (start, updates) => {
        const base = grow(start, updates)
        const again = Object.entries(base.refs).map(([name, ref]) => ({
          action: 'set-snapshot-ref',
          'ref-name': name,
          ...ref,
        }))
        const schemas = base.schemas.map((schema) => ({ action: 'add-schema', schema }))
        // Other orders may need columns that are gone.
        const orders = base['sort-orders']
          .filter((order) => order['order-id'] === base['default-sort-order-id'])
          .map((order) => ({ action: 'add-sort-order', 'sort-order': order }))
        expect(applyUpdates(base, [...again, ...schemas, ...orders], context)).toBe(base)
      }),
      { numRuns: 200 },
    )
  })
})

/** Updates that fit one after the other. Those that name what was added last depend on the commit, and are left out. */
function fittingOf(
  base: TableMetadata,
  updates: readonly Record<string, unknown>[],
): Record<string, unknown>[] {
  const fitting: Record<string, unknown>[] = []
  let metadata = base
  for (const next of updates) {
    const made = Object.values(next).includes(-1) ? undefined : applied(metadata, [next])
    if (made === undefined) continue
    fitting.push(next)
    metadata = made
  }
  return fitting
}

function withoutLogs(metadata: TableMetadata) {
  const { 'snapshot-log': _, 'metadata-log': __, refs, properties, ...rest } = metadata
  return {
    ...rest,
    refs: Object.entries(refs).sort(byName),
    properties: Object.entries(properties).sort(byName),
  }
}

function byName([left]: [string, unknown], [right]: [string, unknown]): number {
  return left < right ? -1 : 1
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const each of Object.values(value)) deepFreeze(each)
  }
  return value
}
