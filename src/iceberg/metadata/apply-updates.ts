import type { Steps } from '../../base/scheduling/time-slice.ts'
import { badRequest, illegalArgument } from '../errors.ts'
import { Draft } from './draft.ts'
import { finish } from './finish.ts'
import { checkJson, isInt, isObject, member, readArray, readString, show } from './read.ts'
import type { JsonObject, Long, TableMetadata } from './types.ts'
import {
  addEncryptionKey,
  addSnapshot,
  removeEncryptionKey,
  removePartitionStatistics,
  removeSnapshotRef,
  removeSnapshots,
  removeStatistics,
  setPartitionStatistics,
  setSnapshotRef,
  setStatistics,
} from './update-snapshots.ts'
import {
  addSchema,
  addSortOrder,
  addSpec,
  removeSchemas,
  removeSpecs,
  setCurrentSchema,
  setDefaultSortOrder,
  setDefaultSpec,
} from './update-structure.ts'
import {
  assignUuid,
  enableRowLineage,
  removeProperties,
  setLocation,
  setProperties,
  upgradeFormatVersion,
} from './update-table.ts'

/** One that may take long works in steps. */
type Update = (draft: Draft, update: JsonObject, where: string) => void | Steps<void>

const notForTables: Update = (_, update) => {
  throw badRequest(`Cannot apply update ${show(update['action'])} to a table`)
}

const actions: ReadonlyMap<string, Update> = new Map<string, Update>([
  ['assign-uuid', assignUuid],
  ['upgrade-format-version', upgradeFormatVersion],
  ['enable-row-lineage', enableRowLineage],
  ['add-schema', addSchema],
  ['set-current-schema', setCurrentSchema],
  ['remove-schemas', removeSchemas],
  ['add-spec', addSpec],
  ['set-default-spec', setDefaultSpec],
  ['remove-partition-specs', removeSpecs],
  ['add-sort-order', addSortOrder],
  ['set-default-sort-order', setDefaultSortOrder],
  ['add-snapshot', addSnapshot],
  ['remove-snapshots', removeSnapshots],
  ['set-snapshot-ref', setSnapshotRef],
  ['remove-snapshot-ref', removeSnapshotRef],
  ['set-statistics', setStatistics],
  ['remove-statistics', removeStatistics],
  ['set-partition-statistics', setPartitionStatistics],
  ['remove-partition-statistics', removePartitionStatistics],
  ['add-encryption-key', addEncryptionKey],
  ['remove-encryption-key', removeEncryptionKey],
  ['set-location', setLocation],
  ['set-properties', setProperties],
  ['remove-properties', removeProperties],
  ['add-view-version', notForTables],
  ['set-current-view-version', notForTables],
])

/** What updates need besides the metadata, so that they read no clock and draw no ids themselves. */
export interface UpdateContext {
  /** The time of the commit, in milliseconds. */
  readonly now: Long
  /** Makes the id of a table that is created and is given none. */
  readonly newUuid: () => string
  /** The metadata file of `base`, for the log of metadata files. Undefined leaves the log as it is. */
  readonly previousLocation?: string | undefined
}

/**
 * Applies the updates of a commit in their order, and returns the metadata that they make, in steps: a commit may remove
 * thousands of snapshots. `base` is undefined where the
 * table is created. The base is never changed, and shares its unchanged parts with the result. Where no update changes
 * anything, the result is `base` itself: such a commit writes no new file.
 *
 * Fails with an `IcebergError`: 400 for an update that is not understood or does not fit the table, and
 * `CommitFailedException` (409) for a snapshot that was made on a state which others replaced.
 *
 * ```ts
 * const steps = updatedMetadata(base, [{ action: 'set-properties', updates: { owner: 'ops' } }], {
 *   now: Date.now(),
 *   newUuid: randomUUID,
 *   previousLocation: 's3://lake/t/metadata/00001-….metadata.json',
 * })
 * const next = await inSlices(steps, signal)
 * ```
 */
export function* updatedMetadata(
  base: TableMetadata | undefined,
  updates: readonly unknown[],
  { now, newUuid, previousLocation }: UpdateContext,
): Steps<TableMetadata> {
  // All are read before the first is applied: one that is not understood is found whatever comes before it.
  const read = readArray(updates, 'updates').map((value, i) => readUpdate(value, `updates[${i}]`))
  const draft = new Draft(base, {
    now,
    uuid: base === undefined ? newUuid() : undefined,
    formatVersion: base === undefined ? firstVersion(read) : undefined,
  })
  for (const { apply, update, where } of read) {
    const steps = apply(draft, update, where)
    if (steps) yield* steps
  }
  return yield* finish(draft, previousLocation)
}

function readUpdate(value: unknown, where: string) {
  if (!isObject(value))
    throw illegalArgument(`Cannot parse metadata update from non-object value: ${show(value)}: ${where}`)
  if (member(value, 'action') === undefined)
    throw illegalArgument(`Cannot parse metadata update. Missing field: action: ${where}`)
  const action = readString(value, 'action', where).toLowerCase()
  const apply = actions.get(action)
  if (apply === undefined) throw badRequest(`Unknown metadata update action: ${show(action)}: ${where}`)
  checkJson(value, where)
  return { action, apply, update: value, where }
}

/** A new table begins with the version that its first upgrade names, also with an earlier one than the default. */
function firstVersion(updates: readonly { readonly action: string; readonly update: JsonObject }[]) {
  const version = updates.find(({ action }) => action === 'upgrade-format-version')?.update['format-version']
  return isInt(version) ? version : undefined
}
