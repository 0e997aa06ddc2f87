import * as v from 'valibot'
import { responseFields } from '../../base/model/fields.ts'
import { requestMemory } from '../../base/scheduling/request-memory.ts'
import type { Progress } from '../../engine/table/index.ts'
import { plainFor } from '../rows/client-columns.ts'
import { clientRules } from '../rows/client-rules.ts'
import { queryErrors, queryFields, queryIgnores, queryNotes, queryOptionsOf } from '../rows/query.ts'
import { readTable } from '../rows/read.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

/**
 * Reads rows of a table, in the order they were inserted or in that of `order_by`: `data` holds the bytes of an Arrow
 * IPC file. `columns` picks and renames columns, nested ones by their path, and computes others by an SQL expression.
 * `filter` is a predicate. `order_by` has a key or several, the first one first. `limit` and `offset` cut the result;
 * the protocol also calls the limit `k`. With `with_row_id` the column `_rowid` has the id of each row.
 *
 * With `vector` it answers the `k` rows whose vectors are nearest, the nearest first, and their `_distance`. Every
 * vector is compared, so these are exactly the nearest. In a table of Lance, an index of vectors answers, where there is
 * one, and `full_text_query` finds rows by words, with their `_score`, by an index of them.
 *
 * ```ts
 * const { data } = await catalog.queryTable({
 *   id: ['prod', 'flights'], columns: ['delay', 'distance'], filter: 'delay > 60', limit: 10,
 *   order_by: [{ column_name: 'delay', ascending: false }],
 * })
 * const rows = tableFromIPC(data).toArray()   // with any Arrow library
 *
 * await catalog.queryTable({ id: ['docs'], vector: [0.1, 0.7, 0.2], k: 5, distance_type: 'cosine' })
 * ```
 */
export const queryTable = operation({
  name: 'queryTable',
  summary: 'Read rows of a table as Arrow.',
  request: v.object(queryFields),
  response: v.object({
    ...responseFields,
    data: v.custom<Uint8Array>((given) => given instanceof Uint8Array),
  }),
  ignores: queryIgnores,
  errors: queryErrors,
  changes: false,
  route: post('/v1/table/{id}/query', { answer: 'arrow', rows: true }),
  command: {
    group: 'Rows',
    aliases: ['query'],
    options: queryNotes,
    examples: [
      `./catalog prod.flights --columns origin,delay --where 'delay > 60' --limit 10`,
      './catalog prod.flights --version 1 --output flights.arrow',
    ],
  },
  run: async (core, request, options) => {
    const { signal, onProgress, [requestMemory]: memory } = options
    const { id } = request
    const plain = options[clientRules] && (await plainFor(options[clientRules]))
    const wanted = queryOptionsOf(request, core.settings, {
      plain,
      maxBytes: core.settings.resultBytes,
      memory: memory?.hold,
      isOnce: memory?.isOnce,
      signal,
      onProgress:
        onProgress &&
        (({ rowsDone, rowsTotal }: Progress) => onProgress({ rows: rowsDone, total: rowsTotal })),
    })
    const data = await readTable(core, id, request, (rows) => rows.query(wanted, memory?.inParts === true))
    // Only a transport gets parts, when it asked for them.
    return { data: data as Uint8Array }
  },
})
