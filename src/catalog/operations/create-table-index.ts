import * as v from 'valibot'
import { changeFields } from '../../base/model/fields.ts'
import { indexTypes } from '../../base/model/index-types.ts'
import { createIndex, indexErrors, indexRequest, textIndexIgnores } from '../rows/indices.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/**
 * Creates an index on a column, in a new version. Queries and searches answer the same with it and without it. `BTREE` and
 * `BITMAP` find rows by equal values; an index of another type is a record only. It is named after its column unless `name` says otherwise, and
 * replaces one of the same name on that column unless `replace` is false.
 *
 * ```ts
 * await catalog.createTableIndex({ id: ['docs'], column: 'embedding', index_type: 'IVF_PQ', distance_type: 'cosine' })
 * ```
 */
export const createTableIndex = operation({
  name: 'createTableIndex',
  summary: 'Create an index on a column.',
  request: indexRequest,
  response: v.object(changeFields),
  ignores: textIndexIgnores,
  errors: indexErrors,
  changes: true,
  route: post('/v1/table/{id}/create_index', { rows: true }),
  command: {
    group: 'Rows',
    aliases: ['create-index'],
    positional: ['column', 'index_type'],
    examples: ['./catalog prod.flights delay BTREE'],
  },
  run: (core, request, options) => createIndex(core, 'CreateTableIndex', request, indexTypes, options),
})
