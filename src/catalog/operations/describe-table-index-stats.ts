import * as v from 'valibot'
import {
  requestFields,
  responseFields,
  tableIdentifier,
  text,
  version,
  wantedFields,
} from '../../base/model/fields.ts'
import { readTable } from '../rows/read.ts'
import { versionErrors } from '../rows/rows.ts'
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
    const [index] = await readTable(core, id, wanted, (rows) => rows.indexes([index_name]))
    const { type, distanceType, indexedRows, unindexedRows } = index!
    return {
      ...(distanceType !== undefined && { distance_type: distanceType }),
      index_type: type,
      num_indexed_rows: indexedRows,
      num_unindexed_rows: unindexedRows,
      num_indices: 1,
    }
  },
})
