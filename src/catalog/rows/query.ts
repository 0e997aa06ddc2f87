import * as v from 'valibot'
import { invalid } from '../../base/errors.ts'
import {
  either,
  filledText,
  flag,
  requestFields,
  tableIdentifier,
  text,
  wantedFields,
  withAnyKey,
} from '../../base/model/fields.ts'
import { vectorInput, vectorsOf } from '../../base/model/vector.ts'
import type { Ordering, QueryOptions, VectorSearch } from '../../engine/table/index.ts'
import type { RowsSettings } from './context.ts'
import { versionErrors } from './rows.ts'
import { textOf } from './text-query.ts'
import type { RowsQuery } from './version-rows.ts'

/** The most order keys of a request, before redundant ones are left out. */
const maxOrderings = 10_000

const columnNames = v.pipe(v.array(filledText), v.nonEmpty('must name at least one column'))
const columnAliases = withAnyKey(v.record(text, filledText))

/** A key of an order, as LanceDB's clients send it, or as text: `delay desc nulls first`. */
const orderingObject = v.object(
  { column_name: filledText, ascending: v.nullish(flag), nulls_first: v.nullish(flag) },
  'must be { column_name, ascending, nulls_first }, or text such as "delay desc nulls first"',
)
const ordering = either([filledText, orderingObject], (given) =>
  typeof given === 'string' ? filledText : orderingObject,
)

/** A key of an order; text reads `path [asc | desc] [nulls first | nulls last]`. */
function orderingOf(given: string | v.InferOutput<typeof orderingObject>): Ordering {
  if (typeof given !== 'string') {
    const { column_name, ascending, nulls_first } = given
    return { column: column_name, descending: ascending === false, nullsFirst: nulls_first === true }
  }
  let column = given.trim()
  const words = column.toLowerCase().split(/\s+/).slice(1)
  const cut = () => {
    const word = words.pop()!
    column = column.slice(0, -word.length).trimEnd()
    return word
  }
  const isNulls = words.at(-2) === 'nulls' && /^(?:first|last)$/.test(words.at(-1)!)
  const nullsFirst = isNulls && cut() === 'first'
  if (isNulls) cut()
  const descending = /^(?:asc|desc)$/.test(words.at(-1) ?? '') && cut() === 'desc'
  return { column, descending, nullsFirst }
}

const columnsObject = v.object(
  { column_names: v.nullish(columnNames), column_aliases: v.nullish(columnAliases) },
  'must be a list of columns or expressions, { column_names: [...] } or { column_aliases: { name: expression } }',
)

const columns = either([columnNames, columnsObject], (given) =>
  Array.isArray(given) ? columnNames : columnsObject,
)

const distance = v.pipe(
  v.number('must be a number'),
  v.check((given) => !Number.isNaN(given), 'must be a number'),
)

const measures = { l2: 'l2', euclidean: 'l2', cosine: 'cosine', dot: 'dot', hamming: 'hamming' } as const

/** How distances are measured, in any case. */
export const distanceType = v.pipe(
  text,
  v.transform((given) => given.toLowerCase()),
  v.picklist(Object.keys(measures) as (keyof typeof measures)[], 'must be l2, cosine, dot or hamming'),
  v.transform((given) => measures[given]),
)

/** The fields of a query that say how to search by a vector. */
const searchFields = {
  vector: v.nullish(vectorInput),
  vector_column: v.nullish(filledText),
  distance_type: v.nullish(distanceType),
  lower_bound: v.nullish(distance),
  upper_bound: v.nullish(distance),
  prefilter: v.nullish(flag),
}

type SearchFields = { [Name in keyof typeof searchFields]?: v.InferOutput<(typeof searchFields)[Name]> }

/** A number of rows. Clients write "all of them" as the largest 64-bit integer, which is past safe numbers. */
export const rowCount = v.pipe(
  v.number('must be a whole number from 0'),
  v.check((given) => Number.isInteger(given) && given >= 0, 'must be a whole number from 0'),
  v.metadata({ type: 'integer', minimum: 0 }),
  v.transform((given) => Math.min(given, Number.MAX_SAFE_INTEGER)),
)

/** The fields of a search that say how much of an index of Lance it looks at. Our own compares every vector. */
const tuningFields = {
  nprobes: v.nullish(rowCount),
  minimum_nprobes: v.nullish(rowCount),
  maximum_nprobes: v.nullish(rowCount),
  refine_factor: v.nullish(rowCount),
  ef: v.nullish(rowCount),
  bypass_vector_index: v.nullish(flag),
  fast_search: v.nullish(flag),
}

type TuningFields = { [Name in keyof typeof tuningFields]?: v.InferOutput<(typeof tuningFields)[Name]> }

