import * as v from 'valibot'
import { changeFields, requestFields, stringMap, tableIdentifier, text } from '../../base/model/fields.ts'
import { dropTable as dropRecords } from '../locations/drop.ts'
import { removeContent } from '../locations/removal.ts'
import { commit, findTableToChange } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/**
 * Drops a table: its name, and its content when that lies within the catalog's reach. To keep the content,
 * deregister the table instead.
 */
export const dropTable = operation({
  name: 'dropTable',
  summary: 'Drop a table and its content.',
  request: v.object({ ...requestFields, id: tableIdentifier }),
  response: v.object({ ...changeFields, id: v.array(text), location: text, properties: stringMap }),
  errors: ['TableNotFound', 'ConcurrentModification'],
  changes: true,
  route: post('/v1/table/{id}/drop', { body: 'none' }),
  command: { group: 'Tables', aliases: ['drop', 'rm'], examples: ['./catalog prod.flights'] },
  run: async (core, { id }) => {
    const response = await commit(core, 'DropTable', id, (change) => {
      const table = findTableToChange(change, id)
      const location = dropRecords(core, change, table.id, table.record)
      return { id: [...id], location, properties: table.record.properties }
    })
    await removeContent(core, [response.location])
    return response
  },
})
