import * as v from 'valibot'
import {
  limit,
  pageToken,
  requestFields,
  responseFields,
  tableIdentifier,
  text,
  version,
} from '../model/fields.ts'
import { keys, type TagRecord, type VersionRecord } from '../store/records.ts'
import { always, operation } from './support/operation.ts'
import { pageOfEntries, readPage } from './support/paging.ts'
import { findTable } from './support/resolve.ts'

const tagContents = v.object({ branch: v.optional(text), version, manifestSize: version })

/** Lists a table's tags by name, a page at a time. */
export const listTableTags = operation({
  name: 'listTableTags',
  summary: 'List the tags of a table.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    page_token: pageToken,
    limit: v.nullish(limit),
  }),
  response: v.object({ ...responseFields, tags: v.record(text, tagContents), page_token: pageToken }),
  errors: ['TableNotFound'],
  changes: false,
  isFromStore: always,
  run: async (core, { id, page_token, limit }) => {
    const { items, ...more } = await readPage(
      core,
      { listing: ['tags', id], page_token, limit },
      (reader, after, size) => {
        const table = findTable(reader, id)
        return pageOfEntries<TagRecord, [string, v.InferOutput<typeof tagContents>]>(
          reader,
          keys.tags(table.id),
          after,
          size,
          ({ key, value: { branch, version } }) => {
            const record = reader.get<VersionRecord>(keys.version(table.id, branch, version))
            const contents = { version, manifestSize: record?.manifest_size ?? 0 }
            return [String(key[2]), branch === '' ? contents : { branch, ...contents }]
          },
        )
      },
    )
    return { tags: Object.fromEntries(items), ...more }
  },
})
