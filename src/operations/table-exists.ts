import * as v from 'valibot'
import { settleWanted } from '../lance/tags.ts'
import { findTable } from '../lookup/names.ts'
import { findVersion, wantedVersion } from '../lookup/versions.ts'
import { requestFields, responseFields, tableIdentifier, text, version } from '../model/fields.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Resolves when the table (and the version, if `version` or `tag` names one) exists, and fails when it does not. */
export const tableExists = operation({
  name: 'tableExists',
  summary: 'Check that a table exists.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    version: v.nullish(version),
    tag: v.nullish(text),
  }),
  response: v.object(responseFields),
  errors: ['TableNotFound', 'TableVersionNotFound', 'TableTagNotFound'],
  changes: false,
  // Other programs may write versions where the table lies.
  isFromStore: ({ version, tag }) => version == null && tag == null,
  route: post('/v1/table/{id}/exists'),
  command: { group: 'Tables', aliases: ['exists'], examples: ['./catalog prod.flights'] },
  run: async (core, { id, version, tag }) => {
    const asked = { branch: '', version, tag }
    const settled = version == null && tag == null ? asked : await settleWanted(core, id, asked)
    return core.store.read((reader) => {
      const table = findTable(reader, id)
      const wanted = wantedVersion(reader, id, table, settled)
      if (wanted.version !== undefined) findVersion(reader, id, table, wanted.branch, wanted.version)
      return {}
    })
  },
})
