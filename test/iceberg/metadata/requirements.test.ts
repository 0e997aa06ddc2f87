import { describe, expect, it } from 'vitest'
import { checkRequirements, isCreate, type TableMetadata } from '../../../src/iceberg/metadata/index.ts'
import { history, otherUuid, refused, table, uuid } from './tables.ts'

const base = history()
const check = (requirement: unknown, metadata: TableMetadata | undefined = base) =>
  checkRequirements([requirement], metadata)
const ref = (name: string, id: number | bigint | null) => ({
  type: 'assert-ref-snapshot-id',
  ref: name,
  'snapshot-id': id,
})

describe('requirements', () => {
  it.each([
    { type: 'assert-table-uuid', uuid },
    { type: 'assert-table-uuid', uuid: uuid.toUpperCase() },
    ref('main', 2),
    ref('main', 2n),
    ref('first', 1),
    ref('none', null),
    ref('__proto__', null),
    ref('constructor', null),
    { type: 'assert-ref-snapshot-id', ref: 'none' },
    { type: 'assert-last-assigned-field-id', 'last-assigned-field-id': 3 },
    { type: 'assert-current-schema-id', 'current-schema-id': 0 },
    { type: 'assert-last-assigned-partition-id', 'last-assigned-partition-id': 999 },
    { type: 'assert-default-spec-id', 'default-spec-id': 0 },
    { type: 'ASSERT-default-sort-order-id', 'default-sort-order-id': 0 },
  ])('hold: $type $ref', (requirement) => {
    expect(() => check(requirement)).not.toThrow()
  })

  it.each([
    [{ type: 'assert-create' }, 'table already exists'],
    [{ type: 'assert-table-uuid', uuid: otherUuid }, `UUID does not match: expected ${uuid} != ${otherUuid}`],
    [ref('main', 1), 'branch main has changed: expected id 1 != 2'],
    [ref('first', 2n ** 60n), `tag first has changed: expected id ${2n ** 60n} != 1`],
    [ref('main', null), 'branch main was created concurrently'],
    [ref('first', null), 'tag first was created concurrently'],
    [ref('none', 5), 'branch or tag none is missing, expected 5'],
    [
      { type: 'assert-last-assigned-field-id', 'last-assigned-field-id': 4 },
      'last assigned field id changed: expected id 4 != 3',
    ],
    [
      { type: 'assert-current-schema-id', 'current-schema-id': 4 },
      'current schema changed: expected id 4 != 0',
    ],
    [
      { type: 'assert-last-assigned-partition-id', 'last-assigned-partition-id': 1000 },
      'last assigned partition id changed: expected id 1000 != 999',
    ],
    [
      { type: 'assert-default-spec-id', 'default-spec-id': 1 },
      'default partition spec changed: expected id 1 != 0',
    ],
    [
      { type: 'assert-default-sort-order-id', 'default-sort-order-id': 1 },
      'default sort order changed: expected id 1 != 0',
    ],
  ])('fail where they do not hold (%#)', (requirement, fact) => {
    refused(() => check(requirement), 'CommitFailedException', new RegExp(`^Requirement failed: ${fact}$`))
  })

  it.each([
    [
      { type: 'assert-magic' },
      'BadRequestException',
      'Unrecognized update requirement: "assert-magic": requirements[1]',
    ],
    [{ type: 'toString' }, 'BadRequestException', 'Unrecognized update requirement'],
    [{}, 'IllegalArgumentException', 'Cannot parse update requirement. Missing field: type'],
    [{ type: null }, 'IllegalArgumentException', 'Cannot parse update requirement. Missing field: type'],
    [{ type: 1 }, 'IllegalArgumentException', 'Cannot parse to a string value'],
    [7, 'IllegalArgumentException', 'Cannot parse update requirement from non-object value: 7'],
    [null, 'IllegalArgumentException', 'Cannot parse update requirement from non-object value: null'],
    [
      { type: 'assert-view-uuid', uuid },
      'ValidationException',
      'Cannot validate AssertViewUUID against a table',
    ],
    [
      { type: 'assert-table-uuid' },
      'IllegalArgumentException',
      'Cannot parse missing string: requirements[1].uuid',
    ],
    [
      ref('main', 1.5),
      'IllegalArgumentException',
      'Cannot parse to a long value: requirements[1].snapshot-id: 1.5',
    ],
    [
      { type: 'assert-default-spec-id', 'default-spec-id': 2 ** 31 },
      'IllegalArgumentException',
      'Cannot parse to an integer value',
    ],
  ] as const)('are refused where they are not understood: %j', (requirement, type, message) => {
    refused(
      () =>
        checkRequirements([{ type: 'assert-current-schema-id', 'current-schema-id': 0 }, requirement], base),
      type,
      message,
    )
  })

  it('are read before any of them is checked', () => {
    refused(
      () => checkRequirements([ref('main', 1), { type: 'assert-magic' }], base),
      'BadRequestException',
      'assert-magic',
    )
    refused(() => checkRequirements({} as never, base), 'IllegalArgumentException', 'requirements')
  })

  it('of a table that does not exist', () => {
    expect(() => checkRequirements([{ type: 'assert-create' }, ref('main', null)], undefined)).not.toThrow()
    const assigned = { type: 'assert-last-assigned-field-id', 'last-assigned-field-id': 9 }
    expect(() => checkRequirements([assigned], undefined)).not.toThrow()
    refused(
      () => checkRequirements([ref('main', 1)], undefined),
      'CommitFailedException',
      'branch or tag main is missing',
    )
    refused(
      () => checkRequirements([{ type: 'assert-table-uuid', uuid }], undefined),
      'NoSuchTableException',
      'Table does not exist',
    )
  })

  it('of a table without an id', () => {
    const { 'table-uuid': _, ...without } = table(1)
    refused(
      () => check({ type: 'assert-table-uuid', uuid }, without),
      'CommitFailedException',
      `expected null != ${uuid}`,
    )
  })

  it('say whether a commit creates the table', () => {
    expect(isCreate([ref('main', null), { type: 'assert-create' }])).toBe(true)
    expect(isCreate([ref('main', null), 3, null, { type: 4 }])).toBe(false)
  })
})