export const queryFields = {
  ...requestFields,
  id: tableIdentifier,
  columns: v.nullish(columns),
  filter: v.nullish(text),
  limit: v.nullish(rowCount),
  k: v.nullish(rowCount),
  offset: v.nullish(rowCount),
  ...wantedFields,
  ...searchFields,
  ...tuningFields,
  full_text_query: v.nullish(v.unknown()),
  order_by: v.nullish(
    v.pipe(
      v.array(ordering, 'must be a list of keys, such as ["delay desc", "origin"]'),
      v.maxLength(maxOrderings, `has more than ${maxOrderings} keys`),
    ),
  ),
  with_row_id: v.nullish(flag),
}

/** Fields that say how to search an index, and that neither engine has. */
export const queryIgnores = ['approx_mode', 'search_effort', 'use_lsm', 'use_rte'] as const

/** Help texts for the options of query commands. */
export const queryNotes = {
  columns: 'columns, field paths or expressions: a,b.c, or JSON such as {"column_aliases":{"c":"b.c + 1"}}',
  order_by: 'columns to sort by, the first one first: "delay desc nulls last, origin" (repeat it)',
  vector: 'vector to search for, such as [0.1,0.7]; a list of vectors searches for each',
}

export const queryErrors = [...versionErrors, 'TableColumnNotFound', 'Unsupported'] as const

type Query = { readonly [Name in keyof typeof queryFields]?: v.InferOutput<(typeof queryFields)[Name]> }

/** Most characters of the columns of a query. Many long texts would be slow as keys, and as names of the answer. */
const maxColumnText = 4 << 20

/** How a query is answered, besides what it asks. */
type QueryWork = Pick<QueryOptions, 'signal' | 'onProgress' | 'plain' | 'maxBytes' | 'memory' | 'isOnce'>

/** What a query asks of the rows of a version. */
export function queryOptionsOf(
  request: Query,
  { queryColumns, orderKeys }: RowsSettings,
  { signal, onProgress, plain, maxBytes, memory, isOnce }: QueryWork = {},
): RowsQuery {
  const { limit, k, offset, filter, order_by, with_row_id } = request
  const columns = selection(request.columns)
  const count = columns === undefined ? 0 : Object.keys(columns).length
  if (count > queryColumns) {
    throw invalid(
      `columns has ${count.toLocaleString('en')} entries; ${queryColumns.toLocaleString('en')} are the most of one query. Ask for fewer columns at a time, or open the catalog with a larger queryColumns.`,
    )
  }
  const length = Object.entries(columns ?? {}).reduce(
    (sum, [name, text]) => sum + name.length + text.length,
    0,
  )
  if (length > maxColumnText) {
    const lengths = `${length.toLocaleString('en')} characters of names and expressions; ${maxColumnText.toLocaleString('en')} are the most`
    throw invalid(`columns has ${lengths} of one query. Shorten them, or ask for fewer columns at a time.`)
  }
  return {
    columns,
    withRowId: with_row_id ?? undefined,
    orderBy: order_by?.map(orderingOf),
    maxKeys: orderKeys,
    filter: filter ?? undefined,
    limit: limit ?? k ?? undefined,
    offset: offset ?? undefined,
    search: searchOf(request),
    text: textOf(request.full_text_query),
    tuning: tuningOf(request),
    // Named one by one: a literal that spreads an object of many members takes a tenth of a short query.
    signal,
    onProgress,
    plain,
    maxBytes,
    memory,
    isOnce,
  }
}

function selection(given: v.InferOutput<typeof columns> | null | undefined) {
  if (given === undefined || given === null || Array.isArray(given)) return given ?? undefined
  const { column_names, column_aliases } = given as Exclude<typeof given, readonly string[]>
  if (column_names && column_aliases)
    throw invalid('columns has both column_names and column_aliases; give one of them.')
  return column_names ?? column_aliases ?? undefined
}

function tuningOf(request: TuningFields): RowsQuery['tuning'] {
  return {
    leastProbes: request.minimum_nprobes ?? request.nprobes ?? undefined,
    mostProbes: request.maximum_nprobes ?? request.nprobes ?? undefined,
    refineFactor: request.refine_factor ?? undefined,
    ef: request.ef ?? undefined,
    bypassesIndex: request.bypass_vector_index ?? undefined,
    indexedOnly: request.fast_search ?? undefined,
  }
}

/** The search that a query asks for, if any. */
function searchOf(request: SearchFields): VectorSearch | undefined {
  const { vectors, hasBoth } = vectorsOf(request.vector)
  if (hasBoth) throw invalid('vector has both single_vector and multi_vector; give one of them.')
  if (vectors.length === 0) return undefined
  return {
    vectors,
    column: request.vector_column ?? undefined,
    measure: request.distance_type ?? undefined,
    lower: request.lower_bound ?? undefined,
    upper: request.upper_bound ?? undefined,
    prefilter: request.prefilter ?? undefined,
  }
}
