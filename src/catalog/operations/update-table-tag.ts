import * as v from 'valibot'
import { changeFields, requestFields, tableIdentifier, targetFields, text } from '../../base/model/fields.ts'
import { keys, recordFormat } from '../../base/store/records.ts'
import { findDataset } from '../lance/dataset.ts'
import { moveTag, settleVersion } from '../lance/tags.ts'
import { findTag, findWanted, requireWanted } from '../lookup/versions.ts'
import { commit, findTableToChange } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { listedStatuses, post } from './framework/route.ts'

/**
 * Moves an existing tag to another version, and to another branch when one is named.
 *
 * ```ts
 * await catalog.updateTableTag({ id: ['prod', 'flights'], tag: 'stable', version: 12 })
 * ```
 */
export const updateTableTag = operation({
  name: 'updateTableTag',
  summary: 'Move a tag to another version.',
  request: v.object({ ...requestFields, id: tableIdentifier, tag: text, ...targetFields }),
  response: v.object(changeFields),
  errors: [
    'TableNotFound',
    'TableTagNotFound',
    'TableVersionNotFound',
    'TableBranchNotFound',
    'InvalidTableState',
  ],
  changes: true,
  route: post('/v1/table/{id}/tags/update', { statuses: listedStatuses }),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['move-tag'],
    positional: ['tag', 'version'],
    examples: ['./catalog prod.flights stable 4'],
  },
  run: async (core, { id, tag, ...target }) => {
    requireWanted(
      'updateTableTag',
      target,
      'version, the number of one, or at, a time such as 2026-11-01T00:00:00Z',
    )
    const dataset = await findDataset(core, id)
    if (dataset) await moveTag(core, dataset, { id, tag, ...(await settleVersion(core, id, target)) })
    return commit(core, 'UpdateTableTag', id, (change) => {
      const { writer, now } = change
      const table = findTableToChange(change, id)
      if (dataset) return {}
      findTag(writer, id, table.id, tag)
      const { branch, version } = findWanted(writer, id, table, target, now)
      writer.put(keys.tag(table.id, tag), { v: recordFormat, branch, version })
      return {}
    })
  },
})
