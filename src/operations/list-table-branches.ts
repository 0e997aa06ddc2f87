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
import { type BranchRecord, keys, type VersionRecord } from '../store/records.ts'
import { always, operation } from './support/operation.ts'
import { pageOfEntries, readPage } from './support/paging.ts'
import { findTable } from './support/resolve.ts'

const branchContents = v.object({
  parentBranch: v.optional(text),
  parentVersion: version,
  /** Seconds since the epoch. */
  createAt: version,
  manifestSize: version,
})

/** Lists a table's branches other than the main one by name, a page at a time. */
export const listTableBranches = operation({
  name: 'listTableBranches',
  summary: 'List the branches of a table.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    page_token: pageToken,
    limit: v.nullish(limit),
  }),
  response: v.object({ ...responseFields, branches: v.record(text, branchContents), page_token: pageToken }),
  errors: ['TableNotFound'],
  changes: false,
  isFromStore: always,
  run: async (core, { id, page_token, limit }) => {
    const { items, ...more } = await readPage(
      core,
      { listing: ['branches', id], page_token, limit },
      (reader, after, size) => {
        const table = findTable(reader, id)
        return pageOfEntries<BranchRecord, [string, v.InferOutput<typeof branchContents>]>(
          reader,
          keys.branches(table.id),
          after,
          size,
          ({ key, value }) => {
            const name = String(key[2])
            const latest = value.head.latest
            const head =
              latest === null ? undefined : reader.get<VersionRecord>(keys.version(table.id, name, latest))
            const contents = {
              parentVersion: value.parent_version,
              createAt: Math.floor(value.created_at / 1000),
              manifestSize: head?.manifest_size ?? 0,
            }
            return [
              name,
              value.parent_branch === '' ? contents : { parentBranch: value.parent_branch, ...contents },
            ]
          },
        )
      },
    )
    return { branches: Object.fromEntries(items), ...more }
  },
})
