import * as v from 'valibot'
import { invalid } from '../../base/errors.ts'
import {
  branch,
  changeFields,
  flag,
  requestFields,
  tableIdentifier,
  text,
  version,
} from '../../base/model/fields.ts'
import type { ColumnAlteration } from '../../engine/table/index.ts'
import { changeColumns, dataType, fieldOf, maxColumns, tooMany } from '../rows/columns.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

const alteration = v.object(
  {
    path: text,
    rename: v.nullish(text),
    data_type: v.nullish(dataType),
    nullable: v.nullish(flag),
  },
  'must be an object such as { path: "delay", rename: "minutes" }',
)

/**
 * Renames columns, changes their types, or whether they may be null, and answers with the version that has them so.
 * `path` names a column, or a field within structs with dots between the names. All alterations of a request make one
 * version, and all of their paths are those before it. Of another type, a column is written again, and no other column
 * is. A value that the new type cannot hold, or a null in a column that must not be null, is named, and changes nothing.
 *
 * ```ts
 * await catalog.alterTableAlterColumns({
 *   id: ['prod', 'flights'],
 *   alterations: [{ path: 'delay', rename: 'minutes', data_type: { type: 'int16' } }, { path: 'origin', nullable: false }],
 * })
 * ```
 */
export const alterTableAlterColumns = operation({
  name: 'alterTableAlterColumns',
  summary: 'Rename columns of a table, or change their types.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    branch,
    alterations: v.pipe(
      v.array(alteration, 'must be a list of alterations'),
      v.nonEmpty('is empty; give at least one alteration'),
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
  ],
  changes: true,
  route: post('/v1/table/{id}/alter_columns', { rows: true }),
  command: {
    group: 'Tables',
    aliases: ['alter-columns'],
    options: {
      alterations: 'what changes: [{"path":"delay","rename":"minutes"}], or "data_type" or "nullable"',
    },
    examples: [`./catalog prod.flights --alterations '[{"path":"delay","rename":"minutes"}]'`],
  },
  run: async (core, { id, branch, alterations }, options) => {
    const wanted: ColumnAlteration[] = []
    for (const [i, { path, rename, data_type, nullable }] of alterations.entries()) {
      if (rename == null && data_type == null && nullable == null) {
        throw invalid(`alterations[${i}] changes nothing. Give "rename", "data_type" or "nullable".`)
      }
      const field = data_type == null ? undefined : await fieldOf({ name: path, type: data_type })
      wanted.push({ path, rename: rename ?? undefined, nullable: nullable ?? undefined, type: field?.type })
    }
    const { version, transaction_id } = await changeColumns(
      core,
      options,
      {
        operation: 'AlterTableAlterColumns',
        id,
        branch,
        lances: () => ({ kind: 'alter columns', alterations: wanted }),
      },
      (engine) => engine.alterColumns(wanted),
    )
    return { version, transaction_id }
  },
})
