import * as v from 'valibot'
import {
  requestFields,
  responseFields,
  tableIdentifier,
  version,
  wantedFields,
} from '../../base/model/fields.ts'
import { readTable } from '../rows/read.ts'
import { versionErrors } from '../rows/rows.ts'
import { operation } from './framework/operation.ts'
import { post, versionQuery } from './framework/route.ts'

const lengths = v.object({
  min: version,
  max: version,
  mean: version,
  p25: version,
  p50: version,
  p75: version,
  p99: version,
})

/**
 * Reports the size of a table: bytes, rows, indexes, and how many rows its fragments have. They are those of the latest
 * version, or of the one that `version`, `tag`, `at` or `branch` picks; `version`, `tag` and `at` are not part of the protocol.
 */
export const getTableStats = operation({
  name: 'getTableStats',
  summary: 'Get statistics of a table.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    ...wantedFields,
  }),
  response: v.object({
    ...responseFields,
    total_bytes: version,
    num_rows: version,
    num_indices: version,
    fragment_stats: v.object({ num_fragments: version, num_small_fragments: version, lengths }),
  }),
  errors: [...versionErrors, 'Unsupported'],
  changes: false,
  route: post('/v1/table/{id}/stats', {
    methods: ['POST', 'GET'],
    queryToo: versionQuery,
    rows: true,
  }),
  command: { group: 'Tables', aliases: ['stats'], examples: ['./catalog prod.flights'] },
  run: async (core, { id, ...wanted }) => {
    const stats = await readTable(core, id, wanted, (rows) => rows.stats())
    return {
      total_bytes: stats.bytes,
      num_rows: stats.rows,
      num_indices: stats.indices,
      fragment_stats: {
        num_fragments: stats.fragments,
        num_small_fragments: stats.smallFragments,
        lengths: stats.lengths,
      },
    }
  },
})
