import * as v from 'valibot'
import {
  changeFields,
  newTag,
  requestFields,
  tableIdentifier,
  targetFields,
} from '../../base/model/fields.ts'
import { keys, recordFormat, type TagRecord } from '../../base/store/records.ts'
import { findDataset } from '../lance/dataset.ts'
import { createTag, settleVersion } from '../lance/tags.ts'
import { findWanted, requireWanted, tagExists } from '../lookup/versions.ts'
import { commit, findTableToChange } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/**
 * Creates a tag: a name for one version of a table, which then cannot be deleted. `version` or `at`, a time, says which. Of a table of Lance, the tag is Lance's
 * own, and Lance's cleanup keeps the version.
 */
export const createTableTag = operation({
  name: 'createTableTag',
  summary: 'Create a tag on a version of a table.',
  request: v.object({ ...requestFields, id: tableIdentifier, tag: newTag, ...targetFields }),
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
  run: async (core, { id, tag, ...target }) => {
    requireWanted(
      'createTableTag',
      target,
      'version, the number of one, or at, a time such as 2026-11-01T00:00:00Z',
    )
    const dataset = await findDataset(core, id)
    if (dataset) await createTag(core, dataset, { id, tag, ...(await settleVersion(core, id, target)) })
    return commit(core, 'CreateTableTag', id, (change) => {
      const { writer, now } = change
      const table = findTableToChange(change, id)
      if (dataset) return {}
      const existing = writer.get<TagRecord>(keys.tag(table.id, tag))
      if (existing) {
        throw tagExists(id, tag, existing.version)
      }
      const { branch, version } = findWanted(writer, id, table, target, now)
      writer.put(keys.tag(table.id, tag), { v: recordFormat, branch, version })
      return {}
    })
  },
})
