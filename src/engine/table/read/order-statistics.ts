import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { Scalar } from '../../predicate/plan/plan.ts'
import type { ColumnStatistics } from '../../predicate/prune/statistics.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import { statisticsIn } from '../format/statistics.ts'
import type { TableSchema } from '../format/table-schema.ts'
import { type FragmentPosition, liveRowsOf, rowStatistics } from '../scan/row-columns.ts'
import type { Bound } from './first-key.ts'
import { compareKey, type SortKey, type SortValue } from './sort-keys.ts'
import { sortedRows } from './sort-rows.ts'

/**
 * A value at an end of a fragment, by statistics; undefined if none is known. No row precedes the first one. No row
 * follows the last one but nulls that come last.
 */
export function endValue(
  end: 'first' | 'last',
  key: SortKey,
  schema: TableSchema,
  entry: FragmentEntry & FragmentPosition,
): SortValue | undefined {
  const statistics = statisticsOf(key, schema, entry)
  if (statistics === undefined) return undefined
  const { nullCount, hasNaN, min, max } = statistics
  if (end === 'first' && (nullCount === entry.rows || (nullCount > 0 && key.nullsFirst))) return null
  if ((end === 'first') === (key.direction === 1)) return sortValue(min)
  return hasNaN ? Number.NaN : sortValue(max)
}

/**
 * A value that at least `wanted` rows of fragments do not follow, by statistics; undefined if none is known. All rows of
 * these fragments are selected.
 */
export async function boundOf(
  key: SortKey,
  schema: TableSchema,
  entries: readonly (FragmentEntry & FragmentPosition)[],
  wanted: number,
  timeSlice: TimeSlice,
): Promise<Bound | undefined> {
  const worst: { readonly value: SortValue; readonly rows: number }[] = []
  for (const entry of entries) {
    const value = endValue('last', key, schema, entry)
    if (value !== undefined) {
      // Nulls that come last do not count, and may all be among the live rows.
      const { nullCount } = statisticsOf(key, schema, entry)!
      const rows = liveRowsOf(entry) - (key.nullsFirst ? 0 : nullCount)
      if (rows > 0) worst.push({ value, rows })
    }
    if (timeSlice.due) await timeSlice.rest()
  }
  const order = await sortedRows(
    worst.length,
    (a, b) => compareKey(key, worst[a]!.value, worst[b]!.value),
    1,
    timeSlice,
  )
  let rows = 0
  const last = order.find((at) => {
    rows += worst[at]!.rows
    return rows >= wanted
  })
  return last === undefined ? undefined : { value: worst[last]!.value, ties: true }
}

function statisticsOf(
  { path }: SortKey,
  schema: TableSchema,
  entry: FragmentEntry & FragmentPosition,
): ColumnStatistics | undefined {
  const { length } = schema.fields
  return path[0]! < length ? statisticsIn(entry, schema, path) : rowStatistics(entry, path[0]! - length)
}

function sortValue(bound: Scalar | undefined): SortValue | undefined {
  switch (typeof bound) {
    case 'string':
      // Stands for bytes that are no UTF-8, which have another order.
      return bound.includes('\ufffd') ? undefined : Buffer.from(bound)
    case 'boolean':
      return Number(bound)
    case 'number':
    case 'bigint':
      return bound
    default:
      return undefined
  }
}
