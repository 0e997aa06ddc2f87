import * as v from 'valibot'
import { changeFields, requestFields, stringMap, tableIdentifier, text } from '../../base/model/fields.ts'
import { changeTable } from '../lookup/names.ts'
import {
  changedProperties,
  propertyFields,
  requireProperties,
  requireSameFormat,
} from '../lookup/properties.ts'
import { requireRule } from '../lookup/retention-rule.ts'
import { commit, findTableToChange, unchanged } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/**
 * Sets the properties in `updates`, removes those in `removals`, and answers with all that the table has then. The others
 * stay, and so do rows and versions. `missing` lists names to remove that the table did not have. `table_type` cannot be
 * changed, since it says of which format the table is.
 *
 * ```ts
 * await catalog.updateTableProperties({ id: ['prod', 'flights'], updates: { owner: 'ada' }, removals: ['draft'] })
 * ```
 */
export const updateTableProperties = operation({
  name: 'updateTableProperties',
  summary: 'Set and remove properties of a table.',
  request: v.object({ ...requestFields, id: tableIdentifier, ...propertyFields }),
  response: v.object({ ...changeFields, properties: stringMap, missing: v.array(text) }),
  errors: ['TableNotFound', 'ConcurrentModification'],
  changes: true,
  route: post('/v1/table/{id}/properties/update'),
  command: {
    group: 'Tables',
    aliases: ['set-properties'],
    examples: ['./catalog prod.flights --updates owner=ada --updates tier=gold --removals draft'],
  },
  run: async (core, { id, updates, removals }) => {
    requireProperties({ updates, removals }, 'updateTableProperties')
    return commit(core, 'UpdateTableProperties', id, (change) => {
      const table = findTableToChange(change, id)
      requireRule(updates)
      const before = table.record.properties
      const changed = changedProperties(before, { updates, removals }, 'updateTableProperties')
      const { properties, isChanged } = changed
      requireSameFormat(before, properties, 'updateTableProperties')
      const answer = { properties, missing: [...changed.missing] }
      if (!isChanged) return unchanged(answer)
      changeTable(change.writer, table.id, { ...table.record, properties })
      return answer
    })
  },
})
