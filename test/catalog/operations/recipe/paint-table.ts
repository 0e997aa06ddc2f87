import * as v from 'valibot'
import {
  identifier,
  requestFields,
  responseFields,
  tableIdentifier,
  text,
} from '../../../../src/base/model/fields.ts'
import { findTable } from '../../../../src/catalog/lookup/names.ts'
import { operation } from '../../../../src/catalog/operations/framework/operation.ts'
import { post } from '../../../../src/catalog/operations/framework/route.ts'
import { subject } from '../../../../src/catalog/operations/framework/subjects.ts'

/** An operation that the record does not have: what its own file says, and nothing else says. */
export const paintTable = operation({
  name: 'paintTable',
  summary: 'Paint a table, like another one if wanted.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    color: text,
    gloss: v.nullish(text),
    like: v.nullish(identifier),
  }),
  response: v.object({ ...responseFields, coats: v.array(text) }),
  errors: ['TableNotFound'],
  changes: true,
  subjects: ({ like }) => subject('describeTable', like),
  route: post('/v1/table/{id}/paint', { query: { gloss: 'text' } }),
  command: {
    group: 'Tables',
    aliases: ['paint'],
    positional: ['color'],
    lists: { field: 'coats', item: 'coat' },
    options: { gloss: 'how much it shines' },
    examples: ['./catalog prod.flights red'],
  },
  run: (core, { id, color, gloss }) =>
    core.store.read((reader) => {
      findTable(reader, id)
      return { coats: gloss == null ? [color] : [color, gloss] }
    }),
})
