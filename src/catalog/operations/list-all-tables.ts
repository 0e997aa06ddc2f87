import * as v from 'valibot'
import { requestFields } from '../../base/model/fields.ts'
import { operation } from './framework/operation.ts'
import { get } from './framework/route.ts'
import { listTables, listTablesFields, listTablesQuery, listTablesResponse } from './list-tables.ts'

/** Lists all tables of the catalog: `listTables` on the root. */
export const listAllTables = operation({
  name: 'listAllTables',
  summary: 'List all tables of the catalog.',
  request: v.object({ ...requestFields, ...listTablesFields }),
  response: listTablesResponse,
  errors: [],
  changes: false,
  isFromStore: listTables.definition.isFromStore!,
  route: get('/v1/table', listTablesQuery),
  command: {
    group: 'Tables',
    aliases: ['list-all'],
    lists: { field: 'tables', item: 'table' },
    examples: ['./catalog'],
  },
  run: (core, request, options) => listTables.definition.run(core, { ...request, id: [] }, options),
})
