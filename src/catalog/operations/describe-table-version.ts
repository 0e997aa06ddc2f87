import * as v from 'valibot'
import {
  requestFields,
  responseFields,
  tableIdentifier,
  tableVersion,
  wantedFields,
} from '../../base/model/fields.ts'
import { toVersionFor } from '../lance/dataset.ts'
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
    const settled = await reconcileWanted(core, id, asked)
    return core.store.read((reader) => {
      const table = findTable(reader, id)
      const found = findWanted(reader, id, table, settled, core.now())
      return { version: toVersionFor(core, found.version, found.record) }
    })
  },
})
