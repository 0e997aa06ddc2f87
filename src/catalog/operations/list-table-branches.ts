import * as v from 'valibot'
import { nextPageToken, responseFields, text, version } from '../../base/model/fields.ts'
import { type BranchRecord, keys, type VersionRecord } from '../../base/store/records.ts'
import { readRefs } from '../lance/ref-files.ts'
import { listNamed, listNamedRequest } from '../listing/named-parts.ts'
import { operation } from './framework/operation.ts'
import { pageQuery, post } from './framework/route.ts'

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
  request: listNamedRequest,
  response: v.object({
    ...responseFields,
    branches: v.record(text, branchContents),
    page_token: nextPageToken,
  }),
  errors: ['TableNotFound', 'InvalidTableState'],
  changes: false,
  route: post('/v1/table/{id}/branches/list', {
    methods: ['POST', 'GET'],
    body: 'none',
    query: pageQuery,
  }),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['branches'],
    lists: { field: 'branches', item: 'branch' },
    examples: ['./catalog prod.flights'],
  },
  run: async (core, request) => {
    const { named, ...more } = await listNamed<BranchRecord, v.InferOutput<typeof branchContents>>(
      core,
      request,
      {
        listing: 'branches',
        prefix: keys.branches,
        describe: (reader, table, name, { head: { latest }, parent_branch, parent_version, created_at }) => {
          const head =
            latest === null ? undefined : reader.get<VersionRecord>(keys.version(table, name, latest))
          const contents = {
            parentVersion: parent_version,
            createAt: Math.floor(created_at / 1000),
            manifestSize: head?.manifest_size ?? 0,
          }
          return parent_branch === '' ? contents : { parentBranch: parent_branch, ...contents }
        },
        inDataset: async ({ folder }) =>
          Array.from(await readRefs(folder, 'branches'), ([name, file]) => {
            const { parentBranch, parentVersion, createAt, manifestSize } = file
            const contents = { parentVersion, createAt, manifestSize }
            return [name, parentBranch ? { parentBranch, ...contents } : contents]
          }),
      },
    )
    return { branches: named, ...more }
  },
})
