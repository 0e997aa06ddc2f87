import * as v from 'valibot'
import { nextPageToken, responseFields, text, version } from '../../base/model/fields.ts'
import { keys, type TagRecord, type VersionRecord } from '../../base/store/records.ts'
import { readRefs } from '../lance/ref-files.ts'
import { listNamed, listNamedRequest } from '../listing/named-parts.ts'
import { operation } from './framework/operation.ts'
import { pageQuery, post } from './framework/route.ts'

const tagContents = v.object({ branch: v.optional(text), version, manifestSize: version })

/** Lists a table's tags by name, a page at a time. */
export const listTableTags = operation({
  name: 'listTableTags',
  summary: 'List the tags of a table.',
  request: listNamedRequest,
  response: v.object({ ...responseFields, tags: v.record(text, tagContents), page_token: nextPageToken }),
  errors: ['TableNotFound', 'InvalidTableState'],
  changes: false,
  route: post('/v1/table/{id}/tags/list', { methods: ['POST', 'GET'], body: 'none', query: pageQuery }),
  command: {
    group: 'Versions, tags and branches',
    aliases: ['tags'],
    lists: { field: 'tags', item: 'tag' },
    examples: ['./catalog prod.flights'],
  },
  run: async (core, request) => {
    const { named, ...more } = await listNamed<TagRecord, v.InferOutput<typeof tagContents>>(core, request, {
      listing: 'tags',
      prefix: keys.tags,
      describe: (reader, table, _, { branch, version }) => {
        const record = reader.get<VersionRecord>(keys.version(table, branch, version))
        const contents = { version, manifestSize: record?.manifest_size ?? 0 }
        return branch === '' ? contents : { branch, ...contents }
      },
      inDataset: async ({ folder }) =>
        Array.from(await readRefs(folder, 'tags'), ([name, { branch, version, manifestSize }]) => {
          const contents = { version, manifestSize }
          return [name, branch ? { branch, ...contents } : contents]
        }),
    })
    return { tags: named, ...more }
  },
})
