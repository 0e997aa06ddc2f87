import * as v from 'valibot'
import { requestFields } from '../model/fields.ts'
import { operation } from './framework/operation.ts'
import { listTables, listTablesFields, listTablesResponse } from './list-tables.ts'

/** Lists all tables of the catalog: `listTables` on the root. */
export const listAllTables = operation({
  name: 'listAllTables',
  summary: 'List all tables of the catalog.',
  request: v.object({ ...requestFields, ...listTablesFields }),
  response: listTablesResponse,
  errors: [],
  changes: false,
  isFromStore: listTables.definition.isFromStore!,
  run: (core, request, options) => listTables.definition.run(core, { ...request, id: [] }, options),
})
