import * as v from 'valibot'
import { changeFields } from '../../base/model/fields.ts'
import { scalarIndexTypes } from '../../base/model/index-types.ts'
import { createIndex, indexErrors, indexRequest, textIndexIgnores } from '../rows/indices.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Creates an index of single values or of lists of them, as `createTableIndex` does. */
export const createTableScalarIndex = operation({
  name: 'createTableScalarIndex',
  summary: 'Create an index of scalar values on a column.',
  request: indexRequest,
  response: v.object(changeFields),
  ignores: textIndexIgnores,
  errors: indexErrors,
  changes: true,
  route: post('/v1/table/{id}/create_scalar_index', { rows: true }),
  command: {
    group: 'Rows',
    positional: ['column', 'index_type'],
    examples: ['./catalog prod.flights delay BTREE'],
  },
  run: (core, request, options) =>
    createIndex(core, 'CreateTableScalarIndex', request, scalarIndexTypes, options),
})
