import * as v from 'valibot'
import { identifier, limit, pageToken, text } from '../../base/model/fields.ts'
import { keys, type StoredTable } from '../../base/store/records.ts'
import { pageOfEntries, readPage } from '../listing/paging.ts'
import { findNamespace, foundTable } from '../lookup/names.ts'
import { adapterOperation } from './internal.ts'

/**
 * The names of the tables directly in a namespace whose property `name` has the value `value`, in any case, in order of their
 * UTF-8 bytes, a page at a time.
 */
export const tablesWith = adapterOperation({
  like: 'listTables',
  changes: false,
  request: { id: identifier, name: text, value: text, page_token: pageToken, limit: v.nullish(limit) },
  run: async (core, { id, name, value, page_token, limit }) => {
    const wanted = value.toUpperCase()
    const { items, page_token: next } = await readPage(
      core,
      { listing: ['tables', id, name, value], page_token, limit },
      (reader, after, size) => {
        const namespace = findNamespace(reader, id)
        const range = { prefix: keys.tables(namespace) }
        // One walk over the records takes a quarter less than a walk over the names and a look for each.
        return pageOfEntries<StoredTable, string>(reader, range, after, size, ({ key, value: stored }) => {
          const table = String(key[3])
          const { properties } = foundTable(stored, namespace, table).record
          return properties[name]?.toUpperCase() === wanted ? table : undefined
        })
      },
    )
    return { names: items, next }
  },
})
