import * as v from 'valibot'
import { findTable } from '../lookup/names.ts'
import { findVersion, wantedVersion } from '../lookup/versions.ts'
import { requestFields, responseFields, tableIdentifier, text, version } from '../model/fields.ts'
import { always, operation } from './framework/operation.ts'
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
  isFromStore: always,
  route: post('/v1/table/{id}/exists'),
  command: { group: 'Tables', aliases: ['exists'], examples: ['./catalog prod.flights'] },
  run: (core, { id, version, tag }) =>
    core.store.read((reader) => {
      const table = findTable(reader, id)
      const wanted = wantedVersion(reader, id, table, { branch: '', version, tag })
      if (wanted.version !== undefined) findVersion(reader, id, table, wanted.branch, wanted.version)
      return {}
    }),
})
