import * as v from 'valibot'
import {
  branch,
  changeFields,
  requestFields,
  tableIdentifier,
  text,
  version,
} from '../../base/model/fields.ts'
import type { UpdateOptions } from '../../engine/table/index.ts'
import { applyToRows, changeTable } from '../rows/change.ts'
import { declaredOnly } from '../rows/rows.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

const pair = v.strictTuple(
  [text, v.string('must be an expression as text, such as "x + 1" or "5"')],
  'must be pairs of a column and an expression, such as ["x", "x + 1"]',
)
const updates = v.pipe(
  v.array(pair, 'must be a list of pairs of a column and an expression, such as [["x", "x + 1"]]'),
  v.minLength(1, 'is empty; name a column and its new value'),
)

/**
 * Gives new values to columns of the rows that a predicate holds for, or of all rows. Each update is a column and an SQL
 * expression, which is evaluated on the row as it was. Answers with the number of rows and with the version, which is a
 * new one even when nothing matched. Updated rows come after all others. Rows that others insert or update meanwhile
 * are updated too, as they are then.
 *
 * ```ts
 * const { updated_rows } = await catalog.updateTable({
 *   id: ['prod', 'flights'], updates: [['delay', 'delay + 5'], ['note', "'late'"]], predicate: 'delay > 60',
 * })
 * ```
 */
export const updateTable = operation({
  name: 'updateTable',
  summary: 'Update rows of a table by SQL expressions.',
  request: v.object({ ...requestFields, id: tableIdentifier, updates, predicate: v.nullish(text), branch }),
  // Tables have no properties that an update could set.
  ignores: ['properties'],
  response: v.object({ ...changeFields, updated_rows: version, version }),
  errors: [
    'TableNotFound',
    'TableBranchNotFound',
    'TableColumnNotFound',
    'InvalidTableState',
    'TableSchemaValidationError',
    'ConcurrentModification',
    'Unsupported',
  ],
  changes: true,
  route: post('/v1/table/{id}/update', { rows: true }),
  command: {
    group: 'Rows',
    aliases: ['update'],
    options: { updates: "a column and its new value, as 'delay = delay + 5' (repeat it)" },
    examples: [`./catalog prod.flights --set 'delay = delay + 5' --where 'delay > 60'`],
  },
  run: async (core, { id, updates, predicate, branch }, options) => {
    const wanted: UpdateOptions = { updates, predicate: predicate ?? undefined }
    const { affected, version, transaction_id } = await changeTable(core, options, {
      operation: 'UpdateTable',
      id,
      branch,
      prepare: async ({ engine, base }, work) => {
        if (base === undefined) throw declaredOnly(id)
        return engine.updateRows(base, wanted, work)
      },
      apply: applyToRows,
      lances: () => ({ kind: 'update', ...wanted }),
    })
    return { updated_rows: affected, version, transaction_id }
  },
})
