import * as v from 'valibot'
import { changeFields, requestFields, tableIdentifier, text } from '../../base/model/fields.ts'
import { keys } from '../../base/store/records.ts'
import { findDataset } from '../lance/dataset.ts'
import { deleteTag } from '../lance/tags.ts'
import { findTag } from '../lookup/versions.ts'
import { commit, findTableToChange } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Deletes a tag; the version it named stays. */
export const deleteTableTag = operation({
  name: 'deleteTableTag',
  summary: 'Delete a tag.',
  request: v.object({ ...requestFields, id: tableIdentifier, tag: text }),
  response: v.object(changeFields),
  errors: ['TableNotFound', 'TableTagNotFound', 'InvalidTableState'],
  changes: true,
  route: post('/v1/table/{id}/tags/delete'),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['untag'],
    positional: ['tag'],
    examples: ['./catalog prod.flights stable'],
  },
  run: async (core, { id, tag }) => {
    const dataset = await findDataset(core, id)
    if (dataset) await deleteTag(core, dataset, id, tag)
    return commit(core, 'DeleteTableTag', id, (change) => {
      const { writer } = change
      const table = findTableToChange(change, id)
      if (dataset) return {}
      findTag(writer, id, table.id, tag)
      writer.remove(keys.tag(table.id, tag))
      return {}
    })
  },
})
