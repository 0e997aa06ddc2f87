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
import { listedStatuses, post, versionQuery } from './framework/route.ts'

/**
 * Counts the rows of a table: of its latest version or the one that `version`, `tag` or `at` names, all rows or those that
 * match a predicate. Without a predicate no row is read.
 *
 * ```ts
 * const { count } = await catalog.countTableRows({ id: ['prod', 'flights'], predicate: 'delay > 60' })
 * ```
 */
export const countTableRows = operation({
  name: 'countTableRows',
  summary: 'Count the rows of a table.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    ...wantedFields,
    predicate: v.nullish(text),
  }),
  response: v.object({ ...responseFields, count: version }),
  errors: [...versionErrors, 'Unsupported'],
  changes: false,
  route: post('/v1/table/{id}/count_rows', {
    methods: ['POST', 'GET'],
    queryToo: { ...versionQuery, predicate: 'text' },
    answer: 'count',
    rows: true,
    statuses: listedStatuses,
  }),
  command: {
    group: 'Rows',
    aliases: ['count'],
    examples: [
      './catalog prod.flights',
      `./catalog prod.flights --where 'delay > 60'`,
      `./catalog prod.flights --at '1 hour ago'`,
    ],
  },
  run: async (core, { id, predicate, ...wanted }, { signal, onProgress }) => {
    const count = await readTable(core, id, wanted, (rows) =>
      rows.count(predicate ?? undefined, {
        signal,
        onProgress:
          onProgress && (({ rowsDone, rowsTotal }) => onProgress({ rows: rowsDone, total: rowsTotal })),
      }),
    )
    return { count }
  },
})
