import * as v from 'valibot'
import {
  either,
  filledText,
  flag,
  requestFields,
  responseFields,
  tableIdentifier,
  text,
  version,
} from '../../base/model/fields.ts'
import { requestMemory } from '../../base/scheduling/request-memory.ts'
import { latest, nameOfVersion } from '../lookup/version-name.ts'
import { plainFor } from '../rows/client-columns.ts'
import { clientRules } from '../rows/client-rules.ts'
import { openVersions } from '../rows/compared-versions.ts'
import { rowCount } from '../rows/query.ts'
import { versionErrors } from '../rows/rows.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'
import { subject } from './framework/subjects.ts'

/** A new schema each time, since the OpenAPI document has no references within a request. */
function versionName() {
  const name = v.pipe(text, v.minLength(1, 'must be the number or the name of a version'))
  return either([version, name], (given) => (typeof given === 'number' ? version : name))
}

const columnNames = v.pipe(v.array(filledText), v.nonEmpty('must name at least one column'))
const keyName = v.pipe(text, v.minLength(1, 'is empty; name the columns that tell rows apart'))
const keyColumns = either([columnNames, keyName], (given) => (Array.isArray(given) ? columnNames : keyName))

/**
 * Reads the rows that differ between two versions of a table, as the bytes of an Arrow IPC file: those that only `from`
 * has, and then those that only `to` has. The column `_change_type` says how each changed: `delete` or `insert`. With
 * `on`, the columns whose values tell rows apart, rows of both versions are `update_preimage` and `update_postimage`.
 *
 * A version is named by its number, a tag, a branch for its latest, `latest`, a time such as `2026-11-01T00:00:00Z`, or
 * a number or time on a branch: `dev@3`. `to` is
 * the latest by default. The metadata of the answer's schema has both by numbers, as `tabularium.from` and
 * `tabularium.to`. Rows that both versions have are left out, however often they were written between. Files that both
 * have are not read.
 *
 * ```ts
 * const { data } = await catalog.tableChanges({ id: ['prod', 'flights'], from: 3, on: 'number' })
 * const rows = tableFromIPC(data).toArray()   // { number: 7, delay: 12, _change_type: 'update_postimage' }, …
 * ```
 */
export const tableChanges = operation({
  name: 'tableChanges',
  summary: 'Read the rows that differ between two versions of a table.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    from: versionName(),
    to: v.nullish(versionName()),
    on: v.nullish(keyColumns),
    columns: v.nullish(columnNames),
    limit: v.nullish(rowCount),
    offset: v.nullish(rowCount),
    with_row_id: v.nullish(flag),
  }),
  response: v.object({
    ...responseFields,
    data: v.custom<Uint8Array>((given) => given instanceof Uint8Array),
  }),
  errors: [...versionErrors, 'TableColumnNotFound', 'TableSchemaValidationError'],
  changes: false,
  // Who may not read the rows may not read their changes.
  subjects: ({ id }) => subject('queryTable', id),
  route: post('/v1/table/{id}/changes', { answer: 'arrow', rows: true }),
  command: {
    group: 'Rows',
    aliases: ['diff'],
    options: {
      on: 'columns that tell rows apart, such as a,b: so updates are known',
      columns: 'columns to compare: a,b (default: all)',
      limit: 'at most so many rows (default: all)',
    },
    examples: [
      './catalog prod.flights --from 3 --to latest',
      './catalog prod.flights --from nightly --on number --output changes.arrow',
    ],
  },
  run: async (core, request, options) => {
    const { signal, onProgress, [requestMemory]: memory } = options
    const { id, from, on, columns, limit, offset, with_row_id } = request
    const plain = options[clientRules] && (await plainFor(options[clientRules]))
    const found = await openVersions(core, id, { from, to: request.to ?? latest })
    const data = await found.changes(
      {
        columns: columns ?? undefined,
        on: typeof on === 'string' ? on.split(',').map((name) => name.trim()) : (on ?? undefined),
        limit: limit ?? undefined,
        offset: offset ?? undefined,
        withRowId: with_row_id ?? undefined,
        metadata: { 'tabularium.from': nameOfVersion(found.from), 'tabularium.to': nameOfVersion(found.to) },
        plain,
        maxBytes: core.settings.resultBytes,
        memory: memory?.hold,
        signal,
        onProgress:
          onProgress && (({ rowsDone, rowsTotal }) => onProgress({ rows: rowsDone, total: rowsTotal })),
      },
      memory?.inParts === true,
    )
    // Only a transport gets parts, when it asked for them.
    return { data: data as Uint8Array }
  },
})
