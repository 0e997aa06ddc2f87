import * as v from 'valibot'
import { branch, changeFields, requestFields, stringMap, tableIdentifier } from '../../base/model/fields.ts'
import { applyToRows, changeTable } from '../rows/change.ts'
import { operation } from './framework/operation.ts'
import { listedStatuses, post } from './framework/route.ts'

/**
 * Replaces a table's schema metadata as a whole with the given pairs, in a new version, and answers with them.
 *
 * ```ts
 * await catalog.updateTableSchemaMetadata({ id: ['prod', 'flights'], metadata: { source: 'FAA', unit: 'minutes' } })
 * ```
 */
export const updateTableSchemaMetadata = operation({
  name: 'updateTableSchemaMetadata',
  summary: 'Replace the schema metadata of a table.',
  request: v.object({ ...requestFields, id: tableIdentifier, branch, metadata: stringMap }),
  response: v.object({ ...changeFields, metadata: stringMap }),
  errors: [
    'TableNotFound',
    'TableBranchNotFound',
    'InvalidTableState',
    'ConcurrentModification',
    'Unsupported',
  ],
  changes: true,
  route: post('/v1/table/{id}/schema_metadata/update', {
    body: 'metadata',
    query: { branch: 'text' },
    answer: 'metadata',
    rows: true,
    statuses: listedStatuses,
  }),
  command: {
    group: 'Tables',
    aliases: ['set-metadata'],
    examples: ['./catalog prod.flights --metadata unit=minutes --metadata source=FAA'],
  },
  run: async (core, { id, branch, metadata }, options) => {
    const { snapshot, transaction_id } = await changeTable(core, options, {
      operation: 'UpdateTableSchemaMetadata',
      id,
      branch,
      prepare: ({ engine }) => engine.replaceSchemaMetadata(metadata),
      apply: applyToRows,
      lancesManifest: async () => {
        const { withSchemaMetadata } = await import('../lance/schema-metadata.ts')
        return (before, next) => withSchemaMetadata(before, metadata, next)
      },
    })
    return { metadata: snapshot ? Object.fromEntries(snapshot.metadata) : metadata, transaction_id }
  },
})
