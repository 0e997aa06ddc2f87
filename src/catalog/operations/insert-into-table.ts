import * as v from 'valibot'
import { CatalogError } from '../../base/errors.ts'
import {
  branch,
  changeFields,
  choice,
  requestFields,
  tableIdentifier,
  version,
} from '../../base/model/fields.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import { isRowsSource, type RowsSource } from '../../base/model/rows-source.ts'
import type { RowsInput, SchemaInput } from '../../engine/arrow/types.ts'
import type { Change, Overwrite } from '../../engine/table/index.ts'
import { changeTable, createRows, type TableChanged } from '../rows/change.ts'
import { areSmall, arrive, checkRows, type Rows, schemaInput, streamedRowsInput } from '../rows/input.ts'
import { declaredOnly } from '../rows/rows.ts'
import { type OperationContext, type OperationOptions, operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/**
 * Inserts rows into a table and answers with the version that has them. `data` is an Arrow IPC stream or file, an Arrow
 * table, an array of row objects, or an iterable of rows that are read while they are written. Columns, and fields of
 * structs, are matched by name; those that are left out and may be null become NULL. Values of another type than the
 * column's are cast, and refused where they do not fit. A column without any value, whose type is null, takes the type
 * of the first values, or that of `schema`. `mode` is `Append` (the default) or `Overwrite`, which replaces all rows
 * and the columns too, while earlier versions stay. Rows inserted into a declared table create it.
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
    data: streamedRowsInput,
    schema: schemaInput,
  }),
  response: v.object({ ...changeFields, num_inserted_rows: version, version }),
  errors: [
    'TableNotFound',
    'TableBranchNotFound',
    'InvalidTableState',
    'TableSchemaValidationError',
    'ConcurrentModification',
    'Unsupported',
  ],
  changes: true,
  route: post('/v1/table/{id}/insert', {
    body: 'arrow',
    query: { branch: 'text', mode: 'text' },
    rows: true,
    streams: true,
  }),
  command: {
    group: 'Rows',
    aliases: ['insert'],
    examples: [
      './catalog prod.flights --data more.arrow',
      `./catalog scores --data '[{"name":"Grace","score":9.9}]'`,
      './catalog prod.flights --data - < rows.jsonl',
    ],
  },
  run: async (core, request, options) => {
    const { mode } = request
    const { staging } = core
    const held =
      staging && mode !== 'Overwrite' && (await staging.appends.hold({ ...core, staging }, request, options))
    const insert = () => insertAlone(core, request, options)
    const { affected, version, transaction_id } =
      held || (await (staging ? staging.appends.alone(insert) : insert()))
    return { version, num_inserted_rows: affected, transaction_id }
  },
})

interface InsertRequest {
  readonly id: Identifier
  readonly branch: string
  readonly mode?: Mode
  readonly data: RowsInput | RowsSource
  readonly schema?: SchemaInput | null | undefined
}

type Mode = 'Append' | 'Overwrite' | null | undefined

/** Rows that were read, and what was written of them. */
interface Prepared {
  readonly rows: Rows
  change: Change | undefined
  /** For a table without rows: they make it, and do not follow others. */
  readonly first: Overwrite | undefined
}

/** Inserts rows as a version of their own. */
function insertAlone(
  core: OperationContext,
  { id, branch, mode, data, schema }: InsertRequest,
  options: OperationOptions,
): Promise<TableChanged> {
  return changeTable(core, options, {
    operation: 'InsertIntoTable',
    id,
    branch,
    awaitsSource: isRowsSource(data),
    mayGuess: mode !== 'Overwrite' && areSmall(data),
    check: ({ base }) =>
      base === undefined || mode === 'Overwrite'
        ? checkRows(core, data, schema, options)
        : checkRows(core, data, base.schema, options, { takesTypes: schema ?? true }),
    prepare: async (found, given, pending): Promise<Prepared> => {
      const { rows, work } = await pending.build(given)
      const { base, engine, folder } = found
      if (base === undefined || mode === 'Overwrite') {
        const first = await engine.overwriteRows(folder.prefix, rows, work)
        return { rows, first, change: mode === 'Overwrite' ? first : undefined }
      }
      return { rows, first: undefined, change: await engine.insertRows(base, rows, work) }
    },
    apply: async ({ engine }, prepared, current, work) => {
      // Whether the table is declared or created may have changed since the work began.
      if (current === undefined) {
        if (prepared.first === undefined) throw declaredOnly(id)
        return createRows(prepared.first, work)
      }
      const insert = async () => {
        if (arrive(prepared.rows)) throw arrivedBefore(id)
        return engine.insertRows(current, prepared.rows, { signal: work.signal })
      }
      prepared.change ??= await insert()
      try {
        return await prepared.change.apply(current, work)
      } catch (error) {
        const isStale = error instanceof CatalogError && error.code === 'ConcurrentModification'
        if (!isStale || arrive(prepared.rows)) throw error
        // The columns changed meanwhile. The rows are written for those that there are now.
        const pending = await checkRows(core, data, current.schema, options, { takesTypes: schema ?? true })
        const { rows } = await pending.build({ signal: work.signal })
        prepared.change = await engine.insertRows(current, rows, { signal: work.signal })
        return prepared.change.apply(current, work)
      }
    },
    first: () => checkRows(core, data, schema, options),
    lances: async (there, work) => {
      const overwrite = mode === 'Overwrite'
      const pending = await checkRows(core, data, overwrite ? schema : there, options)
      return { kind: 'insert', rows: (await pending.build(work)).rows, overwrite }
    },
  })
}

function arrivedBefore(id: Identifier): CatalogError {
  return new CatalogError(
    'ConcurrentModification',
    `Another writer created the table ${formatIdentifier(id)} while the rows arrived. Send them again.`,
  )
}
