import * as v from 'valibot'
import {
  requestFields,
  responseFields,
  tableIdentifier,
  text,
  version,
  wantedFields,
} from '../../base/model/fields.ts'
import { coverageOf } from '../rows/indices.ts'
import { openVersion, versionErrors } from '../rows/rows.ts'
import { operation } from './framework/operation.ts'
import { post, versionQuery } from './framework/route.ts'

/** Describes an index: its type, and how many rows it covers. */
export const describeTableIndexStats = operation({
  name: 'describeTableIndexStats',
  summary: 'Describe an index of a table.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    index_name: text,
    ...wantedFields,
  }),
  response: v.object({
    ...responseFields,
    distance_type: v.nullish(text),
    index_type: text,
    num_indexed_rows: version,
    num_unindexed_rows: version,
    num_indices: version,
  }),
  errors: [...versionErrors, 'TableIndexNotFound'],
  changes: false,
  route: post('/v1/table/{id}/index/{index_name}/stats', {
    methods: ['POST', 'GET'],
    queryToo: versionQuery,
    rows: true,
  }),
  command: {
    group: 'Rows',
    aliases: ['index-stats'],
    positional: ['index_name'],
    examples: ['./catalog prod.flights delay_idx'],
  },
  run: async (core, { id, index_name, ...wanted }) => {
    const { engine, snapshot } = await openVersion(core, id, wanted)
    const index = engine.indexOf(snapshot, index_name)
    const [coverage] = await coverageOf(engine, snapshot, [index])
    const { type, parameters } = index
    const { distance_type } = parameters
    return {
      ...(distance_type !== undefined && { distance_type: String(distance_type) }),
      index_type: type,
      ...coverage!.rows,
      num_indices: 1,
    }
  },
})
