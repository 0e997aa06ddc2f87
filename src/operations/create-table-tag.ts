import * as v from 'valibot'
import { CatalogError } from '../errors.ts'
import { findVersion } from '../lookup/versions.ts'
import { branch, changeFields, newTag, requestFields, tableIdentifier, version } from '../model/fields.ts'
import { formatIdentifier, quote } from '../model/identifier.ts'
import { keys, recordFormat, type TagRecord } from '../store/records.ts'
import { commit, findTableToChange } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Creates a tag: a name for one version of a table, which then cannot be deleted. */
export const createTableTag = operation({
  name: 'createTableTag',
  summary: 'Create a tag on a version of a table.',
  request: v.object({ ...requestFields, id: tableIdentifier, tag: newTag, version, branch }),
  response: v.object(changeFields),
  errors: ['TableNotFound', 'TableTagAlreadyExists', 'TableVersionNotFound', 'TableBranchNotFound'],
  changes: true,
  route: post('/v1/table/{id}/tags/create'),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['tag'],
    positional: ['tag', 'version'],
    examples: ['./catalog prod.flights stable 3'],
  },
  run: (core, { id, tag, version, branch }) =>
    commit(core, 'CreateTableTag', id, (change) => {
      const { writer } = change
      const table = findTableToChange(change, id)
      const existing = writer.get<TagRecord>(keys.tag(table.id, tag))
      if (existing) {
        throw new CatalogError(
          'TableTagAlreadyExists',
          `The table ${formatIdentifier(id)} already has the tag ${quote(tag)}, on version ${existing.version}. Update the tag to move it.`,
        )
      }
      findVersion(writer, id, table, branch, version)
      writer.put(keys.tag(table.id, tag), { v: recordFormat, branch, version })
      return {}
    }),
})
