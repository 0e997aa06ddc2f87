import * as v from 'valibot'
import { identifier, limit, pageToken, text } from '../../base/model/fields.ts'
import { keys } from '../../base/store/records.ts'
import { pageOfNames, readPage } from '../listing/paging.ts'
import { findNamespace, readTable } from '../lookup/names.ts'
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
    const { items, page_token: next } = await readPage(
      core,
      { listing: ['tables', id, name, value], page_token, limit },
      (reader, after, size) => {
        const namespace = findNamespace(reader, id)
        return pageOfNames(reader, keys.tables(namespace), after, size, (table) =>
          readTable(reader, namespace, table)?.record.properties[name]?.toUpperCase() === value.toUpperCase()
            ? table
            : undefined,
        )
      },
    )
    return { names: items, next }
  },
})
