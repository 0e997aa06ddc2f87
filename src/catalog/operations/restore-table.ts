import * as v from 'valibot'
import { changeFields, requestFields, tableIdentifier, wantedFields } from '../../base/model/fields.ts'
import { findVersion, requireWanted } from '../lookup/versions.ts'
import { applyToRows, changeRows } from '../rows/change.ts'
import { openVersion, versionErrors } from '../rows/rows.ts'
import { TargetReplaced } from '../transactions/retry.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

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
    const old = await openVersion(core, id, wanted)
    const { branch, version } = old.found
    const { transaction_id } = await changeRows(core, options, {
      operation: 'RestoreTable',
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
  },
})
