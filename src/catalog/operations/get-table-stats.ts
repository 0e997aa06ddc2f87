import * as v from 'valibot'
import {
  requestFields,
  responseFields,
  tableIdentifier,
  version,
  wantedFields,
} from '../../base/model/fields.ts'
import { openVersion, retryIfReplaced, versionErrors } from '../rows/rows.ts'
import { operation } from './framework/operation.ts'
import { post, versionQuery } from './framework/route.ts'

/** A fragment of fewer rows is small, as LanceDB counts it. */
const smallRows = 100_000

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
  errors: versionErrors,
  changes: false,
  route: post('/v1/table/{id}/stats', {
    methods: ['POST', 'GET'],
    queryToo: versionQuery,
    rows: true,
  }),
  command: { group: 'Tables', aliases: ['stats'], examples: ['./catalog prod.flights'] },
  run: async (core, { id, ...wanted }) => {
    const { table, engine, snapshot } = await openVersion(core, id, wanted)
    const rows = await retryIfReplaced(core, id, table, () => engine.fragmentRows(snapshot))
    return {
      total_bytes: snapshot.bytes,
      num_rows: snapshot.rows,
      num_indices: engine.indicesOf(snapshot).length,
      fragment_stats: {
        num_fragments: rows.length,
        num_small_fragments: rows.filter((count) => count < smallRows).length,
        lengths: summaryOf(rows),
      },
    }
  },
})

function summaryOf(rows: readonly number[]): v.InferOutput<typeof lengths> {
  const sorted = [...rows].sort((a, b) => a - b)
  const last = sorted.length - 1
  // The rank is a share of all fragments, as LanceDB counts it.
  const at = (percent: number) => sorted[Math.floor((sorted.length * percent) / 100)] ?? 0
  const sum = sorted.reduce((all, count) => all + count, 0)
  return {
    min: at(0),
    max: sorted[last] ?? 0,
    mean: Math.floor(sum / Math.max(1, sorted.length)),
    p25: at(25),
    p50: at(50),
    p75: at(75),
    p99: at(99),
  }
}
