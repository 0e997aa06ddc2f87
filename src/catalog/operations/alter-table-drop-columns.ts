import * as v from 'valibot'
import {
  branch,
  changeFields,
  requestFields,
  tableIdentifier,
  text,
  version,
} from '../../base/model/fields.ts'
import { changeColumns, maxColumns, tooMany } from '../rows/columns.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/**
 * Drops columns of a table, or fields within structs, and answers with the version that no longer has them. A struct
 * goes with the last of its fields. Nothing is written again: earlier versions, tags and branches still have the
 * columns, and `optimizeTable` leaves out their bytes. The last column of a table stays.
 *
 * ```ts
 * await catalog.alterTableDropColumns({ id: ['prod', 'flights'], columns: ['note', 'address.street'] })
 * ```
 */
export const alterTableDropColumns = operation({
  name: 'alterTableDropColumns',
  summary: 'Drop columns of a table.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    branch,
    columns: v.pipe(
      v.array(text, 'must be a list of names or paths'),
      v.nonEmpty('is empty; name at least one column to drop'),
      v.maxLength(maxColumns, tooMany),
    ),
  }),
  response: v.object({ ...changeFields, version }),
  errors: [
    'TableNotFound',
    'TableBranchNotFound',
    'TableColumnNotFound',
    'InvalidTableState',
    'ConcurrentModification',
    'Unsupported',
  ],
  changes: true,
  route: post('/v1/table/{id}/drop_columns', { rows: true }),
  command: {
    group: 'Tables',
    aliases: ['drop-columns'],
    options: { columns: 'names of columns, or paths of fields' },
    examples: ['./catalog prod.flights --columns note'],
  },
  run: async (core, { id, branch, columns }, options) => {
    const { version, transaction_id } = await changeColumns(
      core,
      options,
      {
        operation: 'AlterTableDropColumns',
        id,
        branch,
        lances: () => ({ kind: 'drop columns', paths: columns }),
      },
      (engine) => engine.dropColumns(columns),
    )
    return { version, transaction_id }
  },
})
