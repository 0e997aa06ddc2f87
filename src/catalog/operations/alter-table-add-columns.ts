import * as v from 'valibot'
import { invalid, unsupported } from '../../base/errors.ts'
import {
  branch,
  changeFields,
  flag,
  requestFields,
  stringMap,
  tableIdentifier,
  text,
  version,
} from '../../base/model/fields.ts'
import type { NewColumn } from '../../engine/table/index.ts'
import { changeColumns, dataType, fieldOf, maxColumns, requireOne, tooMany } from '../rows/columns.ts'
import { schemaInput } from '../rows/input.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

const newColumn = v.object(
  {
    name: text,
    expression: v.nullish(text),
    data_type: v.nullish(dataType),
    nullable: v.nullish(flag),
    metadata: v.nullish(stringMap),
    computed: v.nullish(text),
    virtual_column: v.nullish(v.looseObject({})),
  },
  'must be an object such as { name: "total", expression: "price * amount" }',
)

/**
 * Adds columns to a table, behind those it has, and answers with the version that has them. A column gets the values
 * of an SQL `expression` over the columns that were there, or with a `data_type` it is null in all rows. `schema` is an
 * Arrow schema whose columns are all null at first. Expressions are computed once, also for rows that others insert
 * meanwhile; rows inserted later have a value of their own, or null. No other column is written again.
 *
 * ```ts
 * await catalog.alterTableAddColumns({
 *   id: ['prod', 'flights'],
 *   new_columns: [{ name: 'late', expression: 'delay > 60' }, { name: 'note', data_type: { type: 'string' } }],
 * })
 * ```
 */
export const alterTableAddColumns = operation({
  name: 'alterTableAddColumns',
  summary: 'Add columns to a table.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    branch,
    new_columns: v.nullish(
      v.pipe(
        v.array(newColumn, 'must be a list of columns'),
        v.nonEmpty('is empty; give at least one column to add'),
        v.maxLength(maxColumns, tooMany),
      ),
    ),
    schema: schemaInput,
  }),
  response: v.object({ ...changeFields, version }),
  errors: [
    'TableNotFound',
    'TableBranchNotFound',
    'InvalidTableState',
    'ConcurrentModification',
    'Unsupported',
  ],
  changes: true,
  route: post('/v1/table/{id}/add_columns', { queryToo: { branch: 'text' }, rows: true }),
  command: {
    group: 'Tables',
    aliases: ['add-columns'],
    options: {
      new_columns: 'columns: [{"name":"late","expression":"delay > 60"}], or with "data_type" for nulls',
    },
    examples: [`./catalog prod.flights --new-columns '[{"name":"late","expression":"delay > 60"}]'`],
  },
  run: async (core, { id, branch, new_columns, schema }, options) => {
    requireOne('alterTableAddColumns', { new_columns, schema })
    const columns = await columnsOf(new_columns ?? [], schema)
    const { version, transaction_id } = await changeColumns(
      core,
      options,
      {
        operation: 'AlterTableAddColumns',
        id,
        branch,
        lances: () => ({ kind: 'add columns', columns }),
      },
      (engine) => engine.addColumns(columns),
    )
    return { version, transaction_id }
  },
})

async function columnsOf(
  given: readonly v.InferOutput<typeof newColumn>[],
  schema: v.InferOutput<typeof schemaInput>,
): Promise<NewColumn[]> {
  const columns: NewColumn[] = []
  for (const [
    i,
    { name, expression, data_type, nullable, metadata, computed, virtual_column },
  ] of given.entries()) {
    const where = `new_columns[${i}]`
    if (computed != null || virtual_column != null) {
      throw unsupported(
        `${where} is a computed column, which is filled by backfills. This catalog has none.`,
        'Give an "expression", which is computed once.',
      )
    }
    requireOne(where, { expression, data_type })
    if (expression != null && (nullable != null || metadata != null)) {
      throw invalid(
        `${where} has "nullable" or "metadata" beside an expression. Alter the column once it is there.`,
      )
    }
    columns.push(
      expression != null
        ? { name, expression }
        : {
            field: await fieldOf({
              name,
              type: data_type!,
              nullable: nullable ?? true,
              metadata: metadata ?? undefined,
            }),
          },
    )
  }
  if (schema == null) return columns
  const { toSchema } = await import('../../engine/table/index.ts')
  const { fields } = toSchema(schema as Parameters<typeof toSchema>[0])
  if (fields.length === 0)
    throw invalid('alterTableAddColumns: schema has no fields; give at least one column to add.')
  return fields.map((field) => ({ field }))
}
