import * as v from 'valibot'
import {
  requestFields,
  responseFields,
  tableIdentifier,
  tableVersion,
  wantedFields,
} from '../../base/model/fields.ts'
import { mayBeTold, toVersionFor } from '../lance/dataset.ts'
import { reconcileWanted } from '../lance/tags.ts'
import { findTable } from '../lookup/names.ts'
import { findWanted, requireWanted } from '../lookup/versions.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Answers with the record of one version of a table, which `version`, `tag` or `at` names. */
export const describeTableVersion = operation({
  name: 'describeTableVersion',
  summary: 'Describe a version of a table.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    ...wantedFields,
  }),
  response: v.object({ ...responseFields, version: tableVersion }),
  errors: ['TableNotFound', 'TableBranchNotFound', 'TableVersionNotFound', 'TableTagNotFound'],
  changes: false,
  route: post('/v1/table/{id}/version/describe'),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['describe-version'],
    positional: ['version'],
    examples: ['./catalog prod.flights 3'],
  },
  run: async (core, { id, ...asked }) => {
    requireWanted('describeTableVersion', asked)
    for (let attempt = 1; ; attempt++) {
      const { resolved, newest } = await reconcileWanted(core, id, asked)
      const { version, record } = await core.store.read((reader) =>
        findWanted(reader, id, findTable(reader, id), resolved, core.now()),
      )
      // What was recorded meanwhile is published, or gone, by the next look. A transaction may see what is gone outside.
      if (mayBeTold(core, version, record, newest) || attempt === 3)
        return { version: toVersionFor(core, version, record) }
    }
  },
})
