import * as v from 'valibot'
import { settle } from '../lance/settle.ts'
import { toVersionFor } from '../lance/waiting-versions.ts'
import { pageOfEntries, readPage } from '../listing/paging.ts'
import { findTable } from '../lookup/names.ts'
import { headOf } from '../lookup/versions.ts'
import {
  branch,
  flag,
  limit,
  nextPageToken,
  pageToken,
  requestFields,
  responseFields,
  tableIdentifier,
  tableVersion,
} from '../model/fields.ts'
import { keys, type VersionRecord } from '../store/records.ts'
import { operation } from './framework/operation.ts'
import { pageQuery, post } from './framework/route.ts'

/** Lists the versions of a table's branch, oldest first or, with `descending`, latest first, a page at a time. */
export const listTableVersions = operation({
  name: 'listTableVersions',
  summary: 'List the versions of a table.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    branch,
    page_token: pageToken,
    limit: v.nullish(limit),
    descending: v.nullish(flag),
  }),
  response: v.object({ ...responseFields, versions: v.array(tableVersion), page_token: nextPageToken }),
  errors: ['TableNotFound', 'TableBranchNotFound'],
  changes: false,
  route: post('/v1/table/{id}/version/list', {
    methods: ['POST', 'GET'],
    body: 'none',
    query: { branch: 'text', ...pageQuery, descending: 'boolean' },
  }),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['versions'],
    lists: { field: 'versions', item: 'version' },
    examples: ['./catalog prod.flights', './catalog prod.flights --descending --limit 1'],
  },
  run: async (core, { id, branch, page_token, limit, descending }) => {
    await settle(core, id, branch)
    const { items, ...more } = await readPage(
      core,
      { listing: ['versions', id, branch, descending ?? false], page_token, limit },
      (reader, after, size) => {
        const table = findTable(reader, id)
        headOf(reader, id, table, branch)
        return pageOfEntries<VersionRecord, v.InferOutput<typeof tableVersion>>(
          reader,
          keys.versions(table.id, branch),
          after,
          size,
          ({ key, value }) => toVersionFor(core, Number(key[3]), value),
          descending ?? false,
        )
      },
    )
    return { versions: [...items], ...more }
  },
})
