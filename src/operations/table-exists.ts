import * as v from 'valibot'
import { settle } from '../lance/settle.ts'
import { findTable } from '../lookup/names.ts'
import { findVersion } from '../lookup/versions.ts'
import { requestFields, responseFields, tableIdentifier, version } from '../model/fields.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Resolves when the table (and the version, if one is named) exists, and fails when it does not. */
export const tableExists = operation({
  name: 'tableExists',
  summary: 'Check that a table exists.',
  request: v.object({ ...requestFields, id: tableIdentifier, version: v.nullish(version) }),
  response: v.object(responseFields),
  errors: ['TableNotFound', 'TableVersionNotFound'],
  changes: false,
  // Other programs may write versions where the table lies.
  isFromStore: ({ version }) => version == null,
  route: post('/v1/table/{id}/exists'),
  command: { group: 'Tables', aliases: ['exists'], examples: ['./catalog prod.flights'] },
  run: async (core, { id, version }) => {
    if (version != null) await settle(core, id, '')
    return core.store.read((reader) => {
      const table = findTable(reader, id)
      if (version != null) findVersion(reader, id, table, '', version)
      return {}
    })
  },
})
