import * as v from 'valibot'
import {
  branch,
  changeFields,
  requestFields,
  tableIdentifier,
  text,
  version,
} from '../../base/model/fields.ts'
import { applyToRows, changeTable } from '../rows/change.ts'
import { operation } from './framework/operation.ts'
import { listedStatuses, post } from './framework/route.ts'

/**
 * Deletes the rows that a predicate holds for. Answers with their number and with the version that no longer has
 * them, which is a new one even when nothing matched. Rows that others insert meanwhile are deleted too, where the
 * predicate holds for them.
 *
 * ```ts
 * const { version } = await catalog.deleteFromTable({ id: ['prod', 'flights'], predicate: "delay > 60 AND origin = 'SFO'" })
 * ```
 */
export const deleteFromTable = operation({
  name: 'deleteFromTable',
  summary: 'Delete rows of a table by a predicate.',
  request: v.object({ ...requestFields, id: tableIdentifier, predicate: text, branch }),
  // The protocol has no such number, so other servers leave it out.
  response: v.object({ ...changeFields, version, num_deleted_rows: v.optional(version) }),
  errors: [
    'TableNotFound',
    'TableBranchNotFound',
    'InvalidTableState',
    'ConcurrentModification',
    'Unsupported',
  ],
  changes: true,
  route: post('/v1/table/{id}/delete', { rows: true, statuses: listedStatuses }),
  command: {
    group: 'Rows',
    aliases: ['delete'],
    examples: [`./catalog prod.flights --where 'delay > 60'`],
  },
  run: async (core, { id, predicate, branch }, options) => {
    const { affected, version, transaction_id } = await changeTable(core, options, {
      operation: 'DeleteFromTable',
      id,
      branch,
      prepare: ({ engine }) => engine.deleteRows(predicate),
      apply: applyToRows,
      lances: () => ({ kind: 'delete', predicate }),
    })
    return { version, num_deleted_rows: affected, transaction_id }
  },
})
