import * as v from 'valibot'
import {
  branch,
  changeFields,
  flag,
  limits,
  requestFields,
  stringMap,
  tableIdentifier,
  text,
  version,
} from '../../base/model/fields.ts'
import type { Snapshot } from '../../engine/table/index.ts'
import { changeColumns, maxColumns, tooMany } from '../rows/columns.ts'
import { readTable } from '../rows/read.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/** A map of texts, in which null removes a key. */
const changedPairs = v.pipe(
  v.custom<Readonly<Record<string, string | null>>>((given) => {
    if (typeof given !== 'object' || given === null || Array.isArray(given)) return false
    const kept = Object.entries(given).filter(([, value]) => value !== null)
    return v.is(stringMap, Object.fromEntries(kept)) && Object.keys(given).length <= limits.entries
  }, `must be an object whose values are strings or null, with at most ${limits.entries} entries`),
  v.metadata({
    type: 'object',
    additionalProperties: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    maxProperties: limits.entries,
  }),
)

/**
 * Changes the metadata of a table's fields, in a new version, and answers with all pairs of each field that was named.
 * Pairs are added to the existing ones, or with `replace` take their place. A null removes a key.
 *
 * ```ts
 * await catalog.updateFieldMetadata({ id: ['prod', 'flights'], updates: [{ path: 'delay', metadata: { unit: 'minutes' } }] })
 * ```
 */
export const updateFieldMetadata = operation({
  name: 'updateFieldMetadata',
  summary: "Change the metadata of a table's fields.",
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    branch,
    updates: v.pipe(
      v.array(
        v.pipe(
          v.object(
            { path: text, metadata: changedPairs, replace: v.nullish(flag) },
            'must be an object such as { path: "delay", metadata: { unit: "minutes" } }',
          ),
          v.check(
            ({ metadata, replace }) => replace === true || Object.keys(metadata).length > 0,
            'changes nothing: its metadata is empty. Give pairs, or set replace to true to remove all that are there',
          ),
        ),
        'must be a list of updates',
      ),
      v.nonEmpty('is empty; give at least one update'),
      v.maxLength(maxColumns, tooMany),
    ),
  }),
  response: v.object({ ...changeFields, version, fields: v.optional(v.record(text, stringMap)) }),
  errors: [
    'TableNotFound',
    'TableBranchNotFound',
    'TableColumnNotFound',
    'InvalidTableState',
    'ConcurrentModification',
  ],
  changes: true,
  route: post('/v1/table/{id}/update_field_metadata', { rows: true }),
  command: {
    group: 'Tables',
    aliases: ['set-field-metadata'],
    options: { updates: 'what changes: [{"path":"delay","metadata":{"unit":"minutes"}}]' },
    examples: [`./catalog prod.flights --updates '[{"path":"delay","metadata":{"unit":"minutes"}}]'`],
  },
  run: async (core, { id, branch, updates }, options) => {
    const wanted = updates.map(({ replace, ...update }) => ({ ...update, replace: replace ?? false }))
    const { metadataOf } = await import('../../engine/table/index.ts')
    const paths = updates.map(({ path }) => path)
    const reported = ({ schema }: Snapshot) => metadataOf(schema, paths)
    const { version, snapshot, transaction_id } = await changeColumns(
      core,
      options,
      {
        operation: 'UpdateFieldMetadata',
        id,
        branch,
        reported,
        lances: () => ({ kind: 'field metadata', updates: wanted }),
      },
      (engine) => engine.updateFieldMetadata(wanted),
    )
    const fields = snapshot
      ? reported(snapshot)
      : await readTable(core, id, { branch, version }, async (rows) =>
          metadataOf((await rows.describe()).schema, paths),
        )
    return { version, fields, transaction_id }
  },
})
