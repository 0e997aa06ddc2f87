import * as v from 'valibot'
import {
  moment,
  requestFields,
  responseFields,
  tableIdentifier,
  text,
  version,
} from '../../base/model/fields.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { reconcileWanted } from '../lance/tags.ts'
import { findTable } from '../lookup/names.ts'
import { findVersion, namesVersion, type WantedVersion, wantedVersion } from '../lookup/versions.ts'
import type { CommitContext } from '../transactions/context.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Resolves when the table (and the version, if `version`, `tag` or `at` names one) exists, and fails when it does not. */
export const tableExists = operation({
  name: 'tableExists',
  summary: 'Check that a table exists.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    version: v.nullish(version),
    tag: v.nullish(text),
    at: v.nullish(moment),
  }),
  response: v.object(responseFields),
  errors: ['TableNotFound', 'TableVersionNotFound', 'TableTagNotFound'],
  changes: false,
  // Other programs may write versions at the location of the table.
  isFromStore: (asked) => !namesVersion(asked),
  route: post('/v1/table/{id}/exists'),
  command: { group: 'Tables', aliases: ['exists'], examples: ['./catalog prod.flights'] },
  run: (core, { id, version, tag, at }) => {
    const asked = { branch: '', version, tag, at }
    return namesVersion(asked)
      ? reconcileWanted(core, id, asked).then(({ resolved }) => find(core, id, resolved))
      : find(core, id, asked)
  },
})

function find({ store, now }: CommitContext, id: Identifier, asked: WantedVersion): Promise<object> {
  return store.read((reader) => {
    const table = findTable(reader, id)
    const { branch, version } = wantedVersion(reader, id, table, asked, now())
    if (version !== undefined) findVersion(reader, id, table, branch, version)
    return {}
  })
}
