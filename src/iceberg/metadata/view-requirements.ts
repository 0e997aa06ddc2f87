import { badRequest, commitFailed, IcebergError, illegalArgument, validation } from '../errors.ts'
import { isObject, member, readArray, readString, show } from './read.ts'
import type { ViewMetadata } from './view-types.ts'

/** The requirements that tables have, by the names that Java's server gives them. */
const ofTables: ReadonlyMap<string, string> = new Map([
  ['assert-create', 'AssertTableDoesNotExist'],
  ['assert-table-uuid', 'AssertTableUUID'],
  ['assert-ref-snapshot-id', 'AssertRefSnapshotID'],
  ['assert-last-assigned-field-id', 'AssertLastAssignedFieldId'],
  ['assert-current-schema-id', 'AssertCurrentSchemaID'],
  ['assert-last-assigned-partition-id', 'AssertLastAssignedPartitionId'],
  ['assert-default-spec-id', 'AssertDefaultSpecID'],
  ['assert-default-sort-order-id', 'AssertDefaultSortOrderID'],
])

/**
 * Checks what a commit requires of a view. `base` is its metadata, and undefined where the view does not exist.
 *
 * Fails with `CommitFailedException` (409) for a view of another UUID, and `NoSuchViewException` (404) where there is
 * none. A requirement that is not understood, or that is for tables, is a 400.
 *
 * ```ts
 * checkViewRequirements([{ type: 'assert-view-uuid', uuid }], metadata)
 * ```
 */
export function checkViewRequirements(
  requirements: readonly unknown[],
  base: ViewMetadata | undefined,
): void {
  // All are read before the first is checked, so that a request that is not understood never seems to be a conflict.
  const uuids = Array.from(readArray(requirements, 'requirements'), (value, i) =>
    readUuid(value, `requirements[${i}]`),
  )
  for (const uuid of uuids) {
    if (base === undefined) throw new IcebergError('NoSuchViewException', 'View does not exist')
    const actual = base['view-uuid']
    if (actual.toLowerCase() !== uuid.toLowerCase())
      throw commitFailed(
        `Requirement failed: view UUID does not match: expected ${actual} != ${uuid.slice(0, 100)}`,
      )
  }
}

/** The UUID that a requirement asks for. */
function readUuid(value: unknown, where: string): string {
  if (!isObject(value))
    throw illegalArgument(`Cannot parse update requirement from non-object value: ${show(value)}: ${where}`)
  if (member(value, 'type') === undefined)
    throw illegalArgument(`Cannot parse update requirement. Missing field: type: ${where}`)
  const type = readString(value, 'type', where).toLowerCase()
  const ofTable = ofTables.get(type)
  if (ofTable !== undefined) throw validation(`Cannot validate ${ofTable} against a view`)
  if (type !== 'assert-view-uuid')
    throw badRequest(`Unrecognized update requirement: ${show(type)}: ${where}`)
  return readString(value, 'uuid', where)
}
