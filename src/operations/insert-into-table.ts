import * as v from 'valibot'
import { branch, changeFields, choice, requestFields, tableIdentifier, version } from '../model/fields.ts'
import { rowsInput, schemaInput, toRows } from '../rows/input.ts'
import { changeRows } from '../rows/rows.ts'
import type { Snapshot, WorkOptions } from '../table/index.ts'
import { operation } from './framework/operation.ts'

/**
 * Inserts rows into a table and answers with the version that has them. `data` is an Arrow IPC stream or
 * file, an Arrow table, or an array of row objects; its columns are matched by name. `mode` is `Append` (the
 * default) or `Overwrite`, which replaces all rows and the columns too, while earlier versions stay. Rows
 * inserted into a declared table create it.
 *
 * ```ts
 * const { version } = await catalog.insertIntoTable({ id: ['prod', 'flights'], data: [{ delay: 12 }] })
 * ```
 */
export const insertIntoTable = operation({
  name: 'insertIntoTable',
  summary: 'Insert rows into a table.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    branch,
    mode: v.nullish(choice('Append', 'Overwrite')),
    data: rowsInput,
    schema: schemaInput,
  }),
  response: v.object({ ...changeFields, num_inserted_rows: version, version }),
  errors: [
    'TableNotFound',
    'TableBranchNotFound',
    'InvalidTableState',
    'TableSchemaValidationError',
    'ConcurrentModification',
  ],
  changes: true,
  run: async (core, { id, branch, mode, data, schema }, options) => {
    const { affected, version, transaction_id } = await changeRows(
      core,
      options,
      { operation: 'InsertIntoTable', id, branch },
      async ({ engine, place, base }) => {
        const overwrite = mode === 'Overwrite'
        const rows = await toRows(core, data, overwrite ? schema : (base?.schema ?? schema))
        return async (work) => {
          const write = (current: Snapshot, options: WorkOptions) =>
            overwrite
              ? engine.overwriteRows(place.prefix, rows, options)
              : engine.insertRows(current, rows, options)
          let change = base && (await write(base, work))
          // What the table was when the work began, declared or created, it need not be any more.
          return async (current, options) => {
            if (current === undefined) {
              const snapshot = await engine.create(place.prefix, rows, options)
              return { snapshot, affected: snapshot.rows }
            }
            change ??= await write(current, options)
            return change.apply(current, options)
          }
        }
      },
    )
    core.background?.changed({ id, branch }, version)
    return { version, num_inserted_rows: affected, transaction_id }
  },
})
