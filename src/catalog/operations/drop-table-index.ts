import * as v from 'valibot'
import { branch, changeFields, requestFields, tableIdentifier, text } from '../../base/model/fields.ts'
import { applyToRows, changeTable } from '../rows/change.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** Drops an index, in a new version; older versions still have it. */
export const dropTableIndex = operation({
  name: 'dropTableIndex',
  summary: 'Drop an index of a table.',
  request: v.object({ ...requestFields, id: tableIdentifier, index_name: text, branch }),
  response: v.object(changeFields),
  errors: [
    'TableNotFound',
    'TableBranchNotFound',
    'TableIndexNotFound',
    'InvalidTableState',
    'ConcurrentModification',
  ],
  changes: true,
  route: post('/v1/table/{id}/index/{index_name}/drop', {
    body: 'none',
    query: { branch: 'text' },
    rows: true,
  }),
  command: {
    group: 'Rows',
    aliases: ['drop-index'],
    positional: ['index_name'],
    examples: ['./catalog prod.flights delay_idx'],
  },
  run: async (core, { id, index_name, branch }, options) => {
    const { transaction_id } = await changeTable(core, options, {
      operation: 'DropTableIndex',
      id,
      branch,
      check: ({ engine, base }) => base && engine.dropIndex(index_name).check(base),
      prepare: ({ engine }) => engine.dropIndex(index_name),
      apply: applyToRows,
      lances: () => ({ kind: 'drop index', name: index_name }),
    })
    return { transaction_id }
  },
})
