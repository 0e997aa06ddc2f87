import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CatalogError } from '../../../src/base/errors.ts'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import { checkRequirements, newTableMetadata } from '../../../src/iceberg/metadata/index.ts'
import { limitEach } from '../../support/time-limit.ts'
import { applyUpdates, checkTableMetadata } from './at-once.ts'
import { update } from './random-updates.ts'
import { history, location, now, otherUuid, table, uuid, xyz } from './tables.ts'

limitEach(120)

const context = { now, newUuid: () => otherUuid }

/** Names and values that mean something here, and some that mean something to JavaScript. */
const names = fc.oneof(
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toString',
    'length',
    'type',
    'action',
    'fields',
    'id',
    'snapshot-id',
  ),
  fc.string({ maxLength: 6 }),
)
const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(null, true, false, -1, 0, 1, 2, 2 ** 31, 2 ** 53, 1e300, -0, 0.5, 2n ** 62n, 2n ** 64n),
    fc.constantFrom('', 'struct', 'long', 'list', 'map', 'branch', 'main', 'identity', 'bucket[4]', '\ud800'),
    fc.string({ maxLength: 5 }),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(fc.tuple(names, tie('value')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  ),
})).value

type Path = readonly (string | number)[]

/** The paths of all that a value holds. */
function pathsOf(value: unknown, at: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [at]
  return [at, ...Object.entries(value).flatMap(([name, inner]) => pathsOf(inner, [...at, name]))]
}

/** A copy with another value at a path, or without it. */
function replaced(value: unknown, [first, ...rest]: Path, by: unknown): unknown {
  if (first === undefined) return by
  const entries = Object.entries(value as object).flatMap(([name, inner]) => {
    if (name !== first) return [[name, inner]]
    if (rest.length === 0 && by === undefined) return []
    return [[name, replaced(inner, rest, by)]]
  })
  return Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries)
}

/** A value with some part of it replaced, so that most of it still means something. */
const damaged = (value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  value.chain((whole) =>
    fc
      .tuple(fc.constantFrom(...pathsOf(whole)), fc.option(json, { nil: undefined, freq: 6 }))
      .map(([path, by]) => replaced(whole, path, by)),
  )

/** Expects that a call returns, or refuses with an error of the caller's fault. */
function orRefused(run: () => unknown): void {
  try {
    run()
  } catch (error) {
    const isRefusal = error instanceof IcebergError ? error.status < 500 : error instanceof CatalogError
    if (!isRefusal) throw error
  }
  expect(Object.keys(Object.prototype)).toEqual([])
}

const requirement = fc.record({
  type: fc.constantFrom(
    'assert-create',
    'assert-table-uuid',
    'assert-ref-snapshot-id',
    'assert-last-assigned-field-id',
    'assert-current-schema-id',
    'assert-last-assigned-partition-id',
    'assert-default-spec-id',
    'assert-default-sort-order-id',
  ),
  uuid: json,
  ref: json,
  'snapshot-id': json,
  'last-assigned-field-id': json,
  'current-schema-id': json,
  'default-spec-id': json,
})

const bases = fc.constantFrom(undefined, table(1), table(2), history(2), history(3))

describe('hostile values are refused, and break nothing', () => {
  it('as updates', () => {
    const updates = fc.oneof(json, fc.array(json), fc.array(damaged(update), { maxLength: 4 }))
    fc.assert(
      fc.property(bases, updates, (base, given) =>
        orRefused(() => {
          const made = applyUpdates(base, given as never, context)
          expect(checkTableMetadata(made)).toEqual(made)
        }),
      ),
      { numRuns: 750 },
    )
  })

  it('as requirements', () => {
    fc.assert(
      fc.property(bases, fc.oneof(json, fc.array(fc.oneof(json, requirement))), (base, given) =>
        orRefused(() => checkRequirements(given as never, base)),
      ),
      { numRuns: 500 },
    )
  })

  it('as metadata', () => {
    const files = damaged(damaged(fc.constantFrom<unknown>(table(1), history(1), history(2), history(3))))
    fc.assert(
      fc.property(fc.oneof({ weight: 1, arbitrary: json }, { weight: 5, arbitrary: files }), (given) =>
        orRefused(() => {
          const made = checkTableMetadata(given)
          expect(checkTableMetadata(made)).toBe(made)
          applyUpdates(made, [{ action: 'set-properties', updates: { a: 'b' } }], {
            ...context,
            now: 2n ** 62n,
          })
        }),
      ),
      { numRuns: 750 },
    )
  })

  it('as a table to create', () => {
    const request = {
      schema: { ...xyz, 'identifier-field-ids': [1] },
      partitionSpec: { fields: [{ 'source-id': 1, name: 'p', transform: 'bucket[2]' }] },
      sortOrder: {
        'order-id': 1,
        fields: [{ 'source-id': 1, transform: 'identity', direction: 'asc', 'null-order': 'nulls-last' }],
      },
      properties: { 'format-version': '3', 'commit.retry.num-retries': '3' },
    }
    fc.assert(
      fc.property(damaged(damaged(fc.constant(request))), (given) =>
        orRefused(() => {
          const made = newTableMetadata({ schema: undefined, ...(given as object), location, uuid, now })
          expect(checkTableMetadata(made)).toEqual(made)
        }),
      ),
      { numRuns: 500 },
    )
  })
})
