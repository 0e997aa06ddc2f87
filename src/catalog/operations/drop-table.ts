import * as v from 'valibot'
import {
  changeFields,
  flag,
  requestFields,
  stringMap,
  tableIdentifier,
  text,
} from '../../base/model/fields.ts'
import { dropTable as dropRecords } from '../locations/drop.ts'
import { locationOf } from '../locations/locations.ts'
import { removeContent } from '../locations/removal.ts'
import { commit, findTableToChange } from '../transactions/commit.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/**
 * Drops a table: its name, and its content when that lies within the catalog's reach. To keep the content,
 * deregister the table instead. Where the catalog holds dropped tables (the option `retainDropped`), `undropTable` brings
 * it back for that time. With `purge`, it is not held.
 */
export const dropTable = operation({
  name: 'dropTable',
  summary: 'Drop a table and its content.',
  request: v.object({ ...requestFields, id: tableIdentifier, purge: v.nullish(flag) }),
  response: v.object({ ...changeFields, id: v.array(text), location: text, properties: stringMap }),
  errors: ['TableNotFound', 'ConcurrentModification'],
  changes: true,
  route: post('/v1/table/{id}/drop', { body: 'none', query: { purge: 'boolean' } }),
  command: {
    group: 'Tables',
    aliases: ['drop', 'rm'],
    examples: ['./catalog prod.flights', './catalog prod.flights --purge'],
  },
  run: async (core, { id, purge }) => {
    let removed: string[] = []
    const response = await commit(core, 'DropTable', id, (change) => {
      const table = findTableToChange(change, id)
      removed = dropRecords(core, change, table, id, purge ?? false)
      const location = locationOf(core.contentRoots, table.id, table.record)
      return { id: [...id], location, properties: table.record.properties }
    })
    await removeContent(core, removed)
    return response
  },
})
