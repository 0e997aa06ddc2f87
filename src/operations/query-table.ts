import * as v from 'valibot'
import { CatalogError, invalid } from '../errors.ts'
import {
  branch,
  flag,
  requestFields,
  responseFields,
  tableIdentifier,
  text,
  version,
  withAnyKey,
} from '../model/fields.ts'
import { openVersion, whileThere } from '../rows/rows.ts'
import { requestMemory } from '../scheduling/request-memory.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

const columnNames = v.pipe(
  v.array(v.pipe(text, v.nonEmpty('must not be empty'))),
  v.nonEmpty('must name at least one column'),
)
const columnAliases = withAnyKey(v.record(text, v.pipe(text, v.nonEmpty('must not be empty'))))

const columnsObject = v.object(
  { column_names: v.nullish(columnNames), column_aliases: v.nullish(columnAliases) },
  'must be a list of field paths, { column_names: [...] } or { column_aliases: { name: path } }',
)

const columns = v.lazy((given) => (Array.isArray(given) ? columnNames : columnsObject))

/** A number of rows. Clients write "all of them" as the largest 64-bit integer, which is past safe numbers. */
const rowCount = v.pipe(
  v.number('must be a whole number from 0'),
  v.check((given) => Number.isInteger(given) && given >= 0, 'must be a whole number from 0'),
  v.transform((given) => Math.min(given, Number.MAX_SAFE_INTEGER)),
)

/**
 * Reads rows of a table, in the order they were inserted: `data` holds the bytes of an Arrow IPC file.
 * `columns` picks and renames columns, nested ones by their path. `filter` is a predicate. `limit` and `offset` cut the
 * result; the protocol also calls the limit `k`.
 *
 * ```ts
 * const { data } = await catalog.queryTable({
 *   id: ['prod', 'flights'], columns: ['delay', 'distance'], filter: 'delay > 60', limit: 10,
 * })
 * const rows = tableFromIPC(data).toArray()   // with any Arrow library
 * ```
 */
export const queryTable = operation({
  name: 'queryTable',
  summary: 'Read rows of a table as Arrow.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    columns: v.nullish(columns),
    filter: v.nullish(text),
    limit: v.nullish(rowCount),
    k: v.nullish(rowCount),
    offset: v.nullish(rowCount),
    version: v.nullish(version),
    tag: v.nullish(text),
    branch,
    vector: v.nullish(v.unknown()),
    full_text_query: v.nullish(v.unknown()),
    order_by: v.nullish(v.unknown()),
    with_row_id: v.nullish(flag),
  }),
  response: v.object({
    ...responseFields,
    data: v.custom<Uint8Array>((given) => given instanceof Uint8Array),
  }),
  // All of these say how to search by a vector, which is refused; LanceDB's clients send them without a vector too.
  ignores: [
    'approx_mode',
    'bypass_vector_index',
    'distance_type',
    'ef',
    'fast_search',
    'lower_bound',
    'maximum_nprobes',
    'minimum_nprobes',
    'nprobes',
    'prefilter',
    'refine_factor',
    'upper_bound',
    'use_lsm',
    'vector_column',
  ],
  errors: [
    'TableNotFound',
    'TableVersionNotFound',
    'TableTagNotFound',
    'TableBranchNotFound',
    'TableColumnNotFound',
    'InvalidTableState',
    'Unsupported',
  ],
  changes: false,
  route: post('/v1/table/{id}/query', { answer: 'arrow', rows: true }),
  command: {
    group: 'Rows',
    aliases: ['query'],
    options: {
      columns: 'columns or field paths: a,b.c, or JSON such as {"column_aliases":{"c":"b.c"}}',
      offset: 'rows to pass over',
      filter: 'SQL predicate',
    },
    examples: [
      `./catalog prod.flights --columns origin,delay --where 'delay > 60' --limit 10`,
      './catalog prod.flights --version 1 --output flights.arrow',
    ],
  },
  run: async (core, request, { signal, onProgress, [requestMemory]: memory }) => {
    const { id, filter, limit, k, offset } = request
    refuseSearch(request)
    const { table, engine, snapshot } = await openVersion(core, id, request)
    const data = await whileThere(core, id, table, () =>
      engine[memory?.inParts ? 'streamRows' : 'queryRows'](snapshot, {
        columns: selection(request.columns),
        filter: filter ?? undefined,
        limit: limit ?? k ?? undefined,
        offset: offset ?? undefined,
        maxBytes: core.settings.resultBytes,
        memory: memory?.hold,
        signal,
        onProgress:
          onProgress && (({ rowsDone, rowsTotal }) => onProgress({ rows: rowsDone, total: rowsTotal })),
      }),
    )
    // In parts only for a transport, which asked for them.
    return { data: data as Uint8Array }
  },
})

function selection(given: v.InferOutput<typeof columns> | null | undefined) {
  if (given === undefined || given === null || Array.isArray(given)) return given ?? undefined
  const { column_names, column_aliases } = given as Exclude<typeof given, readonly string[]>
  if (column_names && column_aliases)
    throw invalid('columns has both column_names and column_aliases; give one of them.')
  return column_names ?? column_aliases ?? undefined
}

function refuseSearch({
  vector,
  full_text_query,
  order_by,
  with_row_id,
}: {
  vector?: unknown
  full_text_query?: unknown
  order_by?: unknown
  with_row_id?: boolean | null | undefined
}): void {
  const asked = isSearch(vector)
    ? 'Vector search'
    : full_text_query != null
      ? 'Full-text search'
      : isSearch(order_by)
        ? 'order_by'
        : with_row_id
          ? 'with_row_id'
          : undefined
  if (asked)
    throw new CatalogError(
      'Unsupported',
      `${asked} is not supported by this catalog. Query with columns, filter, limit and offset.`,
    )
}

/** Clients that do not search send an empty vector, or an object of empty vectors. */
function isSearch(vector: unknown, within = false): boolean {
  if (vector === undefined || vector === null) return false
  if (Array.isArray(vector)) return vector.length > 0
  if (typeof vector !== 'object' || within) return true
  return Object.values(vector).some((part) => isSearch(part, true))
}
