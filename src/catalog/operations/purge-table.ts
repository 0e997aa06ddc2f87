import * as v from 'valibot'
import { requestFields, responseFields, tableIdentifier, text, version } from '../../base/model/fields.ts'
import { purgeTable as purgeRecords } from '../locations/drop.ts'
import { heldWith, notHeld } from '../locations/held.ts'
import { removeContent } from '../locations/removal.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/**
 * Removes dropped tables that are held for good: all that had the name, or the one that `table_id` names. A table that
 * has the name now stays.
 */
export const purgeTable = operation({
  name: 'purgeTable',
  summary: 'Remove a dropped table that is held for good.',
  request: v.object({ ...requestFields, id: tableIdentifier, table_id: v.nullish(text) }),
  response: v.object({ ...responseFields, purged: version }),
  errors: ['TableNotFound', 'ConcurrentModification'],
  changes: true,
  route: post('/v1/table/{id}/purge'),
  command: { group: 'Tables', aliases: ['purge'], examples: ['./catalog prod.flights'] },
  run: async (core, { id, table_id }) => {
    const now = core.now()
    // The drop was the change that others hear of, so this one has no entry in the feed.
    const locations = await core.store.write((writer) => {
      const held = [...heldWith(writer, id, table_id)]
      if (held.length === 0) throw notHeld(id, table_id)
      return held.map((table) => purgeRecords(core, writer, table, now))
    })
    await removeContent(core, locations)
    return { purged: locations.length }
  },
})
