import * as v from 'valibot'
import { settle } from '../lance/settle.ts'
import { findTable } from '../lookup/names.ts'
import { findVersion, toTableVersion } from '../lookup/versions.ts'
import {
  branch,
  requestFields,
  responseFields,
  tableIdentifier,
  tableVersion,
  version,
} from '../model/fields.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Answers with the record of one version of a table. */
export const describeTableVersion = operation({
  name: 'describeTableVersion',
  summary: 'Describe a version of a table.',
  request: v.object({ ...requestFields, id: tableIdentifier, version, branch }),
  response: v.object({ ...responseFields, version: tableVersion }),
  errors: ['TableNotFound', 'TableBranchNotFound', 'TableVersionNotFound'],
  changes: false,
  route: post('/v1/table/{id}/version/describe'),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['describe-version'],
    positional: ['version'],
    examples: ['./catalog prod.flights 3'],
  },
  run: async (core, { id, version, branch }) => {
    await settle(core, id, branch)
    return core.store.read((reader) => {
      const found = findVersion(reader, id, findTable(reader, id), branch, version)
      return { version: toTableVersion(found.version, found.record) }
    })
  },
})
