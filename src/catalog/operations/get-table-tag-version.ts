import * as v from 'valibot'
import { requestFields, responseFields, tableIdentifier, text, version } from '../../base/model/fields.ts'
import { findDataset } from '../lance/dataset.ts'
import { requireTag } from '../lance/tags.ts'
import { findTable } from '../lookup/names.ts'
import { findTag } from '../lookup/versions.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Answers with the version a tag points to, and its branch unless that is the main one. */
export const getTableTagVersion = operation({
  name: 'getTableTagVersion',
  summary: 'Get the version a tag points to.',
  request: v.object({ ...requestFields, id: tableIdentifier, tag: text }),
  response: v.object({ ...responseFields, version, branch: v.optional(text) }),
  errors: ['TableNotFound', 'TableTagNotFound', 'InvalidTableState'],
  changes: false,
  route: post('/v1/table/{id}/tags/version'),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['tag-version'],
    positional: ['tag'],
    examples: ['./catalog prod.flights stable'],
  },
  run: async (core, { id, tag }) => {
    const dataset = await findDataset(core, id)
    const { version, branch } = dataset
      ? await requireTag(dataset, id, tag)
      : await core.store.read((reader) => findTag(reader, id, findTable(reader, id).id, tag))
    return branch ? { version, branch } : { version }
  },
})
