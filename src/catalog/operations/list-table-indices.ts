import * as v from 'valibot'
import {
  limit,
  pageToken,
  requestFields,
  responseFields,
  tableIdentifier,
  text,
  version,
  wantedFields,
} from '../../base/model/fields.ts'
import { pageOfList } from '../listing/named-parts.ts'
import { readPage } from '../listing/paging.ts'
import { readTable } from '../rows/read.ts'
import { versionErrors } from '../rows/rows.ts'
import type { RowsIndex } from '../rows/version-rows.ts'
import { operation } from './framework/operation.ts'
import { pageQuery, post, versionQuery } from './framework/route.ts'

const indexItem = v.object({
  index_name: text,
  index_uuid: text,
  columns: v.array(text),
  status: text,
  index_type: text,
  num_indexed_rows: version,
  num_unindexed_rows: version,
  size_bytes: version,
  num_segments: version,
  created_at: text,
  index_details: text,
  index_version: v.optional(version),
  type_url: v.optional(text),
})

/**
 * Lists the indexes of a table by name, a page at a time. Answers are exact and complete, whatever was added since an
 * index was created.
 */
export const listTableIndices = operation({
  name: 'listTableIndices',
  summary: 'List the indexes of a table.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    ...wantedFields,
    page_token: pageToken,
    limit: v.nullish(limit),
  }),
  response: v.object({ ...responseFields, indexes: v.array(indexItem), page_token: pageToken }),
  errors: versionErrors,
  changes: false,
  route: post('/v1/table/{id}/index/list', {
    methods: ['POST', 'GET'],
    queryToo: { ...versionQuery, ...pageQuery },
    rows: true,
  }),
  command: {
    group: 'Rows',
    aliases: ['indices'],
    lists: { field: 'indexes', item: 'index' },
    examples: ['./catalog prod.flights'],
  },
  run: async (core, { id, page_token, limit, ...wanted }) => {
    const listing = [
      'indices',
      id,
      wanted.branch,
      String(wanted.version ?? ''),
      wanted.tag ?? '',
      wanted.at ?? '',
    ]
    const asked = { listing, page_token, limit }
    return readTable(core, id, wanted, async (rows) => {
      const all = (await rows.indexNames()).map((name) => [name, name] as const)
      const { items, ...more } = await readPage(core, asked, (_, after, size) => pageOfList(all, after, size))
      const listed = await rows.indexes(items.map(([, name]) => name))
      return { indexes: listed.map(described), ...more }
    })
  },
})

function described(index: RowsIndex): v.InferOutput<typeof indexItem> {
  return {
    index_name: index.name,
    index_uuid: index.uuid,
    columns: [...index.columns],
    status: 'done',
    index_type: index.type,
    num_indexed_rows: index.indexedRows,
    num_unindexed_rows: index.unindexedRows,
    size_bytes: index.bytes,
    num_segments: index.files,
    created_at: new Date(index.createdAt).toISOString(),
    index_details: JSON.stringify(index.details),
    ...(index.formatVersion !== undefined && { index_version: index.formatVersion }),
    ...(index.typeUrl !== undefined && { type_url: index.typeUrl }),
  }
}
