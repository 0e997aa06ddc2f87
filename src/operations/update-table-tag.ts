import * as v from 'valibot'
import { findTag, findVersion } from '../lookup/versions.ts'
import { branch, changeFields, requestFields, tableIdentifier, text, version } from '../model/fields.ts'
import { keys, recordFormat } from '../store/records.ts'
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
  request: v.object({ ...requestFields, id: tableIdentifier, tag: text, version, branch }),
  response: v.object(changeFields),
  errors: ['TableNotFound', 'TableTagNotFound', 'TableVersionNotFound', 'TableBranchNotFound'],
  changes: true,
  route: post('/v1/table/{id}/tags/update', { statuses: listedStatuses }),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['move-tag'],
    positional: ['tag', 'version'],
    examples: ['./catalog prod.flights stable 4'],
  },
  run: (core, { id, tag, version, branch }) =>
    commit(core, 'UpdateTableTag', id, (change) => {
      const { writer } = change
      const table = findTableToChange(change, id)
      findTag(writer, id, table.id, tag)
      findVersion(writer, id, table, branch, version)
      writer.put(keys.tag(table.id, tag), { v: recordFormat, branch, version })
      return {}
    }),
})
