import { badRequest, commitFailed, IcebergError, illegalArgument, validation } from '../errors.ts'
import { isObject, member, readArray, readInt, readOptionalLong, readString, show } from './read.ts'
import type { JsonObject, SnapshotRef, TableMetadata } from './types.ts'

type Check = (requirement: JsonObject, base: TableMetadata | undefined, where: string) => void

/** Each type of requirement. A requirement that does not hold is a `CommitFailedException`. */
const checks: ReadonlyMap<string, Check> = new Map<string, Check>([
  [
    'assert-create',
    (_, base) => {
      if (base !== undefined) fail('table already exists')
    },
  ],
  [
    'assert-table-uuid',
    (requirement, base, where) => {
      const uuid = readString(requirement, 'uuid', where)
      const actual = existing(base)['table-uuid']
      if (actual?.toLowerCase() !== uuid.toLowerCase())
        fail(`UUID does not match: expected ${actual ?? null} != ${shortened(uuid)}`)
    },
  ],
  ['assert-ref-snapshot-id', checkRef],
  // These two hold for a table that is created, too: it has assigned nothing yet.
  [
    'assert-last-assigned-field-id',
    checkNumber('last assigned field id', 'last-assigned-field-id', 'last-column-id', true),
  ],
  [
    'assert-last-assigned-partition-id',
    checkNumber('last assigned partition id', 'last-assigned-partition-id', 'last-partition-id', true),
  ],
  ['assert-current-schema-id', checkNumber('current schema', 'current-schema-id', 'current-schema-id')],
  ['assert-default-spec-id', checkNumber('default partition spec', 'default-spec-id', 'default-spec-id')],
  [
    'assert-default-sort-order-id',
    checkNumber('default sort order', 'default-sort-order-id', 'default-sort-order-id'),
  ],
  [
    'assert-view-uuid',
    () => {
      throw validation('Cannot validate AssertViewUUID against a table')
    },
  ],
])

/**
 * Checks what a commit requires of a table. `base` is its metadata, and undefined where the table does not exist.
 *
 * Fails with `CommitFailedException` (409) for a requirement that does not hold, naming it: "Requirement failed: branch
 * main has changed: expected id 1 != 2". A requirement that is not understood is a 400, and one that needs a table where
 * there is none a `NoSuchTableException` (404).
 *
 * ```ts
 * checkRequirements([{ type: 'assert-table-uuid', uuid }], metadata)
 * ```
 */
export function checkRequirements(requirements: readonly unknown[], base: TableMetadata | undefined): void {
  // All are read before the first is checked, so that a request that is not understood never seems to be a conflict.
  const read = readArray(requirements, 'requirements').map((value, i) =>
    readRequirement(value, `requirements[${i}]`),
  )
  for (const { check, requirement, where } of read) check(requirement, base, where)
}

/** Whether a commit creates the table: one of its requirements is that there is none. */
export function isCreate(requirements: readonly unknown[]): boolean {
  return requirements.some(
    (value) => isObject(value) && String(member(value, 'type')).toLowerCase() === 'assert-create',
  )
}

function readRequirement(value: unknown, where: string) {
  if (!isObject(value))
    throw illegalArgument(`Cannot parse update requirement from non-object value: ${show(value)}: ${where}`)
  const type = typeOf(value)
  if (type === undefined)
    throw illegalArgument(`Cannot parse update requirement. Missing field: type: ${where}`)
  const check = checks.get(type)
  if (check === undefined) throw badRequest(`Unrecognized update requirement: ${show(type)}: ${where}`)
  return { check, requirement: value, where }
}

function typeOf(value: JsonObject): string | undefined {
  return member(value, 'type') === undefined
    ? undefined
    : readString(value, 'type', 'requirement').toLowerCase()
}

function fail(fact: string): never {
  throw commitFailed(`Requirement failed: ${fact}`)
}

function existing(base: TableMetadata | undefined): TableMetadata {
  if (base === undefined) throw new IcebergError('NoSuchTableException', 'Table does not exist')
  return base
}

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 97)}…` : text
}

function checkRef(requirement: JsonObject, base: TableMetadata | undefined, where: string): void {
  const name = readString(requirement, 'ref', where)
  const id = readOptionalLong(requirement, 'snapshot-id', where)
  const ref = base === undefined ? undefined : (member(base.refs, name) as SnapshotRef | undefined)
  if (ref === undefined) {
    if (id !== undefined) fail(`branch or tag ${shortened(name)} is missing, expected ${id}`)
    return
  }
  if (id === undefined) fail(`${ref.type} ${shortened(name)} was created concurrently`)
  if (id !== ref['snapshot-id'])
    fail(`${ref.type} ${shortened(name)} has changed: expected id ${id} != ${ref['snapshot-id']}`)
}

function checkNumber(what: string, name: string, of: keyof TableMetadata & string, alsoNone = false): Check {
  return (requirement, base, where) => {
    const expected = readInt(requirement, name, where)
    if (base === undefined && alsoNone) return
    const actual = existing(base)[of]
    if (expected !== actual) fail(`${what} changed: expected id ${expected} != ${String(actual)}`)
  }
}
