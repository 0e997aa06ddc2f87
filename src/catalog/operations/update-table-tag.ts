import * as v from 'valibot'
import {
  branch,
  changeFields,
  requestFields,
  tableIdentifier,
  text,
  version,
} from '../../base/model/fields.ts'
import { keys, recordFormat } from '../../base/store/records.ts'
import { findDataset } from '../lance/dataset.ts'
import { moveTag } from '../lance/tags.ts'
import { findTag, findVersion } from '../lookup/versions.ts'
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
  run: async (core, { id, tag, version, branch }) => {
    const dataset = await findDataset(core, id)
    if (dataset) await moveTag(core, dataset, { id, tag, version, branch })
    return commit(core, 'UpdateTableTag', id, (change) => {
      const { writer } = change
      const table = findTableToChange(change, id)
      if (dataset) return {}
      findTag(writer, id, table.id, tag)
      findVersion(writer, id, table, branch, version)
      writer.put(keys.tag(table.id, tag), { v: recordFormat, branch, version })
      return {}
    })
  },
})
