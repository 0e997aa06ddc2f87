import * as v from 'valibot'
import {
  branch,
  flag,
  limit,
  moment,
  nextPageToken,
  pageToken,
  requestFields,
  responseFields,
  tableIdentifier,
  tableVersion,
  text,
} from '../../base/model/fields.ts'
import { keys, type TransactionRecord, type VersionRecord } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import { mayBeTold, toVersionFor } from '../lance/dataset.ts'
import { reconcile } from '../lance/reconcile.ts'
import { pageOfEntries, readPage } from '../listing/paging.ts'
import { findTable } from '../lookup/names.ts'
import { headOf, wantedVersion } from '../lookup/versions.ts'
import { operation } from './framework/operation.ts'
import { pageQuery, post } from './framework/route.ts'

const listedVersion = v.object({
  ...tableVersion.entries,
  transaction_id: v.optional(text),
  operation: v.optional(text),
})

/**
 * Lists the versions of a table's branch, oldest first or, with `descending`, latest first, a page at a time. `at`, a time,
 * leaves out those that were made later. With
 * `with_transactions` each comes with the transaction that made it, as far as that is recorded.
 */
export const listTableVersions = operation({
  name: 'listTableVersions',
  summary: 'List the versions of a table.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    at: v.nullish(moment),
    branch,
    page_token: pageToken,
    limit: v.nullish(limit),
    descending: v.nullish(flag),
    with_transactions: v.nullish(flag),
  }),
  response: v.object({ ...responseFields, versions: v.array(listedVersion), page_token: nextPageToken }),
  errors: ['TableNotFound', 'TableBranchNotFound'],
  changes: false,
  route: post('/v1/table/{id}/version/list', {
    methods: ['POST', 'GET'],
    body: 'none',
    query: { branch: 'text', at: 'text', ...pageQuery, descending: 'boolean', with_transactions: 'boolean' },
  }),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['versions'],
    lists: { field: 'versions', item: 'version' },
    examples: ['./catalog prod.flights', './catalog prod.flights --descending --limit 1'],
  },
  run: async (core, { id, branch, at, page_token, limit, descending, with_transactions }) => {
    const newest = await reconcile(core, id, branch)
    const { items, ...more } = await readPage(
      core,
      {
        listing: ['versions', id, branch, descending ?? false, ...(at == null ? [] : [at])],
        page_token,
        limit,
      },
      (reader, after, size) => {
        const table = findTable(reader, id)
        const { version } = wantedVersion(reader, id, table, { branch, at }, core.now())
        headOf(reader, id, table, branch)
        return pageOfEntries<VersionRecord, v.InferOutput<typeof listedVersion>>(
          reader,
          { prefix: keys.versions(table.id, branch), reverse: descending ?? false, last: version },
          after,
          size,
          ({ key, value }) => {
            const version = Number(key[3])
            if (!mayBeTold(core, version, value, newest)) return undefined
            return {
              ...toVersionFor(core, version, value),
              ...(with_transactions && makerOf(reader, value)),
            }
          },
        )
      },
    )
    return { versions: [...items], ...more }
  },
})

/** The transaction that made a version. Its record is kept for some days only, and another engine leaves none. */
function makerOf(
  reader: Reader,
  { transaction_id }: VersionRecord,
): { transaction_id?: string; operation?: string } {
  if (transaction_id === '') return {}
  const record = reader.get<TransactionRecord>(keys.transaction(transaction_id))
  return { transaction_id, ...(record && { operation: record.operation }) }
}
