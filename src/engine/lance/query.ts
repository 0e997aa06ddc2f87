import { invalid } from '../../base/errors.ts'
import type { QueryOptions, VectorSearch } from '../table/table-engine.ts'
import { wholeExpression } from './expressions.ts'
import type { LancePackage, NativeQuery, NativeTable, NativeVectorQuery } from './native.ts'
import { nativeText, type TextSearch } from './text-search.ts'

export type { TextClause, TextSearch } from './text-search.ts'

/** What a query may ask of rows of Lance. */
export interface LanceQuery extends QueryOptions {
  readonly text?: TextSearch | undefined
  readonly tuning?: SearchTuning | undefined
}

/** How much of an index a search looks at. */
export interface SearchTuning {
  readonly leastProbes?: number | undefined
  readonly mostProbes?: number | undefined
  readonly refineFactor?: number | undefined
  readonly ef?: number | undefined
  /** Compares every vector. */
  readonly bypassesIndex?: boolean | undefined
  /** Leaves out rows that no index covers. */
  readonly indexedOnly?: boolean | undefined
}

/** Rows for each vector or text, if the request has no limit, as LanceDB has it. */
const defaultLimit = 10

/** The most rows for each vector, or of all. */
function limitOf({ limit, search, text }: LanceQuery): number | undefined {
  return limit ?? (search || text ? defaultLimit : undefined)
}

/** The most rows of an answer. */
export function mostRowsOf(asked: LanceQuery): number {
  return (limitOf(asked) ?? Number.POSITIVE_INFINITY) * Math.max(1, asked.search?.vectors.length ?? 1)
}

/** Builds a query of Lance. */
export async function buildQuery(
  lance: LancePackage,
  table: NativeTable,
  asked: LanceQuery,
): Promise<Omit<NativeQuery, 'nearestTo'>> {
  const { search, text, filter, columns, offset, withRowId, orderBy } = asked
  const plain = table.query()
  if (text) plain.fullTextSearch(await nativeText(lance, table, text))
  const query = search ? nearest(plain, search, asked.tuning) : plain
  if (asked.tuning?.indexedOnly) query.fastSearch()
  if (filter !== undefined) query.onlyIf(wholeExpression(filter))
  if (columns !== undefined) query.select(withScore(pairs(columns), asked))
  if (withRowId || addsRowId(asked)) query.withRowId()
  const most = limitOf(asked)
  if (most !== undefined) query.limit(most)
  if (offset !== undefined) query.offset(offset)
  // Lance fails where it would sort no rows.
  if (orderBy !== undefined && orderBy.length > 0 && most !== 0) {
    query.orderBy(
      orderBy.map(({ column, descending, nullsFirst }) => ({
        columnName: column,
        ascending: !descending,
        nullsFirst: nullsFirst === true,
      })),
    )
  }
  return query
}

/**
 * Whether the answer gets ids of rows that nobody asked for: Lance cannot sort by a column that is not answered without
 * them.
 */
export function addsRowId({ columns, withRowId, orderBy = [] }: LanceQuery): boolean {
  if (columns === undefined || withRowId) return false
  const answered: readonly string[] = Array.isArray(columns) ? columns : Object.keys(columns)
  return orderBy.some(({ column }) => !answered.includes(column)) && !answered.includes(rowId)
}

/** The column of Lance's ids of rows. */
export const rowId = '_rowid'

/** The names of the answer's columns, each with its expression. */
function pairs(columns: NonNullable<QueryOptions['columns']>): [string, string][] {
  const found = Array.isArray(columns)
    ? columns.map((text: string): [string, string] => [text, text])
    : Object.entries(columns as Readonly<Record<string, string>>)
  const seen = new Set<string>()
  for (const [name] of found) {
    if (seen.has(name))
      throw invalid(`Column ${JSON.stringify(name)} is asked for twice. Name each one once.`)
    seen.add(name)
  }
  return found
}

/** The columns with the distance or the score of a search. Lance adds these by itself too, with a warning. */
function withScore(
  columns: readonly [string, string][],
  { search, text }: LanceQuery,
): readonly [string, string][] {
  const score = search ? '_distance' : text ? '_score' : undefined
  if (score === undefined || columns.some(([name]) => name === score)) return columns
  return [...columns, [score, score]]
}

function nearest(
  query: NativeQuery,
  { vectors, column, measure, lower, upper, prefilter }: VectorSearch,
  tuning: SearchTuning = {},
): Omit<NativeQuery, 'nearestTo'> {
  const [first, ...others] = vectors
  const search = query.nearestTo(Float32Array.from(first ?? []))
  for (const vector of others) search.addQueryVector(Float32Array.from(vector))
  if (column !== undefined) search.column(column)
  if (measure !== undefined) search.distanceType(measure)
  if (lower !== undefined || upper !== undefined) search.distanceRange(lower, upper)
  if (prefilter === false) search.postfilter()
  const { leastProbes, mostProbes, refineFactor, ef, bypassesIndex } = tuning
  setProbes(search, leastProbes, mostProbes)
  if (refineFactor !== undefined) search.refineFactor(refineFactor)
  if (ef !== undefined) search.ef(ef)
  if (bypassesIndex) search.bypassVectorIndex()
  return search
}

/** Partitions that Lance looks at, if a search does not say. */
const defaultProbes = 20

/** Lance refuses a least above the most at each call, so the most is lifted first. 0 is no most. */
function setProbes(search: NativeVectorQuery, least: number | undefined, most: number | undefined): void {
  if (least === undefined && most === undefined) return
  search.maximumNprobes(0)
  search.minimumNprobes(least ?? Math.min(most || defaultProbes, defaultProbes))
  search.maximumNprobes(most ?? Math.max(least!, defaultProbes))
}
