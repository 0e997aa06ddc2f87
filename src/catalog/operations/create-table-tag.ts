import * as v from 'valibot'
import {
  branch,
  changeFields,
  newTag,
  requestFields,
  tableIdentifier,
  version,
} from '../../base/model/fields.ts'
import { keys, recordFormat, type TagRecord } from '../../base/store/records.ts'
import { findDataset } from '../lance/dataset.ts'
import { createTag } from '../lance/tags.ts'
import { findVersion, tagExists } from '../lookup/versions.ts'
import { commit, findTableToChange } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/**
 * Creates a tag: a name for one version of a table, which then cannot be deleted. Of a table of Lance, the tag is Lance's
 * own, and Lance's cleanup keeps the version.
 */
export const createTableTag = operation({
  name: 'createTableTag',
  summary: 'Create a tag on a version of a table.',
  request: v.object({ ...requestFields, id: tableIdentifier, tag: newTag, version, branch }),
  response: v.object(changeFields),
  errors: [
    'TableNotFound',
    'TableTagAlreadyExists',
    'TableVersionNotFound',
    'TableBranchNotFound',
    'InvalidTableState',
  ],
  changes: true,
  route: post('/v1/table/{id}/tags/create'),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['tag'],
    positional: ['tag', 'version'],
    examples: ['./catalog prod.flights stable 3'],
  },
  run: async (core, { id, tag, version, branch }) => {
    const dataset = await findDataset(core, id)
    if (dataset) await createTag(core, dataset, { id, tag, version, branch })
    return commit(core, 'CreateTableTag', id, (change) => {
      const { writer } = change
      const table = findTableToChange(change, id)
      if (dataset) return {}
      const existing = writer.get<TagRecord>(keys.tag(table.id, tag))
      if (existing) {
        throw tagExists(id, tag, existing.version)
      }
      findVersion(writer, id, table, branch, version)
      writer.put(keys.tag(table.id, tag), { v: recordFormat, branch, version })
      return {}
    })
  },
})
