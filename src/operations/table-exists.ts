import * as v from 'valibot'
import { findTable } from '../lookup/names.ts'
import { findVersion } from '../lookup/versions.ts'
import { requestFields, responseFields, tableIdentifier, version } from '../model/fields.ts'
import { always, operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Resolves when the table (and the version, if one is named) exists, and fails when it does not. */
export const tableExists = operation({
  name: 'tableExists',
  summary: 'Check that a table exists.',
  request: v.object({ ...requestFields, id: tableIdentifier, version: v.nullish(version) }),
  response: v.object(responseFields),
  errors: ['TableNotFound', 'TableVersionNotFound'],
  changes: false,
  isFromStore: always,
  route: post('/v1/table/{id}/exists'),
  command: { group: 'Tables', aliases: ['exists'], examples: ['./catalog prod.flights'] },
  run: (core, { id, version }) =>
    core.store.read((reader) => {
      const table = findTable(reader, id)
      if (version !== undefined && version !== null) findVersion(reader, id, table, '', version)
      return {}
    }),
})
