import * as v from 'valibot'
import { changeFields, requestFields, tableIdentifier, wantedFields } from '../../base/model/fields.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { findVersion, requireWanted, type WantedVersion } from '../lookup/versions.ts'
import { applyToRows, changeRows } from '../rows/change.ts'
import { findOfLance } from '../rows/read.ts'
import { byItsEngine, openVersion, versionErrors } from '../rows/rows.ts'
import { TargetReplaced } from '../transactions/retry.ts'
import { type OperationContext, type OperationOptions, operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

const operationName = 'RestoreTable'

/**
 * Makes a table what it was at an earlier version, as a new version; all versions between stay. `tag` may name the
 * version, whose branch is then that of the tag, or `at` a time. The latest version may be damaged.
 */
export const restoreTable = operation({
  name: 'restoreTable',
  summary: 'Restore a table to an earlier version.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    ...wantedFields,
  }),
  response: v.object(changeFields),
  errors: [...versionErrors, 'ConcurrentModification'],
  changes: true,
  route: post('/v1/table/{id}/restore', { rows: true }),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['revert'],
    positional: ['version'],
    examples: ['./catalog prod.flights 3'],
  },
  run: async (core, { id, ...wanted }, options) => {
    requireWanted('restoreTable', wanted)
    const byOurs = () => restoreOurs(core, id, wanted, options)
    const byLance = () => restoreLances(core, id, wanted, options)
    // The tags of a table of Lance are files of its dataset, and not records.
    if (wanted.tag != null) return (await byLance()) ?? byOurs()
    return byItsEngine(byOurs, byLance)
  },
})

async function restoreOurs(
  core: OperationContext,
  id: Identifier,
  wanted: WantedVersion,
  options: OperationOptions,
) {
  const old = await openVersion(core, id, wanted)
  const { branch, version } = old.found
  const { transaction_id } = await changeRows(core, options, {
    operation: operationName,
    id,
    branch,
    require: (reader, table) => findVersion(reader, id, table, branch, version),
    check: ({ table }) => {
      if (table.id !== old.table.id) throw new TargetReplaced(id)
    },
    ifUnreadable: old.engine.unreadableAfter(old.snapshot),
    prepare: ({ engine }) => engine.restoreTo(old.snapshot),
    apply: applyToRows,
  })
  return { transaction_id }
}

/** Restores a version of Lance. Undefined where none of Lance is. */
async function restoreLances(
  core: OperationContext,
  id: Identifier,
  wanted: WantedVersion,
  options: OperationOptions,
) {
  const old = await findOfLance(core, id, wanted)
  if (old === undefined) return undefined
  const { branch, version } = old.found
  const { changeLance } = await import('../rows/lance-change.ts')
  const made = await changeLance(core, options, {
    operation: operationName,
    id,
    branch,
    require: (reader, table) => {
      if (table.id !== old.table.id) throw new TargetReplaced(id)
      findVersion(reader, id, table, branch, version)
    },
    lances: () => ({ kind: 'restore', version }),
  })
  return made && { transaction_id: made.transaction_id }
}
