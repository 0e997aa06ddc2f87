import * as v from 'valibot'
import {
  identifier,
  limit,
  nextPageToken,
  pageToken,
  requestFields,
  responseFields,
  text,
} from '../../base/model/fields.ts'
import { droppedId, keys } from '../../base/store/records.ts'
import { pageOfNames, readPage } from '../listing/paging.ts'
import { heldTable } from '../locations/held.ts'
import { locationOf } from '../locations/locations.ts'
import { operation } from './framework/operation.ts'
import { get, pageQuery } from './framework/route.ts'

const droppedTable = v.object({
  id: v.array(text),
  table_id: text,
  location: text,
  dropped_at: text,
  retained_until: text,
})

type DroppedTable = v.InferOutput<typeof droppedTable>

/**
 * Lists the dropped tables that are held, a page at a time: those that were in a namespace or below it. Those whose time
 * ends first come first. They are held for the time of the option `retainDropped`, which is off by default.
 *
 * ```ts
 * const { dropped } = await catalog.listDroppedTables({ id: [] })
 * await catalog.undropTable({ id: dropped[0].id })
 * ```
 */
export const listDroppedTables = operation({
  name: 'listDroppedTables',
  summary: 'List the dropped tables that are held.',
  request: v.object({ ...requestFields, id: identifier, page_token: pageToken, limit: v.nullish(limit) }),
  response: v.object({ ...responseFields, dropped: v.array(droppedTable), page_token: nextPageToken }),
  errors: [],
  changes: false,
  route: get('/v1/namespace/{id}/table/dropped', pageQuery),
  command: {
    group: 'Tables',
    aliases: ['dropped'],
    id: 'namespace',
    rootByDefault: true,
    lists: { field: 'dropped', item: 'table' },
    examples: ['./catalog', './catalog prod'],
  },
  run: async (core, { id: namespace, page_token, limit }) => {
    const { items, ...more } = await readPage<DroppedTable>(
      core,
      { listing: ['dropped', namespace], page_token, limit },
      (reader, after, size) =>
        pageOfNames(reader, keys.tables(droppedId), after, size, (name) => {
          const held = heldTable(reader, name)
          if (held === undefined) return undefined
          const { id, at, until } = held.dropped
          if (id.length <= namespace.length || namespace.some((part, i) => part !== id[i])) return undefined
          if (core.access?.mayRead([{ kind: 'table', id }])[0] === false) return undefined
          return {
            id: [...id],
            table_id: held.id,
            location: locationOf(core.contentRoots, held.id, held.record),
            dropped_at: new Date(at).toISOString(),
            retained_until: new Date(until).toISOString(),
          }
        }),
    )
    return { dropped: [...items], ...more }
  },
})
