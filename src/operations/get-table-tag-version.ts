import * as v from 'valibot'
import { findTable } from '../lookup/names.ts'
import { findTag } from '../lookup/versions.ts'
import { requestFields, responseFields, tableIdentifier, text, version } from '../model/fields.ts'
import { always, operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Answers with the version a tag points to, and its branch unless that is the main one. */
export const getTableTagVersion = operation({
  name: 'getTableTagVersion',
  summary: 'Get the version a tag points to.',
  request: v.object({ ...requestFields, id: tableIdentifier, tag: text }),
  response: v.object({ ...responseFields, version, branch: v.optional(text) }),
  errors: ['TableNotFound', 'TableTagNotFound'],
  changes: false,
  isFromStore: always,
  route: post('/v1/table/{id}/tags/version'),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['tag-version'],
    positional: ['tag'],
    examples: ['./catalog prod.flights stable'],
  },
  run: (core, { id, tag }) =>
    core.store.read((reader) => {
      const found = findTag(reader, id, findTable(reader, id).id, tag)
      return { version: found.version, ...(found.branch === '' ? {} : { branch: found.branch }) }
    }),
})
