import * as v from 'valibot'
import { findTag } from '../lookup/versions.ts'
import { changeFields, requestFields, tableIdentifier, text } from '../model/fields.ts'
import { keys } from '../store/records.ts'
import { commit, findTableToChange } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Deletes a tag; the version it named stays. */
export const deleteTableTag = operation({
  name: 'deleteTableTag',
  summary: 'Delete a tag.',
  request: v.object({ ...requestFields, id: tableIdentifier, tag: text }),
  response: v.object(changeFields),
  errors: ['TableNotFound', 'TableTagNotFound'],
  changes: true,
  route: post('/v1/table/{id}/tags/delete'),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['untag'],
    positional: ['tag'],
    examples: ['./catalog prod.flights stable'],
  },
  run: (core, { id, tag }) =>
    commit(core, 'DeleteTableTag', id, (change) => {
      const { writer } = change
      const table = findTableToChange(change, id)
      findTag(writer, id, table.id, tag)
      writer.remove(keys.tag(table.id, tag))
      return {}
    }),
})
